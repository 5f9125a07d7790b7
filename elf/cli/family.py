"""`elf FAMILY VERB`: the commands of a family of memory, made from its client."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_origin

import anyio

from elf.cli.client import Reply, Service
from elf.cli.commands import Commands
from elf.cli.families import NOTHING, OWN_COMMANDS
from elf.cli.flags import context as add_context
from elf.cli.flags import json_flag
from elf.cli.notes import configured, context, run_request, say_more
from elf.cli.outcome import ExitCode, Refused, Unreachable, UsageError
from elf.cli.parameters import add_parameter, kept_as
from elf.cli.text import plain, print_columns
from elf.client.call import Listing, Stream, reader
from elf.client.errors import ErrorBody
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
        verb = Verb(family, method.build, signature, own.shown.get(name, show_answer))
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
        failures: list[Any] = []

        async def follow() -> None:
            async with Service(config, options) as service:
                call = self._asked(service, options).call

                def read_error(status: int, content: bytes) -> ErrorBody | None:
                    told: ErrorBody | None = call.read_error(status, content)
                    if told is not None:
                        failures.append(json.loads(content))
                    return told

                raw = Stream(replace(call, read=reader(dict[str, Any]), read_error=read_error))
                async with service.follow(raw) as events:
                    async for event in events:
                        print(json.dumps(event) if options.json else _line(event), flush=True)

        try:
            anyio.run(follow)
        except InvalidRequest as error:  # by the client itself, as in run_request
            raise UsageError(error.message) from error
        except (Refused, Unreachable) as error:
            if not (options.json and failures):
                raise
            print(json.dumps(failures[-1]))
            return ExitCode.UNAVAILABLE if isinstance(error, Unreachable) else ExitCode.REJECTED
        return ExitCode.DONE

    def _asked(self, service: Service, options: argparse.Namespace) -> Any:
        family = self.family(service.client.within(**context(options)))
        given = {one.name: getattr(options, kept_as(one)) for one in self.parameters}
        return self.build(family, **given)


def show_answer(body: Any) -> None:
    """Print each field of an answer of any shape, then its rows below one another; one without a body prints nothing.

    Where the next page begins, under whatever names a wire has it, is said of how to go on.
    """
    named = body if isinstance(body, Mapping) else {"": body}
    cursors = {name: value for name, value in named.items() if name.lower().endswith("cursor")}
    tables = [value for value in named.values() if _is_table(value)]
    fields = [
        (name, value) for name, value in named.items() if value not in ([], *tables) and name not in cursors
    ]
    if fields:
        print_columns(row for name, value in fields for row in _flat(name, value))
    for rows in tables:
        names = list(dict.fromkeys(name for row in rows for name in row))
        print_columns([[row.get(name) for name in names] for row in rows])
    if named and not fields and not tables:
        print("elf: nothing found", file=sys.stderr)
    if further := next(filter(None, cursors.values()), None):
        say_more({CURSOR: further})


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object has inside under its path, one field a line."""
    if isinstance(value, Mapping) and value:
        for inner, one in value.items():
            yield from _flat(f"{name}.{inner}" if name else inner, one)
    else:
        yield name, value


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _line(event: Mapping[str, Any]) -> str:
    return "  ".join(plain(value) for value in event.values())
