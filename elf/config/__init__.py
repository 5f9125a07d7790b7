"""The config file: models, cross-table rules and loading."""

from elf.config.load import load, loads
from elf.config.model import Config

__all__ = ["Config", "load", "loads"]
