"""What a terminal gets to see, by a real one; and how a command ends that is stopped at it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService

from tests.system.fork_server import fork_server

pytestmark = pytest.mark.slow

NOTE_ID = "01890a5d-ac96-474b-bcce-b302099a8057"
HANDLE = "4f1d5d6a-7a53-4c3f-9f0c-2f64c1a7a1de"
LONG = "The kettle in the kitchen of the second floor must be filled by whoever empties it, " * 2
NOTE: dict[str, Any] = {
    "note_id": NOTE_ID, "type": "constraint", "scope": "agent_private", "key": "kettle", "text": LONG,
    "status": "active", "updated_at": "2026-03-01T12:00:00Z", "source_ref": {"a": 1},
}  # fmt: skip
STRONG = NOTE | {"snippet": LONG, "final_score": 0.9, "relevance": 0.71, "result_handle": HANDLE}
WEAK = STRONG | {"snippet": "Tea\x1b[31m is green.", "final_score": 0.2, "relevance": None}

COLOUR = re.compile(r"\x1b\[[0-9;]*?3[0-7]")
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def seen(config: Path, *arguments: str, width: int = 80, **environment: str) -> str:
    """Run a command at a terminal and return what it wrote there, with its codes."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    command = fork_server().command("elf", arguments[0], "-c", str(config), *arguments[1:])
    with subprocess.Popen(
        command, stdin=its, stdout=its, stderr=its, env=inherited | {"TERM": "xterm-256color"} | environment
    ):
        os.close(its)
        written = b""
        while chunk := _read(ours):
            written += chunk
    os.close(ours)
    return written.decode()


def stoppable(command: list[str]) -> subprocess.Popen[str]:
    """Start a command that heeds Ctrl-C as at a terminal, though the tests may run where it is ignored."""
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how Linux says that nobody has the other end any more
        return b""


def lines(written: str) -> list[str]:
    return [line.rstrip() for line in CODES.sub("", written).splitlines()]


@pytest.fixture
def found(service: FakeService) -> None:
    service.respond = lambda asked: Answer(
        body={"items": [STRONG, WEAK], "weak_match": True, "degraded": [], "next_cursor": None}
    )


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("command", [("search", "kettle"), ("list",)])
def test_what_is_shown_fits_the_width_and_wraps_between_words(
    elf: CommandLine, width: int, command: tuple[str, ...]
) -> None:
    shown = lines(seen(elf.config, *command, width=width))
    assert max(map(len, shown)) <= width
    assert " ".join(" ".join(shown).split()).count(LONG.strip()) == (1 if command[0] == "search" else 2)
    assert NOTE_ID[:8] in (shown[1] if command[0] == "search" else shown[0])


@pytest.mark.usefixtures("found")
def test_weak_results_are_dim_and_no_text_can_speak_to_the_terminal(elf: CommandLine) -> None:
    written = seen(elf.config, "search", "kettle")
    strong, weak = (
        next(line for line in written.splitlines() if text in line) for text in (LONG[:20], "Tea")
    )
    assert "\x1b[2mTea [31m is green." in weak
    assert f"\x1b[2m{LONG[:20]}" not in strong
    assert "\x1b[31m" not in written
    assert lines(written)[0] == "elf: weak match: perhaps nothing here answers the query"


def test_an_explanation_tells_how_relevant_results_are_and_which_were_left_out_for_it(
    elf: CommandLine, service: FakeService
) -> None:
    why = {
        "retrieval_score": 0.75, "retrieval_rank": 1, "rerank_score": 0.9, "final_score": 0.8,
        "boosts": [{"name": "rerank", "score": 0.82}, {"name": "length", "score": -0.02}],
        "matched_terms": [], "matched_fields": [],
    }  # fmt: skip
    item = {
        "rank": 1, "note_id": NOTE_ID, "chunk_id": NOTE_ID, "result_handle": HANDLE, "relevance": 0.7123,
        "text": "Tea is green.", "explain": why,
    }  # fmt: skip
    far = {"stage": "prefilter", "note_id": NOTE_ID, "reason": "", "text": "Far", "final_score": None}
    weak = {"stage": "top_k", "note_id": NOTE_ID, "reason": "", "text": "Weak", "final_score": 0.1}
    near = {
        "stage": "relevance", "note_id": NOTE_ID, "reason": "its relevance is too little", "text": "Tea",
        "final_score": 0.2,
    }  # fmt: skip
    trace = {
        "trace_id": NOTE_ID, "query": "kettle", "read_profile": "all", "allowed_scopes": ["a"], "degraded": [],
        "candidate_count": 2, "created_at": "2026-03-01T12:00:00Z", "expanded_queries": [], "stages": [],
        "filters": {"key_prefix": "kitchen"},
    }  # fmt: skip
    unknown = item | {"rank": 2, "relevance": None}
    body = {"trace": trace, "item": item, "other_items": [unknown], "dropped": [far, weak, near]}
    service.respond = lambda asked: Answer(body=body)
    shown = [" ".join(line.split()) for line in lines(seen(elf.config, "explain", HANDLE))]
    assert "relevance 0.7123" in shown
    assert "length -0.0200 ▬" in shown
    assert [line for line in shown if line.startswith(f"handle {HANDLE[:8]}")] == [
        f"handle {HANDLE[:8]} relevance 0.71",
        f"handle {HANDLE[:8]}",
    ]
    assert [line.split()[-1] for line in shown if f" {NOTE_ID[:8]} " in line][-3:] == ["Tea", "Weak", "Far"]
    assert f"relevance {NOTE_ID[:8]} Tea" in shown
    assert 'only {"key_prefix": "kitchen"}' in shown


