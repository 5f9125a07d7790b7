"""Everything that can be asked of the graph."""

from __future__ import annotations

from typing import Final

from elf.families.graph.api.erasing import ERASE
from elf.families.graph.api.ingesting import INGESTING
from elf.families.graph.api.listing import LISTING
from elf.families.graph.api.overseeing import ORCHESTRATORS
from elf.families.graph.api.recalling import FINDING
from elf.families.graph.api.recovering import RECOVER
from elf.families.graph.api.sharing import SHARE
from elf.families.graph.api.status import STATUS
from elf.families.graph.api.transferring import TRANSFERRING
from elf.families.graph.api.writing import WRITING
from elf.families.graph.api.writing_back import WRITING_BACK

OPERATIONS: Final = (*WRITING, *LISTING, *FINDING, *WRITING_BACK, *INGESTING, STATUS)
ADMIN_OPERATIONS: Final = (ORCHESTRATORS, SHARE, ERASE, RECOVER, *TRANSFERRING)
