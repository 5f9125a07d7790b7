"""Random valid work on a running service, and the proof that nothing of it was lost, whatever was done to the service.

A family says how to do a piece of work, and what has to be so of it afterwards; everything else is here.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Generic, Protocol, Self, TypeVar

import httpx

from tests.families.fronts import Way, operations_of, request_for
from tests.system.service import RunningService, wait_for

C = TypeVar("C")
LONGEST_ANSWER_S: Final = 25.0
AGAIN_S: Final = 0.05
NOT_FOUND: Final = 404
CONFLICT: Final = 409
PAUSE_S: Final = 0.02  # between two pieces of work: the service needs the processors, too


class InDoubt(Exception):
    """A client was told to stop before its request was answered: it may have been carried out or not."""


class WorkClient:
    """A caller that sends a request until it is served, now to the one of several services, now to the other.

    `rng` is its own; `place` the context that it works in, `headers` say who it is.
    """

    def __init__(
        self,
        services: Sequence[RunningService],
        operations: Mapping[str, Way],
        place: Mapping[str, str],
        rng: random.Random,
        stop: threading.Event,
    ) -> None:
        self._services = services
        self._operations = operations
        self._stop = stop
        self._http = httpx.Client(timeout=LONGEST_ANSWER_S)
        self._tries = 0
        self.place = dict(place)
        self.headers: dict[str, str] = {}
        self.rng = rng

    def ask(self, name: str, **arguments: Any) -> Any:
        """Return the body of the answer. Raises InDoubt; AssertionError for an answer that no client should get."""
        response = self._answered(name, arguments)
        assert response.is_success, f"{name}: {response.status_code} {response.text}"
        return response.json()

    def finds(self, name: str, **arguments: Any) -> bool:
        """Tell whether what is asked for is there. Raises as `ask`."""
        response = self._answered(name, arguments)
        assert response.is_success or response.status_code == NOT_FOUND, f"{name}: {response.text}"
        return response.is_success

    def change(self, name: str, **arguments: Any) -> Any:
        """Have something changed that cannot be changed twice, and return the body of the answer.

        Whoever had to ask again may be told that it does not go with what is there: None. Raises as `ask`.
        """
        response = self._answered(name, arguments)
        if self._tries > 1 and response.status_code in (NOT_FOUND, CONFLICT):
            return None
        assert response.is_success, f"{name}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    def drop(self, name: str, **arguments: Any) -> None:
        """Have something gone; whoever has to ask again may find it gone. Raises as `ask`."""
        self.finds(name, **arguments)

    def _answered(self, name: str, arguments: Mapping[str, Any]) -> httpx.Response:
        self._tries = 0
        while True:
            self._tries += 1
            url = self.rng.choice(self._services).url
            if url and (response := self._answer(url, name, {**self.place, **arguments})) is not None:
                return response
            if self._stop.wait(AGAIN_S):
                raise InDoubt

    def _answer(self, url: str, name: str, arguments: Mapping[str, Any]) -> httpx.Response | None:
        """Return the answer; None when there is none, or it asks to come again."""
        try:
            way = self._operations[name]
            response = self._http.send(request_for(self._http, way, arguments, self.headers, base=url))
        except httpx.TimeoutException as error:
            raise AssertionError(f"{name}: no answer within {LONGEST_ANSWER_S} s") from error
        except httpx.TransportError:
            return None
        return None if response.status_code == 503 and "Retry-After" in response.headers else response

    def close(self) -> None:
        self._http.close()


class FamilyWork(Protocol[C]):
    """What a family says of itself, so that its work can be done while the service is ill-treated."""

    def do(self, client: WorkClient) -> Iterator[C]:
        """Do something random on something new, and yield what has to be so: again after each further step.

        Before a step is asked for, what is yielded allows for both ends of it.
        """
        ...

    def problems(self, client: WorkClient, claims: Sequence[C]) -> list[str]:
        """Return which claims do not hold, in sentences; waits for what may take its time."""
        ...


@dataclass(frozen=True, slots=True)
class Task(Generic[C]):
    """The work of a family in one place, at services over the same data."""

    work: FamilyWork[C]
    services: Sequence[RunningService]
    place: Mapping[str, str]

    def client(self, seed: str, stop: threading.Event) -> WorkClient:
        document = httpx.get(f"{self.services[0].url}/openapi.json", timeout=LONGEST_ANSWER_S).json()
        return WorkClient(self.services, operations_of(document), self.place, random.Random(seed), stop)

    def problems(self, claims: Sequence[C]) -> list[str]:
        """Return what each of the services has to say against the claims."""
        return [problem for service in self.services for problem in self._problems(service, claims)]

    def _problems(self, service: RunningService, claims: Sequence[C]) -> list[str]:
        client = Task(self.work, [service], self.place).client("check", threading.Event())
        try:
            return [f"{service.log_file.stem}: {one}" for one in self.work.problems(client, claims)]
        finally:
            client.close()


class Crew(Generic[C]):
    """Some clients at work; a context manager.

    `claims` are what has to be so by now, `faults` the answers that nobody should get.
    """

    def __init__(self, task: Task[C], *, clients: int = 3, seed: int = 1, pause_s: float = PAUSE_S) -> None:
        self._stop = threading.Event()
        self._pause_s = pause_s
        self._claims: dict[tuple[int, int], C] = {}
        self.faults: list[str] = []
        self._threads = [
            threading.Thread(
                target=self._run,
                args=(number, task.client(f"{seed}-{number}", self._stop), task.work),
                daemon=True,
            )
            for number in range(clients)
        ]

    @property
    def claims(self) -> list[C]:
        return list(self._claims.values())

    def wait_done(self, more: int) -> None:
        """Wait until so many more pieces of work have been acknowledged, or something is wrong."""
        enough = len(self._claims) + more
        wait_for(lambda: self.faults or len(self._claims) >= enough, f"{more} more are acknowledged")

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(LONGEST_ANSWER_S + 10.0)
            assert not thread.is_alive(), "a client hangs"

    def _run(self, number: int, client: WorkClient, work: FamilyWork[C]) -> None:
        done = 0
        try:
            while not self._stop.wait(self._pause_s):
                for claim in work.do(client):
                    self._claims[number, done] = claim
                done += 1
        except InDoubt:
            return
        except AssertionError as fault:
            self.faults.append(str(fault))
        finally:
            client.close()
