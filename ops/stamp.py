"""The stamp of a finished virtual environment; ops/setup.sh runs it with that environment's own Python.

    stamp.py check|usable|write REPO run|dev

`write` records what the environment was made from and which packages it holds. `check` exits 0 when the
environment holds what REPO asks for now, `usable` when it is whole but may be made from older pins, so that
installing into it is enough. It runs at each start, so it reads names and small files only.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path


def sources_digest(repo: Path) -> str:
    """Digest everything that decides what is installed: the pins, the Python and the place."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {repo}\n".encode())
    for name in ("pyproject.toml", "ops/constraints.txt", "ops/constraints-dev.txt", "ops/setup.sh"):
        digest.update((repo / name).read_bytes())
    return digest.hexdigest()


def site_packages(repo: Path) -> Path:
    major, minor = sys.version_info[:2]
    return repo / ".venv" / "lib" / f"python{major}.{minor}" / "site-packages"


def installed(repo: Path) -> list[str]:
    """List the packages that were laid out whole: pip writes RECORD last."""
    return sorted(record.parent.name for record in site_packages(repo).glob("*.dist-info/RECORD"))


def is_whole(repo: Path, stamp: dict[str, object]) -> bool:
    packages = stamp["packages"]
    return (
        isinstance(packages, list)
        and set(packages) <= set(installed(repo))
        and (repo / ".venv" / "bin" / "elf").is_file()
        and stamp["place"] == str(repo)  # the scripts of an environment name its folder: it cannot be moved
    )


def main(action: str, repo: Path, kind: str) -> int:
    path = repo / ".venv" / ".stamp.json"
    if action == "write":
        content = {
            "digest": sources_digest(repo),
            "kind": kind,
            "place": str(repo),
            "packages": installed(repo),
        }
        path.write_text(json.dumps(content, indent=1))
        return 0
    stamp = json.loads(path.read_text())  # any failure here exits non-zero: the environment is made anew
    if not is_whole(repo, stamp):
        return 1
    if action == "usable":
        return 0
    return 0 if stamp["digest"] == sources_digest(repo) and kind in ("run", stamp["kind"]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
