"""`python -m elf` is the command line `elf`."""

import sys

from elf.cli import main

sys.exit(main())