@pytest.mark.usefixtures("found")
def test_what_is_below_a_text_is_not_cut_between_a_name_and_its_value(elf: CommandLine) -> None:
    shown = [line.strip() for line in lines(seen(elf.config, "search", "kettle", width=64))]
    assert shown.count(f"handle {HANDLE[:8]}") == 2


@pytest.mark.usefixtures("found")
def test_colours_are_left_out_where_nobody_wants_them(elf: CommandLine) -> None:
    assert COLOUR.search(seen(elf.config, "list"))
    assert not COLOUR.search(seen(elf.config, "list", NO_COLOR="1"))
    assert "\x1b" not in seen(elf.config, "list", TERM="dumb")


@pytest.mark.usefixtures("found")
def test_what_is_piped_is_plain_whatever_the_environment_says(elf: CommandLine) -> None:
    command = fork_server().command("elf", "search", "-c", str(elf.config), "kettle")
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"FORCE_COLOR": "1"})
    assert "\x1b" not in done.stdout
    assert done.stdout.splitlines()[0] == f"  1  0.9000  {LONG}"
    assert f"kettle  constraint  agent_private  {NOTE_ID}  handle {HANDLE}" in done.stdout


def test_a_note_is_shown_with_its_reference(elf: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(body=NOTE)
    shown = lines(seen(elf.config, "get", NOTE_ID))
    assert " ".join(shown[:3]).split() == LONG.split()
    assert f"note_id     {NOTE_ID}" in shown
    assert '  "a": 1' in "\n".join(shown)


def test_an_import_shows_how_far_it_is_and_what_was_rejected(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"text": "A."}\n{"text": "B."}\n')
    said = {"note_id": None, "op": "REJECTED", "reason_code": "REJECT_SECRET", "reason": LONG.strip()}
    added = {"note_id": NOTE_ID, "op": "ADD", "reason_code": None}
    service.respond = lambda asked: Answer(body={"results": [added, said]})
    written = seen(elf.config, "import", str(file))
    *bars, line_2, line_2b, line_2c, code, summary = lines(written)
    assert any(re.search(r"notes.jsonl ━+ 100% 2 lines", bar) for bar in bars)
    assert f"{line_2} {line_2b} {line_2c}".split() == ["line", "2", *LONG.split()]
    assert max(map(len, (line_2, line_2b, line_2c))) <= 80
    assert (code.strip(), summary) == ("REJECT_SECRET", "2 lines: 1 added, 1 rejected")
    assert "\x1b[38;" not in written  # the terminal's own colours, which suit its background


def test_a_stop_at_the_terminal_ends_in_one_line(elf: CommandLine, service: FakeService) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def never(request: Asked) -> Answer:
        asked.set()
        may_answer.wait()
        return Answer()

    service.respond = never
    command = fork_server().command("elf", "search", "-c", str(elf.config), "tea")
    with stoppable(command) as process:
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    may_answer.set()
    assert (process.returncode, out, err) == (130, "", "elf: stopped\n")


def test_a_stopped_import_says_what_it_stored(elf: CommandLine, service: FakeService, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(f'{{"text": "{n}", "tenant_id": "t{n}"}}\n' for n in range(300)))
    enough, may_answer = threading.Event(), threading.Event()

    def some(request: Asked) -> Answer:
        if len(service.asked) > 20:
            enough.set()
            may_answer.wait()
        results = [{"note_id": NOTE_ID, "op": "ADD", "reason_code": None} for _ in request.body["notes"]]
        return Answer(body={"results": results})

    service.respond = some
    command = fork_server().command("elf", "import", "-c", str(elf.config), str(file))
    with stoppable(command) as process:
        assert enough.wait(60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    may_answer.set()
    assert (process.returncode, out) == (130, "")
    assert re.fullmatch(
        r"elf: stopped: [\d,]+ lines: [1-9]\d* added, 0 rejected; import the file again, .*\n", err
    )
