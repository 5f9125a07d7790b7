"""The Dockerfile, as far as it can be judged without an engine."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import pytest
from deployed import OPS, PROJECT, REPO, Instruction, assert_runs_elf, read_dockerfile

from elf.cli.arguments import parser

KNOWN = {
    "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "RUN", "STOPSIGNAL", "USER", "VOLUME",
    "WORKDIR",
}  # fmt: skip


@pytest.fixture(scope="module")
def instructions() -> list[Instruction]:
    return read_dockerfile(OPS / "Dockerfile")


@pytest.fixture(scope="module")
def final(instructions: list[Instruction]) -> list[Instruction]:
    """The instructions of the last stage, which is what runs."""
    return [each for each in instructions if each.stage == instructions[-1].stage]


def values(instructions: list[Instruction], name: str) -> list[str]:
    return [each.value for each in instructions if each.name == name]


def test_it_is_made_of_instructions_in_two_stages(instructions: list[Instruction]) -> None:
    assert instructions[0].name == "FROM"
    assert {each.name for each in instructions} <= KNOWN
    assert instructions[-1].stage == 2


def test_both_stages_are_the_same_slim_python_that_the_project_allows(
    instructions: list[Instruction],
) -> None:
    (base,) = {value.split()[0] for value in values(instructions, "FROM")}
    name, _, tag = base.partition(":")
    version, _, kind = tag.partition("-")
    assert (name, kind) == ("python", "slim")
    assert version in {"3.11", "3.12", "3.13"}


def test_what_is_copied_is_there_and_is_let_through_by_the_ignore_file(
    instructions: list[Instruction],
) -> None:
    lines = (OPS / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert "*" in lines
    copied = [
        each.words[:-1]
        for each in instructions
        if each.name == "COPY" and not each.value.startswith("--from=")
    ]
    sources = {source for words in copied for source in words}
    assert sources == allowed
    assert [source for source in sources if not (REPO / source).exists()] == []


def test_everything_that_the_wheel_is_built_from_is_copied(instructions: list[Instruction]) -> None:
    copied = {word for each in instructions if each.name == "COPY" for word in each.words[:-1]}
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    project = PROJECT["project"]
    needed = {*wheel["only-include"], *wheel["force-include"], project["readme"], *project["license-files"]}
    assert needed | {"pyproject.toml", "ops/constraints.txt"} <= copied


def test_it_installs_pinned_wheels_alone(instructions: list[Instruction]) -> None:
    pinned, itself = [run for run in values(instructions, "RUN") if "pip install" in run]
    assert {"--no-deps", "--require-hashes"} <= set(pinned.split())
    assert pinned.endswith(" -r ops/constraints.txt")
    assert {"--no-deps", "--no-build-isolation", "--no-index"} <= set(itself.split())
    assert itself.endswith(" .")


def test_it_holds_the_model_where_the_service_looks_for_it(
    instructions: list[Instruction], final: list[Instruction]
) -> None:
    (fetch,) = [run for run in values(instructions, "RUN") if "model fetch" in run]
    cache, program, *arguments = fetch.split()
    assert program.endswith("/elf")
    assert parser().parse_args(arguments).name is None
    assert cache in " ".join(values(final, "ENV")).split()
    name, _, folder = cache.partition("=")
    assert name == "XDG_CACHE_HOME"
    assert folder.startswith("/opt/elf/")
    assert "--from=build /opt/elf /opt/elf" in values(final, "COPY")


def test_it_runs_as_a_user_without_rights(final: list[Instruction]) -> None:
    (run,), (user,) = values(final, "RUN"), values(final, "USER")
    uid, _, gid = user.partition(":")
    assert uid == gid
    assert int(uid) >= 10_000
    assert f"useradd --uid {uid}" in run
    names = [each.name for each in final]
    assert "RUN" not in names[names.index("USER") :]


def test_its_commands_are_the_project_s(final: list[Instruction]) -> None:
    (command,) = values(final, "CMD")
    assert_runs_elf(json.loads(command))


def test_it_starts_by_the_script_that_comes_with_it(final: list[Instruction]) -> None:
    (entry,) = values(final, "ENTRYPOINT")
    shell, script = json.loads(entry)
    assert shell == "sh"
    assert f"ops/container.sh {script}" in values(final, "COPY")


def test_it_shows_the_ports_of_the_example_and_asks_one_of_them_for_its_health(
    final: list[Instruction],
) -> None:
    service = tomllib.loads((REPO / "elf.example.toml").read_text(encoding="utf-8"))["service"]
    http, mcp, grpc = (service[key].rpartition(":")[2] for key in ("http_bind", "mcp_bind", "grpc_bind"))
    assert values(final, "EXPOSE") == [f"{http} {mcp} {grpc}"]
    (check,) = values(final, "HEALTHCHECK")
    python, option, code = json.loads(check[check.index("CMD") + 3 :])
    assert (python, option) == ("python", "-c")
    ast.parse(code)
    assert f"http://127.0.0.1:{http}/health" in code


def test_nothing_of_it_is_a_secret_or_a_config(instructions: list[Instruction]) -> None:
    assert not any("elf.toml" in each.value for each in instructions if each.name in ("COPY", "ENV", "RUN"))
    assert values(instructions, "ARG") == []
    assert Path("ops/elf.toml") not in {Path(word) for each in instructions for word in each.value.split()}
