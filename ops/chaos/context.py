#!/usr/bin/env python3
"""Ask for contexts of a memory full of crafted texts, under random budgets; prove that each is as it has to be.

    python -m ops.chaos.context [--contexts 1000] [--texts 60] [--seed 1]

All five families keep texts that would like to be more than text in a prompt. Each context is asked for twice: it is
within its budget, counted here by the packaged tokenizer, the same byte for byte, of the form that pages have, and all
that it cites is read by its address. Exits with 1 at the first one that is not so.
"""

from __future__ import annotations

import argparse
import sys
from random import Random

from elf.config import load
from elf.providers.tokens import HfTokens
from tests.crafted_memory import crafted_memory
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config


def main() -> int:
    """Keep texts, ask, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--contexts", type=int, default=1000, help="how many are asked for (1000)")
    parser.add_argument("--texts", type=int, default=60, help="how many each family is given (60)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = Random(options.seed)
    with fresh_folder() as folder, RunningService(write_config(folder)) as service:
        config = load(service.config)
        counter = HfTokens.open(
            config.chunking.tokenizer_repo, config.providers.embedding, config.local_model
        )
        with crafted_memory(service.url, f"user-{options.seed}", counter, rng) as memory:
            memory.keep(options.texts)
            print(f"kept {dict(memory.kept)}, refused {dict(memory.refused)}")
            memory.settle()
            for number in range(options.contexts):
                if faults := memory.faults():
                    print(f"FAULT in context {number}: " + "\n".join(faults), file=sys.stderr)
                    return 1
    cited = dict(sorted(memory.cited.items()))
    print(f"{options.contexts} contexts, twice each: none beyond its budget, none that differed")
    print(f"{memory.cited.total()} citations, all resolve: {cited}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
