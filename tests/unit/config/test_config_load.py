"""Reading a config file: what loads, and what is said about a file that cannot be read."""

from __future__ import annotations

import base64
import re
from itertools import pairwise
from pathlib import Path
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_template import SPEC_TEMPLATE

from elf.config import load, loads
from elf.config.auth import ApiKey, Jwt, RoleHolders
from elf.config.optional import REMEMBERED_BY, SPEC_FUSION, SPEC_MERGING, Gc, Indexing, LocalModel, Remember
from elf.config.processes import Processes
from elf.config.table import Table
from elf.config.tracing import Tracing
from elf.config.webhooks import Webhook
from elf.core.errors import ConfigError

EXAMPLE = Path(__file__).resolve().parents[3] / "elf.example.toml"


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path)
    (fault,) = caught.value.faults
    assert str(path) in str(caught.value)
    return str(fault)


def test_a_filled_in_template_of_the_spec_loads_and_behaves_as_the_spec_says() -> None:
    config = loads(SPEC_TEMPLATE, source="elf.toml")
    assert config.providers.embedding.dimensions == 1536
    assert config.embedding_version == "acme:embed-large:1536"
    assert config.search.fusion == SPEC_FUSION
    assert config.memory.merging == SPEC_MERGING
    assert (SPEC_MERGING.rule, SPEC_MERGING.neighbours) == ("similarity", 1)
    assert (config.indexing, config.gc) == (Indexing(), Gc())
    assert config.lifecycle.retention is None
    assert config.local_model == LocalModel()


def test_the_example_loads_and_has_every_key_there_is() -> None:
    config = load(EXAMPLE)
    # These stand there as comments: they need what is not always there, or are for large machines.
    assert _keys_left_out(config) == [
        "tracing", "processes", "webhooks", "security.auth.keys", "security.auth.jwt", "security.auth.roles",
        "remember.families", "remember.max_extractions",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path", [EXAMPLE, EXAMPLE.parent / "ops" / "elf.scaled.toml"], ids=lambda path: path.name
)
def test_the_shown_configs_merge_only_what_states_the_same_fact(path: Path) -> None:
    merging = loads(path.read_text(), source=path.name).memory.merging
    assert (merging.rule, merging.neighbours) == ("same_fact", 8)


def test_the_tracing_that_the_example_shows_in_comments_loads() -> None:
    before, _, after = EXAMPLE.read_text().partition("# [tracing]\n")
    shown = re.sub(r"(?m)^# ?", "", after.partition("\n\n")[0])
    config = loads(f"{before}[tracing]\n{shown}", source="elf.toml")
    assert config.tracing is not None
    assert config.tracing.model_fields_set == set(Tracing.model_fields)


def test_the_collectors_address_is_shown_without_its_password() -> None:
    tracing = Tracing(endpoint="https://elf:hunter2@collector.example/v1/traces", service_name="elf")
    assert "hunter2" not in repr(tracing)


def test_what_the_example_says_in_comments_of_remembering_is_what_holds_without_it() -> None:
    before, _, after = EXAMPLE.read_text().partition("# [remember]\n")
    shown = re.sub(r"(?m)^# ?", "", after.partition("\n\n")[0])
    config = loads(f"{before}[remember]\n{shown}", source="elf.toml")
    assert config.remember.families == [*REMEMBERED_BY]
    assert config.remember.max_extractions == Remember().max_extractions


def test_the_webhook_that_the_example_shows_in_comments_loads() -> None:
    _, heading, shown = EXAMPLE.read_text().partition("# [[webhooks]]\n")
    shown = shown.partition("\n\n")[0].replace("whsec_...", f"whsec_{base64.b64encode(bytes(32)).decode()}")
    text = re.sub(r"(?m)^# ?", "", heading + shown)
    (webhook,) = loads(EXAMPLE.read_text() + text, source="elf.toml").webhooks
    assert webhook.model_fields_set == set(Webhook.model_fields)
    assert webhook.key == bytes(32)


