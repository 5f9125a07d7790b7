"""Check by seeded bugs (mutants) that a test suite detects what it should.

    python -m ops.mutants map --out map.json [-n 3] [--repo PATH] [-- PYTEST ARGUMENTS]
    python -m ops.mutants run --map map.json [--only ID ...] [--budget 90] [--out verdicts.json] [--repo PATH]

`map` runs the test suite of a checkout once and writes which test files cover which module. `run` puts the mutants of
bugs.toml into the checkout, one at a time, and runs the test files that cover the mutated module until a test fails.
To compare two versions of a test suite, make a map of each, and run the same mutants with each.

Both use the checkout's own .venv, and need the modules that `ops/test` installs. Do not edit the checkout meanwhile.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path
from types import FrameType

from ops.mutants import coverage_map, seeding

REPO = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run one of the two commands; returns the exit code, 1 when a mutant is not detected."""
    options = _options()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    repo: Path = options.repo.resolve()
    if not (repo / ".venv" / "bin" / "python").exists():
        raise SystemExit(f"{options.repo} has no .venv: run ops/test there first")
    if options.command == "map":
        coverage_map.write_map(repo, options.out, workers=options.workers, more=options.pytest)
        return 0
    return _run(repo, options)


def _run(repo: Path, options: argparse.Namespace) -> int:
    known = {one.id: one for one in seeding.mutants()}
    if unknown := set(options.only or ()) - known.keys():
        raise SystemExit(f"there is no mutant {', '.join(sorted(unknown))}")
    chosen = [one for one in known.values() if not options.only or one.id in options.only]
    made = json.loads(options.map.read_text())
    seeding.refuse_unfit(repo, chosen)
    verdicts = []
    for one in chosen:
        files = seeding.files_for(repo, one.module, made)
        verdict = seeding.judge(repo, one, files, budget_s=options.budget)
        verdicts.append(verdict)
        print(
            f"{verdict.outcome:11}  {verdict.seconds:6.1f} s  {one.id:42}  {verdict.test or one.effect}", flush=True
        )  # fmt: skip
        if options.out:
            options.out.write_text(json.dumps([one._asdict() for one in verdicts], indent=1) + "\n")
    detected = sum(verdict.outcome == "detected" for verdict in verdicts)
    print(f"{detected} of {len(verdicts)} mutants detected")
    return 0 if detected == len(verdicts) else 1


def _stop(number: int, frame: FrameType | None) -> None:
    """End by an exception, once, so that the checkout is restored and no process is left."""
    for other in (signal.SIGTERM, signal.SIGINT):
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ops.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument("--repo", type=Path, default=REPO, help="the checkout; default: this one")
    mapping = commands.add_parser("map", parents=[where], help="write which test files cover which module")
    mapping.add_argument("--out", type=Path, required=True, help="the file for the map")
    mapping.add_argument("-n", dest="workers", type=int, default=3, help="how many workers run tests")
    mapping.add_argument("pytest", nargs="*", help="arguments of pytest, behind --")
    running = commands.add_parser("run", parents=[where], help="seed bugs, and look which are detected")
    running.add_argument("--map", type=Path, required=True, help="the file that `map` wrote")
    running.add_argument("--only", nargs="+", metavar="ID", help="these mutants alone")
    running.add_argument("--budget", type=float, default=90.0, help="seconds for each mutant")
    running.add_argument("--out", type=Path, help="the file for the verdicts")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
