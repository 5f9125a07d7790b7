"""The runbook: what docs/operations.md says of backups, done as it says, from one embedded Postgres into another."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from urllib.parse import urlsplit

from tests.folders import fresh_folder
from tests.system.service import REPO, RunningService, note, write_config

RUNBOOK = REPO / "docs" / "operations.md"
BOX = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def commands(section: str) -> list[str]:
    """The boxed commands of a section of the runbook."""
    _, _, rest = RUNBOOK.read_text(encoding="utf-8").partition(f"\n## {section}\n")
    return [dedent(box[2]) for box in BOX.finditer(rest.partition("\n## ")[0])]


def run(*scripts: str, folder: Path, **variables: object) -> None:
    """Run commands in `folder` with shell variables, and with the `python` and the `elf` of this environment."""
    settings = "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in variables.items())
    python = shlex.quote(sys.executable)
    tools = f'python() {{ {python} "$@"; }}\nelf() {{ {python} -m elf "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", tools + settings + "".join(scripts)],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(REPO)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def counts(service: RunningService, tenant: str) -> Mapping[str, int]:
    """How many notes there are of each status."""
    context = {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
    found = {}
    for status in ("active", "deleted"):
        response = service.client.get("/v1/memory/list", params=context | {"status": status})
        found[status] = len(response.json()["items"])
    return found


def addressed(service: RunningService) -> Path:
    """Write its config anew with the addresses it has, for commands that look for it there."""
    text = service.config.read_text(encoding="utf-8")
    for key, url in (("http_bind", service.url), ("admin_bind", service.admin_url)):
        text = re.sub(rf"^{key} = .*$", f'{key} = "{urlsplit(url).netloc}"', text, flags=re.MULTILINE)
    path = service.config.with_name("addressed.toml")
    path.write_text(text, encoding="utf-8")
    return path


def test_what_was_dumped_while_a_service_ran_is_found_in_a_new_place(
    service: RunningService, model_folder: Path, tenant: str
) -> None:
    made = service.add(
        tenant, note("The archive is kept in Utrecht."), note("The old archive burned down in May.")
    )
    kept, gone = (result["note_id"] for result in made)
    context = {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
    assert service.post("delete", context | {"note_id": gone}).status_code == 200
    before = counts(service, tenant)
    dump, dsn_of_embedded = commands("Backup")
    restore, check = commands("Restore")
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        run(dsn_of_embedded, dump, folder=folder, postgres=service.config.parent / ".elf/postgres")
        with RunningService(config) as restored:
            assert counts(restored, tenant) == {"active": 0, "deleted": 0}
            run(dsn_of_embedded, restore, folder=folder, postgres=folder / ".elf/postgres")
            restored.stop()
            restored.start()
            run(check, folder=folder, config=addressed(restored))
            assert counts(restored, tenant) == before == {"active": 1, "deleted": 1}
            (found,) = restored.search(tenant, "Where is the archive?")
            assert found["note_id"] == kept
