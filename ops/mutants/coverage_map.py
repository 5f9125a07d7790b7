"""Maps the modules of a checkout to the test files that cover them."""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from coverage import Coverage, CoverageData

from ops.mutants.suite import Run, run_suite, work_folder

PACKAGES: Final = ("elf", "actors")
CONFIG: Final = """\
[run]
data_file = {folder}/coverage
parallel = true
include =
    {repo}/elf/*
    {repo}/actors/*
omit = *_pb2*.py
context = ${{MUTANTS_CONTEXT-}}
patch = _exit
sigterm = true
core = ctrace
"""
"""coverage.py reads it at the start of each process, by a .pth file that it has installed."""


def write_map(repo: Path, out: Path, *, workers: int, more: Sequence[str]) -> None:
    """Run the whole suite once, or what pytest's arguments in `more` restrict it to, and write the map as JSON.

    A service that a test kills with SIGKILL cannot write what it covers.
    """
    with work_folder() as folder:
        config = folder / "measured.ini"
        config.write_text(CONFIG.format(folder=folder, repo=repo))
        # Workers of pytest-xdist import the whole suite first; a file stays together, so its context has no gaps.
        spread = ["-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder"]
        run = run_suite(repo, folder, [*spread, *more], more={"COVERAGE_PROCESS_START": str(config)})
        if run.code not in (0, 1):  # 1: some tests failed
            raise SystemExit(f"pytest ends with {run.code}")
        measured = Coverage(config_file=str(config))
        measured.combine([str(folder)])
        made = _map_of(repo, measured, run)
    out.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
    print(f"{made['covered']} of {made['statements']} statements covered: {made['percent']} %")
    print(f"{len(made['durations'])} test files cover {len(made['modules'])} modules: {out}")
    for test in run.failed:
        print(f"failed: {test}", file=sys.stderr)


def _map_of(repo: Path, measured: Coverage, run: Run) -> dict[str, Any]:
    fixtures = _fixtures(run.recorded)
    data = measured.get_data()
    statements = covered = 0
    modules: dict[str, dict[str, int]] = {}
    for path in _sources(repo):
        _, lines, _, missing, _ = measured.analysis2(str(path))
        statements += len(lines)
        covered += len(lines) - len(missing)
        found = _lines_by_file(data, path, set(lines), fixtures)
        if found:
            modules[str(path.relative_to(repo))] = found
    durations: Counter[str] = Counter()
    for one in run.recorded:
        durations.update(one["durations"])
    return {
        "statements": statements,
        "covered": covered,
        "percent": round(100 * covered / statements, 2),
        "modules": modules,
        "durations": durations,
        "fixtures": fixtures,
        "failed": run.failed,
    }


def _fixtures(recorded: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the shared fixtures of all workers: how long their setup takes, and which files use them."""
    fixtures: dict[str, Any] = {}
    for one in recorded:
        for name, told in one["fixtures"].items():
            known = fixtures.setdefault(name, {"seconds": 0.0, "files": []})
            known["seconds"] = max(known["seconds"], told["seconds"])
            known["files"] = sorted({*known["files"], *told["files"]} - {""})
    return fixtures


def _sources(repo: Path) -> list[Path]:
    found = [path for package in PACKAGES for path in sorted((repo / package).rglob("*.py"))]
    return [path for path in found if "_pb2" not in path.name]


def _lines_by_file(
    data: CoverageData, path: Path, statements: set[int], fixtures: Mapping[str, Any]
) -> dict[str, int]:
    """Return how many lines of a module each test file covers.

    What an import runs proves nothing, so only lines in functions count, unless the module has none.
    """
    counted = (statements & _in_functions(path)) or statements
    by_file: defaultdict[str, set[int]] = defaultdict(set)
    for line, contexts in data.contexts_by_lineno(str(path)).items():
        for context in contexts if line in counted else ():
            kind, _, name = context.partition(":")
            for file in fixtures.get(name, {"files": []})["files"] if kind == "fixture" else [context]:
                by_file[file].add(line)
    by_file.pop("", None)  # what ran before the first test
    return {file: len(lines) for file, lines in by_file.items()}


def _in_functions(path: Path) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            last = node.body[-1].end_lineno or node.body[-1].lineno
            lines.update(range(node.body[0].lineno, last + 1))
    return lines
