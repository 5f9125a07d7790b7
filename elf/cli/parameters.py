"""The parameters of a function as arguments and flags of a command."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Sequence
from datetime import date, datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin
from uuid import UUID

from elf.cli.flags import number

# What JSON has as text is the service's, or the client's, to read.
_TEXTS: Final = (str, UUID, datetime, date)


def add_parameter(command: argparse.ArgumentParser, parameter: inspect.Parameter) -> None:
    """Add an argument for a parameter without a default, and a flag for any other.

    A text in an Annotated with the type is its help. What is neither text, a number, one of several values, true or
    false, nor a list of such, is JSON.
    """
    hint, help = _unwrapped(parameter.annotation)
    kind = _kind(hint)
    if parameter.default is parameter.empty:
        kind |= {"nargs": "+"} if kind.pop("is_list", False) else {}
        command.add_argument(kept_as(parameter), metavar=parameter.name.upper(), help=help, **kind)
        return
    if hint is bool:
        kind = {"action": "store_true" if parameter.default is False else argparse.BooleanOptionalAction}
    else:
        kind |= {"action": "append"} if kind.pop("is_list", False) else {}
        kind |= {} if "choices" in kind else {"metavar": parameter.name.upper()}
    flag = f"--{parameter.name.replace('_', '-')}"
    # argparse appends to a copy of the default, and a tuple takes nothing.
    default = [*parameter.default] if isinstance(parameter.default, tuple) else parameter.default
    command.add_argument(flag, dest=kept_as(parameter), default=default, help=help, **kind)


def kept_as(parameter: inspect.Parameter) -> str:
    """Return the name in the options that has the value, apart from those that every command has."""
    return f"given_{parameter.name}"


def _unwrapped(hint: Any) -> tuple[Any, str | None]:
    """Return the type without None, and the help that stands with it."""
    if get_origin(hint) is Annotated:
        inner, *said = get_args(hint)
        return _unwrapped(inner)[0], next((one for one in said if isinstance(one, str)), None)
    if get_origin(hint) in (Union, UnionType):
        kinds = [one for one in get_args(hint) if one is not NoneType]
        if len(kinds) == 1:
            return _unwrapped(kinds[0])
        return (str if str in kinds else object), None
    return hint, None


def _kind(hint: Any) -> dict[str, Any]:
    """Return what argparse is told of a type; is_list is said of lists, for it depends on where they stand."""
    if get_origin(hint) is Literal:
        return {"choices": get_args(hint)}
    if isinstance(hint, type) and issubclass(hint, _TEXTS):
        return {}
    if hint in (int, float):
        return {"type": int if hint is int else number}
    if isinstance(origin := get_origin(hint), type) and issubclass(origin, Sequence):
        return {**_kind(_unwrapped(get_args(hint)[0])[0]), "is_list": True}
    return {"type": _json}


def _json(text: str) -> Any:
    return json.loads(text)


_json.__name__ = "JSON"  # argparse names the function in its message
