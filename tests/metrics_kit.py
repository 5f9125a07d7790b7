"""Reading a page of metrics as Prometheus does, and what uses the metrics: the dashboard and the alert rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser as promql
import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

GRAFANA = Path(__file__).resolve().parents[1] / "ops" / "grafana"
DASHBOARD = GRAFANA / "dashboard.json"
ALERTS = GRAFANA / "alerts.yml"

NAME = re.compile(r"(elf|process)(_[a-z][a-z0-9]*)+")
OTHER_UNITS = re.compile(
    r"_(ms|millis|milliseconds|micros|nanos|minutes|hours|days|kb|mb|gb|kilobytes|percent)(_|$)"
)
TYPES = {"counter", "gauge", "histogram"}
FORBIDDEN_LABELS = re.compile(r"tenant|project|agent|note|query|text|path|_id$")


class Page:
    """A page of metrics, parsed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families: dict[str, Metric] = {}
        for family in text_string_to_metric_families(text):
            assert family.name not in self.families, f"{family.name} comes twice"
            self.families[family.name] = family
        self._values: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for family in self.families.values():
            for sample in family.samples:
                key = sample.name, frozenset(sample.labels.items())
                assert key not in self._values, f"{key} comes twice"
                self._values[key] = sample.value

    def value(self, name: str, /, **labels: str) -> float:
        """The value of one series; 0 when it is not there yet."""
        return self._values.get((name, frozenset(labels.items())), 0.0)

    def has(self, name: str, /, **labels: str) -> bool:
        return (name, frozenset(labels.items())) in self._values

    @property
    def series(self) -> set[str]:
        """The names that a query may use, also of metrics without a sample yet."""
        names: set[str] = set()
        for family in self.families.values():
            if family.type == "histogram":
                names |= {f"{family.name}_{part}" for part in ("bucket", "sum", "count")}
            else:
                names.add(f"{family.name}_total" if family.type == "counter" else family.name)
        return names

    def labels_of(self, name: str) -> set[str]:
        """Every label that series of this name have."""
        return {label for sample, labels in self._values if sample == name for label, _ in labels}

    def problems(self) -> list[str]:
        """What `promtool check metrics` would find, and what this service forbids itself."""
        return [
            *self._faulty_lines(),
            *(problem for family in self.families.values() for problem in _problems(family)),
        ]

    def _faulty_lines(self) -> Iterator[str]:
        known: set[str] = set()
        lines = self.text.splitlines()
        for before, line in zip(["", *lines], lines, strict=False):
            if line.startswith("# TYPE "):
                name = line.split()[2]
                known.add(name)
                if not before.startswith(f"# HELP {name} "):
                    yield f"{name} has no HELP before its TYPE"
            elif line and not line.startswith("#"):
                name = re.split(r"[{ ]", line, maxsplit=1)[0]
                if name not in known and re.sub(r"_(bucket|sum|count)$", "", name) not in known:
                    yield f"{name} has no TYPE before it"


def _problems(family: Metric) -> Iterator[str]:
    name = family.name
    if not NAME.fullmatch(name):
        yield f"{name} is no name"
    if OTHER_UNITS.search(name):
        yield f"{name} is not in a base unit"
    if family.type not in TYPES:
        yield f"{name} is of type {family.type}"
    if not re.fullmatch(r"\S.*\.", family.documentation):
        yield f"{name} is not explained by a sentence"
    if family.type != "counter" and any(sample.name.endswith("_total") for sample in family.samples):
        yield f"{name} is called a total and is no counter"
    for label in {label for sample in family.samples for label in sample.labels}:
        if FORBIDDEN_LABELS.search(label) or (label == "le" and family.type != "histogram"):
            yield f"{name} has the label {label}"
    if family.type == "histogram":
        yield from _histogram_problems(family)


def _histogram_problems(family: Metric) -> Iterator[str]:
    buckets: dict[frozenset[tuple[str, str]], list[tuple[float, float]]] = {}
    counts: dict[frozenset[tuple[str, str]], float] = {}
    for sample in family.samples:
        labels = frozenset((label, value) for label, value in sample.labels.items() if label != "le")
        if sample.name.endswith("_bucket"):
            buckets.setdefault(labels, []).append((float(sample.labels["le"]), sample.value))
        elif sample.name.endswith("_count"):
            counts[labels] = sample.value
    for labels, pairs in buckets.items():
        if sorted(pairs) != pairs or sorted(value for _, value in pairs) != [value for _, value in pairs]:
            yield f"the buckets of {family.name} do not grow"
        if pairs[-1] != (float("inf"), counts.get(labels)):
            yield f"the last bucket of {family.name} does not hold all"


class Selector(NamedTuple):
    """What one query asks for: a metric, and the labels that it chooses or groups by."""

    metric: str
    labels: frozenset[str]


def dashboard_queries() -> list[str]:
    """The queries of the dashboard's panels, with values for Grafana's variables."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [
        target["expr"]
        .replace("$__rate_interval", "5m")
        .replace('"$job"', '".*"')
        .replace('"$instance"', '".*"')
        for panel in panels
        for target in panel.get("targets", [])
    ]


def dashboard_variables() -> list[str]:
    """The queries that fill the dashboard's variables."""
    variables = json.loads(DASHBOARD.read_text(encoding="utf-8"))["templating"]["list"]
    return [variable["query"]["query"] for variable in variables if variable["type"] == "query"]


def alert_rules() -> list[Mapping[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def selectors(query: str) -> list[Selector]:
    """Everything that a query selects. Raises ValueError when it is no PromQL."""
    return list(_selectors(promql.parse(query), frozenset()))


def _selectors(node: Any, grouped_by: frozenset[str]) -> Iterator[Selector]:
    if isinstance(node, promql.VectorSelector):
        yield Selector(node.name, grouped_by | {matcher.name for matcher in node.matchers.matchers})
    if isinstance(node, promql.AggregateExpr) and node.modifier is not None:
        grouped_by |= frozenset(node.modifier.labels)
    inner = [getattr(node, name, None) for name in ("expr", "lhs", "rhs", "vector_selector", "param")]
    for child in [*inner, *getattr(node, "args", [])]:
        if child is not None:
            yield from _selectors(child, grouped_by)
