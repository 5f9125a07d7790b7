"""`elf completion`: writes what makes a shell complete commands and flags."""

from __future__ import annotations

import argparse
from pathlib import Path

from elf.cli.commands import Parser
from elf.cli.outcome import ExitCode

SHELLS = ("bash", "zsh", "fish")
HOW = (
    'bash: eval "$(elf completion bash)" in ~/.bashrc. '
    "zsh: elf completion zsh >~/.zfunc/_elf, a folder of $fpath, before compinit. "
    "fish: elf completion fish >~/.config/fish/completions/elf.fish."
)


def run(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    import shtab

    from elf.cli.arguments import parser

    root = parser()
    for action in _actions(root):
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(root, options.shell))
    return ExitCode.DONE


def _actions(parser: Parser) -> list[argparse.Action]:
    parser.complete()
    found = list(parser._actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [inner for command in action.choices.values() for inner in _actions(command)]
    return found
