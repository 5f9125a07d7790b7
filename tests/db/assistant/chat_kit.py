"""A language model that says what a test wants, asked over HTTP as a service asks it: what it is sent is kept."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from elf.providers.chat import HttpChat
from elf.providers.port import Chat
from tests.db.assistant.assistant_kit import AssistantHouse
from tests.providers_kit import ScriptedNetwork, chat_over, completion


class ScriptedModel:
    """Answers by what is asked: the facts of a turn, and what pairs of memories have to do with one another.

    `facts` are given for each turn in which the words they quote stand; `verdicts` by newer and older text, others are
    different. `bodies` are the requests for either. `refuses` is an HTTP status to answer with, and `before_answer` is
    awaited before each answer.
    """

    def __init__(self) -> None:
        self.network = ScriptedNetwork(self._answer)
        self.chat: Chat = _chat(self.network)
        self.facts: list[Any] = []
        self.verdicts: dict[tuple[str, str], dict[str, Any]] = {}
        self.bodies: list[Any] = []
        self.reads = 0
        self.judged: list[list[tuple[str, str]]] = []
        self.refuses = 0
        self.refuses_to_judge = 0
        self.content: str | None = None
        self.before_answer: Callable[[str], Awaitable[None]] | None = None

    def tells(self, text: str, quote: str | None = None, category: str = "preferences", **other: Any) -> None:
        """Have a fact taken of turns in which the quote stands; by default the text is the quote."""
        fact = {
            "text": text,
            "category": category,
            "importance": 3,
            "confidence": 0.9,
            "quote": quote or text,
        }
        self.facts.append(fact | other)

    def judges(self, newer: str, older: str, verdict: str, text: str = "", *, ids: Any = None) -> None:
        self.verdicts[newer, older] = {"verdict": verdict, "text": text, "from": ids}

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if "response_format" not in body:  # what is done in the background finds nothing
            return completion('{"insights": [], "summary": null}')
        self.bodies.append(body)
        asked = body["response_format"]["json_schema"]["name"]
        user = body["messages"][1]["content"]
        answer = self._facts(user) if asked == "facts" else self._pairs(user)
        if self.before_answer is not None:
            await self.before_answer(asked)
        refuses = self.refuses or (self.refuses_to_judge if asked == "pairs" else 0)
        if refuses:
            return httpx.Response(refuses)
        return completion(json.dumps(answer) if self.content is None else self.content)

    def _facts(self, user: str) -> Any:
        self.reads += 1
        said = "\n".join(line["content"] for line in _lines(user))
        return {
            "facts": [one for one in self.facts if not isinstance(one, dict) or one.get("quote", "") in said]
        }

    def _pairs(self, user: str) -> Any:
        pairs = [(line["newer"]["text"], line["older"]["text"]) for line in _lines(user)]
        self.judged.append(pairs)
        told = []
        for number, pair in enumerate(pairs, start=1):
            known = self.verdicts.get(pair, {"verdict": "different", "text": "", "from": []})
            ids = [f"{number}-new", f"{number}-old"] if known["from"] is None else known["from"]
            told.append({"pair": number, **known, "from": ids})
        return {"pairs": told}


def _chat(network: ScriptedNetwork) -> HttpChat:
    return chat_over(network)


def _lines(user: str) -> list[Any]:
    """Return what a prompt shows: its last lines, of which each is JSON."""
    shown = user[user.rindex(":\n{") + 2 :]
    return [json.loads(line) for line in shown.splitlines()]


async def take(house: AssistantHouse, *said: str, turn: str = "1", **other: Any) -> list[dict[str, Any]]:
    """Take in a turn in which the user says something, have it read, and return what came of it."""
    answer = await tell(house, *said, turn=turn, **other)
    assert [one["result"] for one in answer["results"]] == ["DEFERRED"]
    await house.do_jobs()
    repeated = await tell(house, *said, turn=turn, **other)
    assert repeated["repeated"]
    results: list[dict[str, Any]] = repeated["results"]
    return results


async def tell(house: AssistantHouse, *said: str, turn: str = "1", **other: Any) -> dict[str, Any]:
    """Take in a turn in which the user says something."""
    messages = [{"role": "user", "content": text} for text in said]
    answer: dict[str, Any] = await house.post(
        "turn", **({"thread_id": "t1", "turn_id": turn, "messages": messages} | other)
    )
    return answer


async def texts(house: AssistantHouse, **filters: Any) -> list[str]:
    return sorted(item["text"] for item in (await house.get("memories", **filters))["items"])
