"""`python -m elf` is the command line `elf`."""

import sys

from elf.commands import elf

sys.exit(elf())
