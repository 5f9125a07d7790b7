"""Verbs whose passive says what their active does, with its forms."""

from __future__ import annotations

from typing import Final

_REGULAR: Final = """
manage own review approve maintain use reject store handle host monitor deploy test organize cook design develop
generate process support trigger update clean publish check create sign cache call validate provide control operate
sponsor fund load render schedule audit produce compile upload supervise coordinate modify verify supply
""".split()
_IRREGULAR: Final = """
run runs ran run
write writes wrote written
build builds built built
lead leads led led
pay pays paid paid
teach teaches taught taught
send sends sent sent
drive drives drove driven
sell sells sold sold
make makes made made
hold holds held held
read reads read read
""".strip().splitlines()


def _regular(base: str) -> tuple[str, str, str, str]:
    if base.endswith("y") and base[-2] not in "aeiou":
        return base, f"{base[:-1]}ies", f"{base[:-1]}ied", f"{base[:-1]}ied"
    past = f"{base}d" if base.endswith("e") else f"{base}ed"
    present = f"{base}es" if base.endswith(("s", "sh", "ch", "x")) else f"{base}s"
    return base, present, past, past


def _active_forms() -> dict[tuple[str, str], frozenset[str]]:
    """Return for an auxiliary and a participle the forms of the verb in the active."""
    forms: dict[tuple[str, str], frozenset[str]] = {}
    verbs = [_regular(base) for base in _REGULAR] + [tuple(line.split()) for line in _IRREGULAR]
    for base, present, past, participle in verbs:
        for auxiliary in ("is", "are"):
            forms[auxiliary, participle] = frozenset({base, present})
        for auxiliary in ("was", "were"):
            forms[auxiliary, participle] = frozenset({past})
    return forms


ACTIVE_FORMS: Final = _active_forms()