def test_the_processes_that_the_example_shows_in_comments_load() -> None:
    before, _, after = EXAMPLE.read_text().partition("# [processes]\n")
    config = loads(before + "[processes]\n" + re.sub(r"(?m)^# ?", "", after), source="elf.toml")
    assert config.processes is not None
    assert config.processes.model_fields_set == set(Processes.model_fields)
    assert list(config.processes.named()) == [
        ("api-1", "api"), ("api-2", "api"), ("worker-1", "worker"), ("worker-2", "worker"), ("mcp", "mcp"),
    ]  # fmt: skip


def test_the_keys_tokens_and_roles_that_the_example_shows_in_comments_load() -> None:
    before, heading, shown = EXAMPLE.read_text().partition("# [[security.auth.keys]]\n")
    shown, rest, after = shown.partition("# Optional table: how stored notes")
    text = re.sub(r"(?m)^# ?", "", heading + "\n".join(_without_prose(shown)))
    auth = loads(before + text + "\n" + rest + after, source="elf.toml").security.auth
    assert auth.jwt is not None
    assert auth.jwt.model_fields_set == set(Jwt.model_fields)
    assert [key.model_fields_set for key in auth.keys] == [set(ApiKey.model_fields)]
    assert auth.roles["admin"].model_fields_set == set(RoleHolders.model_fields)


def _without_prose(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if not line.startswith("# Optional: ")]


def _keys_left_out(table: Table, above: str = "") -> list[str]:
    left_out = [above + name for name in type(table).model_fields if name not in table.model_fields_set]
    for name in type(table).model_fields:
        value = getattr(table, name)
        if isinstance(value, Table):
            left_out += _keys_left_out(value, f"{above}{name}.")
    return left_out


def test_the_example_explains_each_key_in_one_line() -> None:
    lines = EXAMPLE.read_text().splitlines()
    spec_groups = {"scopes.read_profiles", "scopes.precedence", "scopes.write_allowed", "lifecycle.ttl_days"}
    table, unexplained = "", []
    for before, line in pairwise(lines):
        table = line.strip("[]") if line.startswith("[") else table
        if (
            " = " in line
            and not line.startswith("#")
            and table not in spec_groups
            and not before.startswith("#")
        ):
            unexplained.append(f"{table}: {line}")
    assert unexplained == []


def test_the_example_has_the_keys_of_the_template_in_its_order() -> None:
    def keys(text: str) -> list[str]:
        return re.findall(r"^(\[.+\]|[a-z0-9_]+)", text, re.MULTILINE)

    remaining = iter(keys(EXAMPLE.read_text()))
    assert [key for key in keys(SPEC_TEMPLATE) if key not in remaining] == []


def test_keys_that_the_spec_calls_optional_may_be_left_out() -> None:
    text = re.sub(r"(?m)^(tokenizer_repo|max_payload_bytes) = .*\n", "", SPEC_TEMPLATE)
    config = loads(text, source="elf.toml")
    assert config.chunking.tokenizer_repo == ""
    assert config.search.cache.max_payload_bytes is None


def test_whole_numbers_are_taken_where_fractions_are_asked() -> None:
    text = SPEC_TEMPLATE.replace("temperature = 0.1", "temperature = 0")
    assert loads(text, source="elf.toml").providers.llm_extractor.temperature == 0.0


def test_relative_folders_are_below_the_folder_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "etc" / "elf.toml"
    file.parent.mkdir()
    file.write_text(EXAMPLE.read_text())
    monkeypatch.chdir(tmp_path)
    config = load(Path("etc/elf.toml"))
    assert config.storage.postgres.place.folder == tmp_path / "etc/.elf/postgres"
    assert config.storage.qdrant.place.folder == tmp_path / "etc/.elf/index"
    assert config.local_model.cache_dir == ""


@pytest.mark.parametrize(
    ("given", "expected"), [("models", "{}/models"), ("/srv/models", "/srv/models"), (" ", "")]
)
def test_the_model_cache_is_below_the_folder_of_the_file_unless_it_is_absolute_or_empty(
    tmp_path: Path, given: str, expected: str
) -> None:
    file = tmp_path / "elf.toml"
    file.write_text(EXAMPLE.read_text().replace('cache_dir = ""', f'cache_dir = "{given}"'))
    assert load(file).local_model.cache_dir == expected.format(tmp_path)


