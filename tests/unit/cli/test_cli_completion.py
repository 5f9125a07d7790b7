"""`elf completion`: the scripts, and that a shell understands them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from elf.cli import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_names_the_commands_and_is_understood(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in ("add-event", "forget", "--top-k", "--key-file"))
    if shutil.which(shell):
        file = tmp_path / "completion"
        file.write_text(script)
        subprocess.run([shell, "-n", file], check=True)


def test_bash_completes_commands_and_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    file = tmp_path / "completion"
    file.write_text(capsys.readouterr().out)
    ask = (
        f"source {file}; COMP_WORDS=(elf {{}}); COMP_CWORD={{}}; "
        "$(complete -p elf | sed -E 's/.*-F ([^ ]+).*/\\1/'); echo \"${{COMPREPLY[@]}}\""
    )
    for words, place, expected in (("expo", 1, "export"), ("search --top", 2, "--top-k")):
        done = subprocess.run(
            ["bash", "-c", ask.format(words, place)], capture_output=True, text=True, check=True
        )
        assert expected in done.stdout.split()


def test_a_shell_that_is_not_known_is_a_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "tcsh"])
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err
