"""Examining a running front: schemathesis makes requests from its OpenAPI document and judges every answer by it.

Beyond its checks, each request is judged by the document as it went over the wire: what is forbidden must have been
refused, and what is allowed may have been refused only for reasons that no schema can state.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import httpx
import schemathesis
from schemathesis.core.transport import Response
from schemathesis.engine import Status, events, from_schema
from schemathesis.engine.recorder import Interaction, ScenarioRecorder

from actors.families import FAMILIES
from elf.api.path_policy import policy_of
from tests.fronts.judge import RequestJudge

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)
# What only the service can know: names of its config, ids and cursors it gave out, and rules between two fields.
BEYOND_SCHEMAS = frozenset(
    "$" + name
    for name in (
        "", ".acknowledgements.quote", ".after", ".afterCursor", ".agent", ".agent_id", ".budget_tokens",
        ".canonical_name", ".checkpoint_data", ".facts", ".history.meta", ".history.new_ref", ".history.old_ref",
        ".importance_min", ".return", ".since_rev", ".summary", ".tenant_id", ".thread.checkpoint_data", ".top_k",
        ".user_id", ".versions", ".cursor", ".entity_id", ".everything", ".families", ".family", ".filters", ".item",
        ".filters.source", ".handle", ".id", ".idempotency_key", ".kind", ".memories", ".memory_id", ".memory_type",
        ".messages", ".metadata",
        ".file.path", ".new_path", ".old_path", ".path",
        ".note_id", ".orchestratorId", ".read_profile", ".result_handle", ".scope", ".source.conversationId",
        ".source.sourcePath", ".source.stepId", ".source.workflowRunId", ".source_episode_id", ".source_entity_id",
        ".source_id", ".steps", ".target_entity_id", ".target_id", ".toMemoryId", ".values.left_out.places",
        ".values.left_out.within", ".version_id",
    )
)  # fmt: skip
# A field of any JSON, and what is within it: no schema says everywhere that it holds no NUL, nor what an item of an
# export of all families is, which only its family knows.
ANY_JSON = re.compile(
    r'^(\$\.(?:item(?=\.)|(?:facts|versions|summary|checkpoint_data|history\.\w+|thread\.\w+)(?=\[")))[\s\S]*$'
)
POLICIES = [policy for family in FAMILIES for policy in family.paths]
EDGES: dict[str, Any] = {
    "examples": {"enabled": False},
    "fuzzing": {"enabled": False},
    "coverage": {"enabled": True, "generate-duplicate-query-parameters": True},
}
OF_METHODS = frozenset({"unsupported_method", "allow_header_conformance"})
# What the tool cannot make out of a list within what may be null, which says nothing of the service.
BEYOND_THE_TOOL = "Cannot generate an array with"
LONGEST_AT_RANDOM = 300
TAKEN = "took what its document forbids"
REFUSED = "refused what its document allows"


@dataclass
class Findings:
    """What came of an examination: requests by phase, answers by status, and each kind of fault once."""

    judge: RequestJudge
    phases: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    allowed: Counter[bool | None] = field(default_factory=Counter)
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        return sum(self.statuses.values())

    def take(self, phase: str, recorder: ScenarioRecorder) -> None:
        """Count the requests of a scenario and keep its faults."""
        for interaction in recorder.interactions.values():
            self.phases[phase] += 1
            self.operations[recorder.label] += 1
            self.statuses[0 if interaction.response is None else interaction.response.status_code] += 1
            self._judge(recorder.label, interaction)
        for nodes in recorder.checks.values():
            for node in nodes:
                if node.name in OF_METHODS and self._may_lack_methods(recorder.label):
                    continue
                if node.status == Status.FAILURE and node.failure_info is not None:
                    shown = f"{node.failure_info.failure}\n{node.failure_info.code_sample}"
                    self.faults.setdefault(f"{recorder.label}: {node.name}", shown)

    def _may_lack_methods(self, label: str) -> bool:
        """Tell whether the path of an operation need not say which methods it has.

        Another operation has it, with something else in a place of its own, or a method that it lacks leads nowhere.
        """
        policy = policy_of(POLICIES, label.partition(" ")[2])
        return label in self.judge.also_elsewhere or (policy is not None and policy.hides_methods)

    def _judge(self, label: str, interaction: Interaction) -> None:
        sent, response = interaction.request, interaction.response
        if response is None or (sent.body_size or 0) != len(sent.body or b""):
            return  # without an answer, which is a fault already, or too large to have been kept
        is_allowed = self.judge.allows(sent.method, sent.uri, sent.body or b"")
        self.allowed[is_allowed] += 1
        shown = f"{sent.method} {sent.uri} {sent.body!r}\n{response.status_code} {response.text}"
        if is_allowed is False and response.status_code < 400:
            self.faults.setdefault(f"{label}: {TAKEN}", shown)
        if is_allowed and not _is_beyond_schemas(response):
            self.faults.setdefault(f"{label}: {REFUSED}", shown)


def _is_beyond_schemas(response: Response) -> bool:
    """Tell whether no schema can say why a request is refused, if it is."""
    if response.status_code != 400:
        return response.status_code != 422
    return _fields_at_fault(response.json()) <= BEYOND_SCHEMAS


def _fields_at_fault(body: dict[str, Any]) -> set[str]:
    """Return the paths that a refusal names; $ where it says in words which rule is broken."""
    if "fields" in body:
        return {_of_an_item(path) for path in body["fields"] or ["nothing"]}
    if body["code"] == "bad_request":
        return {"$"}
    return {f"$.{one['field']}" for one in body["details"]["violations"]} or {"nothing"}


def _of_an_item(path: str) -> str:
    """Return the path of a field as it is within its item or record, where it is in one of a batch.

    What is within a field of any JSON is told by the field, and what is in a list by the list.
    """
    own = re.sub(r"^\$\.((items|memories|edges)\[\d+\]|memory(?=\.))", "$", path)
    return re.sub(r"\[\d+\]", "", ANY_JSON.sub(r"\1", own))


def examine(
    url: str, *, examples: int, seed: int = 1, coverage: bool = True, only: Collection[str] | None = None
) -> Findings:
    """Send the front at `url` the examples of its document, and `examples` random requests an operation.

    `coverage` adds the edges of every bound and methods that are not served. Requests keep to the document and break
    it by turns. `only` are the operations that are asked for, by name, where it is not all of them.
    """
    document = document_at(url)
    if only is not None:
        document["paths"] = {
            path: kept
            for path, methods in document["paths"].items()
            if (kept := {way: one for way, one in methods.items() if one["operationId"] in only})
        }
    eased, findings = _eased(document), Findings(RequestJudge(document))
    _send(_shortened(eased), _config(url, examples, seed, {"coverage": {"enabled": False}}), findings)
    if coverage:
        _send(eased, _config(url, examples, seed, EDGES), findings)
    return findings


def _send(document: dict[str, Any], config: schemathesis.Config, findings: Findings) -> None:
    for event in from_schema(schemathesis.openapi.from_dict(document, config=config)).execute():
        if isinstance(event, events.ScenarioFinished):
            findings.take(event.phase.value, event.recorder)
        elif isinstance(event, events.NonFatalError) and BEYOND_THE_TOOL not in str(event.info):
            findings.faults.setdefault(f"{event.label}: error", str(event.info))
        elif isinstance(event, events.FatalError):
            raise event.exception


def document_at(url: str) -> dict[str, Any]:
    """Return the document that a front serves."""
    response = httpx.get(f"{url}/openapi.json", timeout=30.0)
    response.raise_for_status()
    document: dict[str, Any] = response.json()
    return document


def _eased(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with answers that hold nothing beyond it, and without the pattern of English text.

    Making strings by that pattern, or against it, takes a second each. What it forbids comes by chance instead.
    """
    eased = copy.deepcopy(document)
    schemas = eased["components"]["schemas"]
    del schemas["EnglishText"]["pattern"]
    for schema in schemas.values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return eased


def _shortened(value: Any) -> Any:
    """Return a document whose texts that have a pattern are short.

    The tool writes the longest length into the pattern, and such a pattern takes a tenth of a second and many megabytes
    each time it is read. At random no text comes near that length: those are among the edges of every bound.
    """
    if isinstance(value, list):
        return [_shortened(one) for one in value]
    if not isinstance(value, dict):
        return value
    shortened = {name: _shortened(one) for name, one in value.items()}
    if isinstance(shortened.get("pattern"), str) and shortened.get("maxLength", 0) > LONGEST_AT_RANDOM:
        shortened["maxLength"] = LONGEST_AT_RANDOM
    return shortened


def _config(url: str, examples: int, seed: int, phases: dict[str, Any]) -> schemathesis.Config:
    return schemathesis.Config.from_dict(
        {
            "seed": seed,
            "continue-on-failure": True,
            "suppress-health-check": ["filter_too_much"],
            "base-url": url,
            "request-timeout": 60.0,
            "warnings": False,
            "checks": {"enabled": False} | {name: {"enabled": True} for name in CHECKS},
            "generation": {"max-examples": examples, "no-shrink": True},
            "phases": {"stateful": {"enabled": False}, **phases},
        }
    )
