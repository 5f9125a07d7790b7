"""`elf FAMILY VERB`: the commands of a family of memory, made from its client."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_origin

import anyio

from elf.cli.client import Reply, Service
from elf.cli.commands import Commands
from elf.cli.families import NOTHING, OWN_COMMANDS
from elf.cli.flags import context as add_context
from elf.cli.flags import json_flag
from elf.cli.notes import configured, context, run_request, say_more
from elf.cli.outcome import ExitCode, UsageError
from elf.cli.parameters import add_parameter, kept_as
from elf.cli.text import plain, print_columns
from elf.client.call import Listing, Stream, reader
from elf.client.family import FamilyClient, methods_of
from elf.config import Config
from elf.core.errors import InvalidRequest

CURSOR = "next_cursor"


def add_family(family: type[FamilyClient[Any]], commands: Commands) -> None:
    """Add a command for each method of a family's client, with its parameters as arguments and flags.

    What commands the family has of its own take their place.
    """
    own = OWN_COMMANDS.get(family.name, NOTHING)
    own.add(commands)
    for name, method in methods_of(family).items():
        if name in own.replaced:
            continue
        signature = inspect.signature(method.build, eval_str=True)
        verb = Verb(family, method.build, signature, own.shown.get(name, show_with(family.cursor)))
        command = commands.add(name.replace("_", "-"), verb.run, verb.does)
        for parameter in verb.parameters:
            add_parameter(command, parameter)
        add_context(command, [name.removesuffix("_id") for name in family.owned_by])
        json_flag(command)


@dataclass(frozen=True, slots=True)
class Verb:
    """A method of a family's client as a command: `build` makes its call, and has the signature; `show` prints."""

    family: type[FamilyClient[Any]]
    build: Callable[..., Any]
    signature: inspect.Signature
    show: Callable[[Any], None]

    @property
    def does(self) -> str:
        """What help says of it: the first sentence of its documentation."""
        sentence = (inspect.getdoc(self.build) or self.build.__name__).partition("\n")[0].partition(". ")[0]
        return f"{sentence[0].lower()}{sentence[1:].removesuffix('.')}"

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """What is asked of who calls it."""
        return [*self.signature.parameters.values()][1:]

    def run(self, options: argparse.Namespace) -> int:
        """Ask, and print the answer."""
        if get_origin(self.signature.return_annotation) is Stream:
            return self._follow(options)
        return run_request(options, self._request, self.show)

    async def _request(self, service: Service, config: Config, options: argparse.Namespace) -> Reply:
        asked = self._asked(service, options)
        call = asked.at(asked.cursor) if isinstance(asked, Listing) else asked
        if not call.for_operators:
            return await service.ask_any(call)
        async with Service(config, options, admin=True) as operated:
            return await operated.ask_any(call)

    def _follow(self, options: argparse.Namespace) -> int:
        config = configured(options)

        async def follow() -> None:
            async with Service(config, options) as service:
                stream: Stream[Any] = self._asked(service, options)
                raw = Stream(replace(stream.call, read=reader(dict[str, Any])))
                async with service.follow(raw) as events:
                    async for event in events:
                        print(json.dumps(event) if options.json else _line(event), flush=True)

        try:
            anyio.run(follow)
        except InvalidRequest as error:  # by the client itself, as in run_request
            raise UsageError(error.message) from error
        return ExitCode.DONE

    def _asked(self, service: Service, options: argparse.Namespace) -> Any:
        family = self.family(service.client.within(**context(options)))
        given = {one.name: getattr(options, kept_as(one)) for one in self.parameters}
        return self.build(family, **given)


def show_with(cursor: str) -> Callable[[Any], None]:
    """Return what prints an answer of any shape, in which `cursor` is where the next page begins."""
    return lambda body: _show(body, cursor)


def _show(body: Any, cursor: str) -> None:
    """Print each field of an answer, then its rows below one another; an answer without a body prints nothing."""
    named = body if isinstance(body, Mapping) else {"": body}
    tables = [value for value in named.values() if _is_table(value)]
    fields = [(name, value) for name, value in named.items() if value not in ([], *tables) and name != cursor]
    if fields:
        print_columns(fields)
    for rows in tables:
        names = list(dict.fromkeys(name for row in rows for name in row))
        print_columns([[row.get(name) for name in names] for row in rows])
    if named and not fields and not tables:
        print("elf: nothing found", file=sys.stderr)
    if named.get(cursor):
        say_more({CURSOR: named[cursor]})


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _line(event: Mapping[str, Any]) -> str:
    return "  ".join(plain(value) for value in event.values())
