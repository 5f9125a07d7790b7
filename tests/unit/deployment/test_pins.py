"""The pins: they cover what pyproject.toml asks for, each with hashes, and set-up installs nothing else."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from deployed import OPS, PROJECT, REPO
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from elf.providers.local.catalog import MODELS

pytestmark = pytest.mark.slow

SERVICE, DEV = OPS / "constraints.txt", OPS / "constraints-dev.txt"
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def pins(path: Path) -> dict[str, tuple[Requirement, int]]:
    """Read each pin of a file, with the number of its hashes."""
    found = {}
    for entry in re.sub(r"\\\n", " ", path.read_text(encoding="utf-8")).splitlines():
        if "==" in entry:
            requirement = Requirement(entry.partition("--hash")[0].strip())
            found[canonicalize_name(requirement.name)] = (requirement, len(HASH.findall(entry)))
    return found


def test_every_pin_is_one_version_with_its_hashes_and_stands_in_one_file() -> None:
    service, dev = pins(SERVICE), pins(DEV)
    assert service.keys() & dev.keys() == set()
    for requirement, hashes in [*service.values(), *dev.values()]:
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), requirement
        assert hashes > 0, requirement


def needs(asked: list[str], held: dict[str, tuple[Requirement, int]]) -> list[str]:
    """List what is asked for and not held, by way of what is installed."""
    missing, seen, waiting = [], set(), [Requirement(each) for each in asked]
    while waiting:
        asks = waiting.pop()
        name = canonicalize_name(asks.name)
        if (name, frozenset(asks.extras)) in seen:
            continue
        seen.add((name, frozenset(asks.extras)))
        if name not in held or not asks.specifier.contains(str(held[name][0].specifier).removeprefix("==")):
            missing.append(str(asks))
            continue
        further = map(Requirement, distribution(name).requires or ())
        extras = asks.extras or {""}
        waiting += [
            one
            for one in further
            if one.marker is None or any(one.marker.evaluate({"extra": each}) for each in extras)
        ]
    return missing


def test_the_pins_hold_all_that_the_project_asks_for() -> None:
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    service = [*project["dependencies"], *extras["service"], *PROJECT["build-system"]["requires"]]
    assert needs(service, pins(SERVICE)) == []
    assert needs([*service, *extras["dev"]], pins(SERVICE) | pins(DEV)) == []
    models = {model.source.distribution for model in MODELS}
    assert models.isdisjoint(pins(SERVICE) | pins(DEV))  # they are fetched, and what they ask for is not


def test_the_list_of_licences_has_the_local_models() -> None:
    listed = (REPO / "docs" / "licences.md").read_text(encoding="utf-8").partition("## The local models")[2]
    assert [f"| {model.name} | {model.source.filename} | {model.license}" in listed for model in MODELS] == [
        True
    ]


def test_what_is_installed_here_is_what_is_pinned() -> None:
    for name, (requirement, _) in (pins(SERVICE) | pins(DEV)).items():
        if requirement.marker is None or requirement.marker.evaluate():
            assert distribution(name).version in requirement.specifier


def test_the_list_of_licences_is_of_what_is_pinned(tmp_path: Path) -> None:
    subprocess.run([sys.executable, OPS / "licences", tmp_path / "licences.md"], check=True)
    assert (tmp_path / "licences.md").read_text() == (REPO / "docs" / "licences.md").read_text()
    listed = re.findall(
        r"^\| (\S+) \| (\d\S*) \| (.+) \|$", (tmp_path / "licences.md").read_text(), re.MULTILINE
    )
    here = {
        name: str(requirement.specifier).removeprefix("==")
        for name, (requirement, _) in pins(SERVICE).items()
        if requirement.marker is None or requirement.marker.evaluate()
    }
    assert {name: version for name, version, _ in listed} == here
    assert "not stated" not in {licence for *_, licence in listed}


def a_wheel(folder: Path) -> Path:
    wheel = folder / "pinned-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as content:
        content.writestr("pinned.py", "")
        content.writestr(
            "pinned-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pinned\nVersion: 1.0\n"
        )
        content.writestr("pinned-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        content.writestr("pinned-1.0.dist-info/RECORD", "")
    return wheel


@pytest.mark.parametrize("tampered", [False, True])
def test_set_up_refuses_a_package_whose_hash_is_not_the_pinned_one(tmp_path: Path, tampered: bool) -> None:
    wheel = a_wheel(tmp_path)
    digest = hashlib.sha256(b"another" if tampered else wheel.read_bytes()).hexdigest()
    (tmp_path / "pins.txt").write_text(f"pinned==1.0 --hash=sha256:{digest}\n")
    line = 'venv=$1; install_pins -r "$2/pins.txt" --no-index --find-links "$2" --target "$2/there"'
    # Set-up knows where it is by its own place; what is installed goes elsewhere.
    done = subprocess.run(
        ["bash", "-c", f'. "$0/ops/setup.sh"; {line}', REPO, sys.prefix, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, (tmp_path / "there" / "pinned.py").exists()) == (
        (1, False) if tampered else (0, True)
    )
    assert ("DO NOT MATCH THE HASHES" in done.stderr) == tampered
