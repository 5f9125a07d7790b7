"""Texts as the word search reads them."""

from __future__ import annotations

from typing import Final

MAX_SEARCHED_BYTES: Final = 1_048_576  # what Postgres takes as a tsvector


def without_nul(text: str) -> str:
    """Return a text without NUL characters, which Postgres does not store."""
    return text.replace("\x00", "")


def searchable(text: str) -> str:
    """Return a text for a search vector: without NUL, each run of white space one blank, cut to 1 MiB of UTF-8."""
    spaced = search_query(text)
    encoded = spaced.encode()
    if len(encoded) <= MAX_SEARCHED_BYTES:
        return spaced
    return encoded[:MAX_SEARCHED_BYTES].decode(errors="ignore")


def search_query(text: str | None) -> str:
    """Return a query without NUL, each run of white space one blank; empty for none."""
    return " ".join(without_nul(text or "").split())


def fact_text(subject: str, predicate: str, content: str) -> str:
    """Return what is embedded and searched of a fact."""
    return f"{subject} {predicate} {content}"


def fact_sentence(subject: str, predicate: str, content: str) -> str:
    """Return what a reader is told of a fact."""
    return f"{subject} {predicate}: {content}"
