"""No request holds up the others: the event loop is never kept for long, whatever is legal to send."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.folders import fresh_folder
from tests.system.fork_server import fork_server
from tests.system.service import REPO, write_config

# Of the processor time of the loop's thread. What is to be held is 50 ms, which ops/fuzz/loop_hold.py tells on a quiet
# machine; what goes wrong here takes longer by far, so a busy machine does not fail.
MOST_MS = 200.0
SOME_OF_EACH = (
    r"one note, (small keys|empty lists|deep|short accented strings|strings of (quotes|sentences|digits and spaces))$"
    r"|again, (exponents|small keys)|256 notes of sentences|256 references of small keys"
    r"|add_event (sentences|250 messages)|^search (decimals|sentences|letters)|^list|^traces|^explain"
    r"|^fault (unknown fields|cjk keys|many nests|a long key)|^(get|update|history|restore) one small keys"
    r"|^long (entry of (signs|prose)|sync of cjk|episode of (signs|cjk)|episodes in a|value of lines by \['\$'\]$)"
    r"|^decisions|^tool (list|search|too many values|add_note (256|strings of quotes))"
)


@pytest.mark.timeout(560)
def test_the_loop_is_never_held_for_long_by_requests_made_to_be_awkward(model_folder: Path) -> None:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"', log_level='"error"')
        command = fork_server().command(
            "ops.fuzz.loop_hold", "-c", config, "--seed", "1", "--only", SOME_OF_EACH, "--most-ms", str(MOST_MS)
        )  # fmt: skip
        done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, timeout=540, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-2000:]}"
    assert " requests; other work of the service " in done.stdout
