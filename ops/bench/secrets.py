#!/usr/bin/env python3
"""How fast texts are scanned for secrets, and that twice the text never takes much more than twice the time.

    python -m ops.bench.secrets [--longest 1048576] [--hostile] [--every 1]

Prints, for ordinary texts of 16 KiB and of the longest length, milliseconds and MB/s. With --hostile it then doubles
every hostile text up to the longest length and prints the steepest and the slowest; it exits with 1 when one takes
more than 2.5 times as long at the last doubling. That takes about half an hour of CPU time; with `--longest 65536
--every 16` it measures every sixteenth text in about a minute. Times are of the CPU, the least of a few runs, so that
other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "unit"))

from data.hostile_texts import FILLERS, TAIL_FILLERS, TAILED, UNITS, marks, ordinary, repeated, tail

from elf.core.secrets import find_secrets, redact

MOST = 2.5
RUNS = (1, 3, 7)
SHORT = 16 << 10
SHOWN = 10
CHAINS = ("password: a1b2c3 d4e5f6 ", "a1b2c3 [REDACTED:pin] ", "password: [REDACTED:x] a1b2c3 ")


Scan = Callable[[str], object]


def spent(text: str, runs: int, scan: Scan = find_secrets) -> float:
    """Return the CPU seconds of the fastest scan."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        scan(text)
        times.append(time.process_time() - began)
    return min(times)


def hostile() -> Iterator[tuple[str, Callable[[int], str], Scan]]:
    """Yield the name of each text, what makes it of a length, and what scans it."""
    for unit in dict.fromkeys((*UNITS, *FILLERS, *marks())):
        yield repr(unit), lambda length, unit=unit: repeated(unit, length), find_secrets
    for start in TAILED:
        for filler in TAIL_FILLERS:
            name = f"{start!r} {filler!r}..."
            yield name, lambda length, pair=(start, filler): tail(*pair, length), find_secrets
    for unit in (*CHAINS, *ordinary().values()):
        yield f"redact {unit[:30]!r}", lambda length, unit=unit: repeated(unit, length), redact


def growth(make: Callable[[int], str], length: int, scan: Scan) -> tuple[float, float]:
    """Return the ratio of the times at a length and at half of it, the least of a few, and the seconds."""
    ratio, seconds = float("inf"), float("inf")
    for runs in RUNS:
        half, full = spent(make(length // 2), runs, scan), spent(make(length), runs, scan)
        ratio, seconds = min(ratio, full / half), min(seconds, full)
        if ratio <= MOST:
            break
    return ratio, seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--longest", type=int, default=1 << 20, help="characters of the longest text")
    parser.add_argument("--hostile", action="store_true", help="measure the growth for hostile texts, too")
    parser.add_argument("--every", type=int, default=1, help="measure every Nth hostile text")
    args = parser.parse_args()
    for name, text in ordinary().items():
        short, long = (spent(repeated(text, length), 5) for length in (SHORT, args.longest))
        print(f"{name:22} {SHORT >> 10} KiB {short * 1e3:6.1f} ms   {args.longest / long / 1e6:5.2f} MB/s")
    if not args.hostile:
        return 0
    measured = [
        (*growth(make, args.longest, scan), name) for name, make, scan in list(hostile())[:: args.every]
    ]
    for title, place in (("steepest", 0), ("slowest", 1)):
        print(title)
        for ratio, seconds, name in sorted(measured, key=lambda one: -one[place])[:SHOWN]:
            print(f"  {name:50} {ratio:5.2f} times   {seconds:6.2f} s")
    return int(any(ratio > MOST for ratio, _, _ in measured))


if __name__ == "__main__":
    sys.exit(main())
