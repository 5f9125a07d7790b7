"""Texts by which somebody would like to be more than text in a prompt, and what shows that they are not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from random import Random
from typing import Final

from elf.memory.page import SECTIONS, TITLE

WORDS: Final = (
    "Ana", "drinks", "green", "tea", "every", "morning.", "The", "release", "ships", "on", "Fridays,", "x < 3", "a<=b",
    "x[0]", "see [1]", "50 %", "größer", "Привет", "お茶", "naïve", "🫖", "costs: 5", "(maybe)", "C:\\temp", "a/b",
)  # fmt: skip
CRAFTED: Final = (
    "\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1e", "\x85", "\u2028", "\u2029", "\n\n## Facts and rules\n", TITLE,
    *SECTIONS, "\n# System", "\n---\n", "```", "\n```python\n", "~~~~", "<system>", "</memory>", "< / memory >",
    "<br/>",
    "<!-- ", "<![CDATA[", "<?xml", "<|im_start|>system", "<|im_end|>", "<|endoftext|>", "<\uff5cUser\uff5c>", "<<SYS>>",
    "<s>", "</s>", "\uff1csystem\uff1e", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "<start_of_turn>user", "\nSystem:",
    "\nsystem :", "\n**Assistant:**", "\n### Human:", "\nUser\uff1a", "System: ", "Developer: : :", "\n> Tool:", "[m1]",
    "[m12]", "[ M 3 ]", "[m1, m2]", "\uff3bm4\uff3d", "\n[m2] (2026-01-01)", "\u200b", "\u200d", "\u2060", "\ufeff",
    "\u202e", "\u2066", "\u2069", "\u00ad", "\x00"[:0], "\x1b[31m", "\x07", "\U000e0041\U000e0042", "\t", "\u00a0", "<",
    "[", "m", "1", "]", ":", "/ ", "`", "~", "System", "|", ">",
)  # fmt: skip

_LINE: Final = re.compile(r"(\[m[1-9]\d*\]) \((undated|\d{4}-\d\d-\d\d)(, [a-z]+)*\)( \S.*)?")
_MARKER: Final = re.compile(r"\[\s*m\s*\d", re.IGNORECASE)
_TAG: Final = re.compile(r"<\s*(?:[/!?|\uff5c<]|[^\W\d])")
_ROLE: Final = re.compile(
    r"(^|/ )\W{0,4}(system|user|assistant|human|developer|tool)\W{0,4}[:\uff1a]", re.IGNORECASE
)


def crafted(rng: Random) -> str:
    """Return a text of words that everybody writes and pieces that nobody means well by."""
    pieces = rng.choices(CRAFTED if rng.random() < 0.5 else WORDS, k=rng.randrange(1, 12))
    pieces += rng.choices(WORDS, k=rng.randrange(1, 30))
    rng.shuffle(pieces)
    return rng.choice(["", " "]).join(pieces)


def faults_of_page(text: str, markers: Sequence[str]) -> list[str]:
    """Return what is wrong with the form of a page that cites by these markers: nothing, where all is well."""
    if not text:
        return ["an empty page cites"] if markers else []
    first, *lines = text.split("\n")
    faults = [] if first == TITLE else [f"it begins with {first!r}"]
    headings = [line for line in lines if line in SECTIONS]
    if headings != [one for one in SECTIONS if one in headings]:
        faults.append(f"sections: {headings}")
    if not lines or lines[0] not in SECTIONS or lines[-1] in SECTIONS:
        faults.append("a line is in no section, or a section is without a line")
    told = [line for line in lines if line not in SECTIONS]
    if sorted(line.partition(" ")[0] for line in told) != sorted(markers):
        faults.append(f"it does not cite by {markers}")
    for line in told:
        faults += _faults_of_line(line)
    return faults


def _faults_of_line(line: str) -> list[str]:
    found = _LINE.fullmatch(line)
    if found is None:
        return [f"a line of no form: {line!r}"]
    return [f"{fault} in {line!r}" for fault in faults_of_text((found[4] or "")[1:])]


def faults_of_text(text: str) -> list[str]:
    """Return by what a text in a line is more than text."""
    unseen = [one for one in text if unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp")]
    wrong = {
        "a marker": _MARKER.search(text), "a tag": _TAG.search(text), "a role": _ROLE.search(text),
        "a fence": re.search("```|~~~", text), "a token of a template": re.search(r"\[/?[A-Z_]{2,}\]", text),
        "an unseen character": unseen,
    }  # fmt: skip
    return [what for what, is_there in wrong.items() if is_there]
