"""What a command proves itself by: a key in a file, or a variable of the environment, for others see command lines."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from elf.api.key_file import read_key_file
from elf.cli.outcome import UsageError
from elf.client.credentials import Credentials
from elf.config import Config
from elf.core.api_key import checked_key

KEY: Final = "ELF_API_KEY"
KEY_FILE: Final = "ELF_API_KEY_FILE"
TOKEN: Final = "ELF_TOKEN"
HOW: Final = f"name a file with a key by --key-file or {KEY_FILE}, or set {KEY} or {TOKEN}"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a command is for the service: the credentials, where they come from, and the names that they bind.

    `project` is the one that is meant where none is named; None where that is the service's to say.
    """

    credentials: Credentials
    sources: tuple[str, ...]
    bound: frozenset[str]
    project: str | None

    @property
    def told(self) -> str:
        """Say what is sent, or how something can be."""
        return f"sent: {' and '.join(self.sources)}" if self.sources else f"no key was sent: {HOW}"


def identity_of(options: argparse.Namespace, config: Config) -> Identity:
    """Return who a command is by its flag, the environment and [defaults].

    Raises UsageError for a key or a token that there is none, or two.
    """
    key, from_key = _key(options)
    token, from_token = _variable(TOKEN)
    auth = config.security.auth
    user = config.defaults.user if config.defaults.user and auth.lets_name_user(key) else None
    bound = auth.bound_names(key=key, has_token=token is not None)
    for_user = None
    if token is None and auth.takes_names(has_key=key is not None):
        token = user
    elif token is None and key is not None:
        for_user = user
    sources = [f"the key of {from_key}"] if key else []
    sources += [f"the token of {from_token}"] if from_token else []
    sources += [f"the user {user} of [defaults]"] if user in (token, for_user) and user is not None else []
    project = config.default_project(key=key, token=token, for_user=for_user)
    return Identity(Credentials(key, token, for_user), tuple(sources), bound, project)


def _key(options: argparse.Namespace) -> tuple[str | None, str]:
    """Return the key and where it comes from."""
    if options.key_file is not None:
        return _read(options.key_file, "--key-file"), f"--key-file {options.key_file}"
    key, source = _variable(KEY)
    file = os.environ.get(KEY_FILE)
    if key and file:
        raise UsageError(f"{KEY} and {KEY_FILE} are both set: unset one")
    if file:
        return _read(Path(file), KEY_FILE), KEY_FILE
    return key, source


def _variable(name: str) -> tuple[str | None, str]:
    value = os.environ.get(name)
    if not value:  # what is empty is not set, as env files have it
        return None, ""
    try:
        return checked_key(value), name
    except ValueError as error:
        raise UsageError(f"{name} {error}") from None


def _read(file: Path, source: str) -> str:
    try:
        return read_key_file(file)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from error
