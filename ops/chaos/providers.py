"""Let an embedding model misbehave in every way there is, and prove that the service loses nothing by it.

    python -m ops.chaos.providers [--rounds 3] [--seed 1] [--folder DIR] [--way NAME ...]

In each round every way of tests/system/misbehaviour.py comes once, in an order of its own. While it lasts, notes are
written that resemble nothing; each must be acknowledged as a new note. Then the model is well again, and each note must
be listed as it was written, be indexed, and be found by its own text. Prints for each way how long that took at most
and by how much the service's memory grew at most; exits with 1 at the first thing that should not be.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.system.fake_model import point_embedding
from tests.system.misbehaviour import WAYS, embeds, running_model
from tests.system.service import RunningService, write_config
from tests.system.siege import Siege

TIMEOUT_MS = 400
GREATEST_GROWTH_MB = 64.0


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        try:
            _run(Path(folder), options.way or list(WAYS), options.rounds, random.Random(options.seed))
        except AssertionError as fault:
            print(f"FAULT {fault}", file=sys.stderr)
            return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ops.chaos.providers", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each way comes (3)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in which the ways come (1)")
    parser.add_argument("--folder", type=Path, help="where the service keeps its data meanwhile")
    parser.add_argument(
        "--way", action="append", choices=sorted(WAYS), help="only this way; may be given again"
    )
    return parser


def _run(folder: Path, ways: list[str], rounds: int, rng: random.Random) -> None:
    config = write_config(folder)
    slowest_s, growth_mb = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
    with running_model(embeds) as model:
        point_embedding(config, model.api_base, timeout_ms=TIMEOUT_MS)
        with RunningService(config) as service:
            siege = Siege(service, model)
            for number in range(1, rounds + 1):
                for way in rng.sample(ways, len(ways)):
                    began = time.monotonic()
                    siege.endure(way)
                    slowest_s[way] = max(slowest_s[way], time.monotonic() - began)
                    growth_mb[way] = max(growth_mb[way], siege.growth_mb)
                    assert growth_mb[way] < GREATEST_GROWTH_MB, f"{way}: {growth_mb[way]:.0f} MB more"
                print(f"round {number}: {len(ways)} ways, {siege.notes} notes so far, none lost", flush=True)
            assert service.complaints() == [], service.complaints()
    for way in ways:
        print(f"{way:<36} {slowest_s[way]:6.1f} s {growth_mb[way]:6.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
