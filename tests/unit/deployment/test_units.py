"""The units for systemd."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from deployed import INSTALLED_CONFIG, OPS, SCRIPTS, assert_runs_elf

ONE, KINDS = "elf.service", "elf@.service"
UNITS = (ONE, KINDS)
PROGRAMS = "/opt/elf/bin/"
ANALYZE = shutil.which("systemd-analyze")
MOST_EXPOSURE = 20  # of 100, as `systemd-analyze security` counts
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")


def read_unit(name: str) -> dict[str, dict[str, str]]:
    """Read a unit file, section by section; no key may come twice."""
    sections: dict[str, dict[str, str]] = {}
    for line in (OPS / "systemd" / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            key, equals, value = line.partition("=")
            assert equals, line
            assert key not in section, line
            section[key] = value
    return sections


def confinement(unit: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    service = unit["Service"]
    return {key: value for key, value in service.items() if key not in ("ExecStart", "TimeoutStopSec")}


@pytest.mark.parametrize(
    ("name", "instance"), [(ONE, ""), *((KINDS, kind) for kind in ("api", "worker", "mcp"))]
)
def test_each_unit_runs_a_command_of_the_project(name: str, instance: str) -> None:
    command = read_unit(name)["Service"]["ExecStart"].replace("%i", instance)
    program, *arguments = shlex.split(command)
    assert program.startswith(PROGRAMS)
    assert_runs_elf([program.removeprefix(PROGRAMS), *arguments])


def test_the_template_has_an_instance_for_every_command_beside_elf() -> None:
    assert {f"elf-{kind}" for kind in ("api", "worker", "mcp")} == SCRIPTS - {"elf"}


def test_a_wrong_config_is_not_tried_again_and_everything_else_is() -> None:
    for name in UNITS:
        unit = read_unit(name)
        assert unit["Service"]["Restart"] == "on-failure"
        assert unit["Service"]["RestartPreventExitStatus"] == "2"
        assert unit["Unit"]["StartLimitIntervalSec"] == "0"


def test_the_embedded_servers_are_ended_by_elf_and_not_before_it() -> None:
    assert read_unit(ONE)["Service"]["KillMode"] == "mixed"


def test_both_units_confine_alike_and_run_as_a_user_without_rights() -> None:
    assert confinement(read_unit(ONE)) == confinement(read_unit(KINDS))
    service = read_unit(ONE)["Service"]
    assert service["User"] == "elf"
    assert service["CapabilityBoundingSet"] == ""
    assert INSTALLED_CONFIG.startswith(f"/etc/{service['ConfigurationDirectory']}/")


@pytest.fixture
def installed(tmp_path: Path) -> list[Path]:
    """Copies of the units whose commands are there."""
    copies = []
    for script in SCRIPTS:
        (tmp_path / script).touch(mode=0o755)
    for name in UNITS:
        copy = tmp_path / name.replace("@", "@api")
        text = (OPS / "systemd" / name).read_text(encoding="utf-8")
        copy.write_text(text.replace(PROGRAMS, f"{tmp_path}/"), encoding="utf-8")
        copies.append(copy)
    return copies


@needs_systemd
def test_systemd_finds_no_fault(installed: list[Path]) -> None:
    checked = analyze("verify", "--man=no", *map(str, installed))
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


@needs_systemd
def test_systemd_finds_little_exposure(installed: list[Path]) -> None:
    for unit in installed:
        checked = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSURE}", str(unit))
        assert checked.returncode == 0, checked.stdout[-400:]


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert ANALYZE is not None
    return subprocess.run([ANALYZE, *arguments], capture_output=True, text=True, check=False)
