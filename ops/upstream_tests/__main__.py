"""Run the tests that other packages have of their sessions, stores and files, with ELF in the place of theirs.

    python -m ops.upstream_tests [--package NAME ...] [--folder DIR] [--pytest ARGUMENT ...]

Fetches the source distribution of each package from the package registry, at the version that is pinned, runs a service
in a folder of its own, and the package's tests in a process each, in which a plugin has swapped what they test. Nothing
of them is kept here. Prints of each package how many tests pass, which fail, and how many are of something else, and
exits with 1 where one fails. `--folder` is where the sources stay for the next time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from ops.upstream_tests import embedder
from ops.upstream_tests.fetching import fetched, install, version_of
from ops.upstream_tests.packages import PACKAGES, Package
from ops.upstream_tests.standing_in import ADDRESS, DATABASE
from tests.folders import fresh_folder
from tests.system.planting import dsn_of
from tests.system.service import REPO, RunningService, write_config

OPTIONS: Final = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:schemathesis",
    "--timeout",
    "300",
    "-c",
    os.devnull,
)
AUTO: Final = ("-o", "anyio_mode=auto", "-o", "asyncio_mode=auto")


@contextmanager
def serving() -> Iterator[Mapping[str, str]]:
    """Run a service that embeds texts by their characters, and give what says where it and its database are."""
    with ExitStack() as stack:
        address = stack.enter_context(embedder.serving())
        config = write_config(stack.enter_context(fresh_folder()), vector_dim=str(embedder.DIMS))
        text = config.read_text(encoding="utf-8")
        head, name, rest = text.partition("[providers.embedding]")
        rest = rest.replace('api_base = "local:"', f'api_base = "{address}"', 1)
        rest = rest.replace("dimensions = 384", f"dimensions = {embedder.DIMS}", 1)
        config.write_text(head + name + rest, encoding="utf-8")
        service = stack.enter_context(RunningService(config))
        yield {ADDRESS: service.url, DATABASE: dsn_of(service)}


def run(
    package: Package, sources: Path, folder: Path, where: Mapping[str, str], more: Sequence[str]
) -> Mapping[str, Any]:
    """Run the tests of a package, and return what came of them."""
    report = folder / f"{package.name}.json"
    report.unlink(missing_ok=True)
    path = [str(sources), str(REPO), str(install(package.needs, folder))]
    environment = os.environ | {
        **where,
        "ELF_UPSTREAM_SWAP": package.swap,
        "ELF_UPSTREAM_REPORT": str(report),
        "PYTHONPATH": os.pathsep.join(path),
    }
    command = [sys.executable, "-m", "pytest", *OPTIONS, *AUTO, "-p", "ops.upstream_tests.plugin"]
    done = subprocess.run(
        [*command, *(["--noconftest"] if package.is_alone else []), "--rootdir", str(sources), *package.tests, *more],
        cwd=sources, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    (folder / f"{package.name}.log").write_text(done.stdout, encoding="utf-8")
    if not report.exists():
        raise RuntimeError(f"{package.name}: its tests did not run\n{done.stdout[-4000:]}")
    told: Mapping[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return told


def show(package: Package, told: Mapping[str, Any]) -> bool:
    """Print what came of a package's tests, and return whether none failed."""
    counts = Counter(told["outcomes"].values())
    other = sum(told["not_applicable"].values())
    print(
        f"{package.name} {version_of(package)}: {counts['passed']} passed, {counts['failed']} failed, "
        f"{counts['skipped']} skipped, {other} not applicable"
    )
    for why, times in sorted(told["not_applicable"].items(), key=lambda one: -one[1]):
        print(f"  not applicable, {times}: {why}")
    for name in (name for name, outcome in told["outcomes"].items() if outcome == "failed"):
        print(f"  failed: {name}")
    sys.stdout.flush()
    return not counts["failed"] and counts["passed"] > 0


def has_tests(sources: Path) -> bool:
    """Tell whether a distribution holds tests."""
    return any(path.is_file() for path in sources.glob("**/test_*.py"))


def run_all(packages: Sequence[Package], folder: Path, more: Sequence[str]) -> bool:
    """Run the tests of packages, and return whether none failed."""
    all_good = True
    with ExitStack() as stack:
        where = None
        for package in packages:
            sources = fetched(package, folder)
            if package.lacking:
                holds = "holds tests now" if has_tests(sources) else "holds no tests"
                print(
                    f"{package.name} {version_of(package)}: its distribution {holds}; {package.lacking}",
                    flush=True,
                )
                all_good &= not has_tests(sources)
                continue
            where = where or stack.enter_context(serving())
            all_good &= show(package, run(package, sources, folder, where, more))
    return all_good


def main() -> int:
    """Run them, and return the exit code."""
    parser = argparse.ArgumentParser(description="Run other packages' tests with ELF in the place of theirs.")
    names = [package.name for package in PACKAGES]
    parser.add_argument("--package", choices=names, action="append", help="one of them; again for more")
    parser.add_argument("--folder", type=Path, help="where the sources and what pytest says go, and stay")
    parser.add_argument("--pytest", action="append", default=[], help="one more argument of pytest")
    options = parser.parse_args()
    chosen = [package for package in PACKAGES if options.package is None or package.name in options.package]
    with ExitStack() as stack:
        folder = stack.enter_context(fresh_folder()) if options.folder is None else options.folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        return 0 if run_all(chosen, folder, options.pytest) else 1


if __name__ == "__main__":
    sys.exit(main())
