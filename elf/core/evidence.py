"""Evidence: the quotes that tie a note to what was said (decisions on add_event)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elf.core.blank_text import is_blank


@dataclass(frozen=True, slots=True)
class Quote:
    """Words cited for a note: the zero-based place of the message, and the words."""

    message_index: int
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceBounds:
    """How many quotes a note needs and may have, and how many code points one may have."""

    min_quotes: int
    max_quotes: int
    max_quote_chars: int


def is_verbatim(quote: str, content: str) -> bool:
    """Tell whether a quote with any visible text stands in the content, character for character."""
    return not is_blank(quote) and quote in content


def evidence_fault(quotes: Sequence[Quote], messages: Sequence[str], bounds: EvidenceBounds) -> str | None:
    """Return why the quotes do not prove a note, or None when they do. The reason repeats no quoted text."""
    if not bounds.min_quotes <= len(quotes) <= bounds.max_quotes:
        allowed = f"{bounds.min_quotes} to {bounds.max_quotes}"
        return f"the note has {len(quotes)} quotes as evidence; {allowed} are required"
    faults = (_quote_fault(quote, messages, bounds.max_quote_chars) for quote in quotes)
    return next((fault for fault in faults if fault is not None), None)


def _quote_fault(quote: Quote, messages: Sequence[str], max_chars: int) -> str | None:
    if is_blank(quote.quote):
        return "a quote is empty"
    if len(quote.quote) > max_chars:
        return f"a quote has {len(quote.quote)} characters; at most {max_chars} are allowed"
    if not 0 <= quote.message_index < len(messages):
        return f"a quote cites message {quote.message_index}; there are {len(messages)} messages"
    if not is_verbatim(quote.quote, messages[quote.message_index]):
        return f"a quote does not stand word for word in message {quote.message_index}"
    return None