class Shelf(Table):
    """A family's table that names a file."""

    file: str

    def anchored(self, folder: Path) -> Self:
        return self.model_copy(update={"file": str(folder / self.file)})


class Library(Table):
    """One that has such a table in it."""

    shelf: Shelf


@pytest.mark.parametrize(
    ("named", "taken"), [("books.txt", "{folder}/books.txt"), ("/var/books", "/var/books")]
)
def test_the_file_that_a_family_names_is_below_the_folder_of_the_config(
    tmp_path: Path, named: str, taken: str
) -> None:
    text = f'{SPEC_TEMPLATE}\n[shelf]\nfile = "{named}"\n[library.shelf]\nfile = "{named}"\n'
    tables = {"shelf": Shelf, "library": Library}
    config = loads(text, source="elf.toml", folder=tmp_path, tables=tables)
    assert config.of(Shelf).file == config.of(Library).shelf.file == taken.format(folder=tmp_path)
    assert loads(text, source="elf.toml", tables=tables).of(Shelf).file == named


def test_absolute_folders_and_servers_stay_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "elf.toml"
    file.write_text(SPEC_TEMPLATE.replace("http://qdrant.internal:6333", "edge:/var/lib/elf/index"))
    config = load(file)
    assert config.storage.postgres.dsn == "postgresql://elf:hunter2@db.internal:5432/elf"
    assert config.storage.qdrant.url == "edge:/var/lib/elf/index"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.toml") == "there is no such file"


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "is a folder, not a file"


def test_a_path_through_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "file" / "elf.toml").startswith("cannot be read: ")


def test_a_half_written_file_is_refused_with_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "elf.toml"
    file.write_text('[service]\nhttp_bind = "127.0.0.1:80')
    assert re.fullmatch(r"is not TOML: .*line 2.*", refusal(file))
    file.write_text('[service]\nhttp_bind 5\nmcp_bind = "x"\n')
    assert re.fullmatch(r"is not TOML: .*\(at line 2, column 11\)", refusal(file))


def test_a_file_cut_off_at_any_byte_is_refused_or_lacks_keys() -> None:
    for end in range(0, len(SPEC_TEMPLATE) - 40, 97):
        with pytest.raises(ConfigError):
            loads(SPEC_TEMPLATE[:end], source="elf.toml")


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "elf.toml"
    file.write_bytes(SPEC_TEMPLATE.encode("utf-16"))
    assert refusal(file) == "is not UTF-8 text: byte 0 cannot be read"


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    file = tmp_path / "elf.toml"
    file.write_bytes(SPEC_TEMPLATE.encode("utf-8-sig"))
    assert load(file).service.log_level == "info"


@pytest.mark.parametrize("text", ["a = " + "[" * 10_000, "a = " + "9" * 5_000])
def test_what_the_parser_cannot_hold_is_not_toml(text: str) -> None:
    with pytest.raises(ConfigError, match="is not TOML"):
        loads(text, source="elf.toml")


@given(st.text(max_size=200))
def test_no_text_leads_to_anything_but_a_config_error(text: str) -> None:
    with pytest.raises(ConfigError):
        loads(text, source="elf.toml")


def test_a_config_shows_no_secret() -> None:
    config = loads(
        SPEC_TEMPLATE.replace("default_headers = {}", 'default_headers = {"X-Key" = "sesame"}'), source=""
    )
    for text in (repr(config), str(config), repr(config.storage.postgres.place)):
        assert "hunter2" not in text
        assert "key-of" not in text
        assert "sesame" not in text
    assert "postgresql://elf:***@db.internal:5432/elf" in repr(config.storage)


def test_a_config_built_by_other_means_keeps_the_rules_too() -> None:
    config = loads(SPEC_TEMPLATE, source="elf.toml")
    tables = config.model_dump()
    tables["chunking"]["overlap_tokens"] = 512
    with pytest.raises(ValueError, match="overlap_tokens must be less than max_tokens"):
        type(config).model_validate(tables)
