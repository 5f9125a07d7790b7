"""What is said where the packages of the service are missing."""

from __future__ import annotations

import importlib

import pytest

from elf.core.errors import StartupError
from elf.core.service_extra import needing_service


def test_a_package_that_is_missing_is_named_with_what_to_install() -> None:
    wanted = r"^elf-api needs the service, and numpie is not installed: pip install 'elf-memory\[service\]'$"
    with pytest.raises(StartupError, match=wanted), needing_service("elf-api"):
        importlib.import_module("numpie.linalg")


@pytest.mark.parametrize("module", ["elf.no_such", "actors.no_such"])
def test_a_module_of_elf_that_is_missing_is_a_fault_of_elf(module: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=module), needing_service("elf-api"):
        importlib.import_module(module)


def test_other_errors_of_an_import_are_left_as_they_are() -> None:
    with pytest.raises(ImportError, match="cannot import"), needing_service("elf-api"):
        raise ImportError("cannot import")
