"""Units of measure and of money, each as a base and how many of the base one of it is.

Only conversions that hold everywhere are here: a week is seven days, but a month is no number of days, and whether a
kilobyte has 1000 bytes depends on who says it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final, NamedTuple

from elf.core.wording.tokens import CAPITAL, CAPITALS, Token


class Unit(NamedTuple):
    """How many (`size`) of which base."""

    base: str
    size: Decimal


def _table(*lines: str) -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for line in lines:
        base, size, *spellings = line.split()
        units.update(dict.fromkeys(spellings, Unit(base, Decimal(size))))
    return units


# Symbols count as they are capitalised: MB are bytes, Mb are bits, and mb is either.
_SYMBOLS: Final = _table(
    "ms 1 ms msec",
    "ms 1000 s sec secs",
    "ms 60000 min mins",
    "ms 3600000 h hr hrs",
    "ms 604800000 wk wks",
    "month 12 yr yrs",
    "mm 1 mm",
    "mm 10 cm",
    "mm 1000000 km",
    "mile 1 mi",
    "foot 1 ft",
    "mg 1 mg",
    "mg 1000 g",
    "mg 1000000 kg",
    "lb 1 lb lbs",
    "ml 1 ml",
    "ml 1000 l L",
    "KB 1 KB kB",
    "MB 1 MB",
    "GB 1 GB",
    "TB 1 TB",
    "PB 1 PB",
    "KiB 1 KiB",
    "MiB 1 MiB",
    "GiB 1 GiB",
    "TiB 1 TiB",
    "Hz 1 Hz",
    "kHz 1 kHz",
    "MHz 1 MHz",
    "GHz 1 GHz",
    "W 1 W",
    "kW 1 kW",
    "kWh 1 kWh",
    "px 1 px",
    "% 1 %",
    "celsius 1 \N{DEGREE SIGN}C",
    "fahrenheit 1 \N{DEGREE SIGN}F",
    "euro 1 EUR \N{EURO SIGN}",
    "sterling 1 GBP",
    *(f"{code} 1 {code}" for code in "USD CHF JPY SEK NOK DKK CAD AUD INR CNY PLN".split()),
)

_NAMES: Final = _table(
    "ms 1 millisecond milliseconds",
    "ms 1000 second seconds",
    "ms 60000 minute minutes",
    "ms 3600000 hour hours",
    "ms 86400000 day days",
    "ms 604800000 week weeks",
    "month 1 month months",
    "month 12 year years",
    "mm 1 millimeter millimeters",
    "mm 10 centimeter centimeters",
    "mm 1000 meter meters",
    "mm 1000000 kilometer kilometers",
    "mile 1 mile miles",
    "foot 1 foot feet",
    "inch 1 inch inches",
    "mg 1 milligram milligrams",
    "mg 1000 gram grams",
    "mg 1000000 kilogram kilograms kilo kilos",
    "pound 1 pound pounds",
    "ml 1 milliliter milliliters",
    "ml 1000 liter liters",
    "bit 1 bit bits",
    "byte 1 byte bytes",
    "KB 1 kilobyte kilobytes",
    "MB 1 megabyte megabytes",
    "GB 1 gigabyte gigabytes",
    "TB 1 terabyte terabytes",
    "% 1 percent",
    "px 1 pixel pixels",
    "hertz 1 hertz",
    "dollar 1 dollar dollars",
    "euro 1 euro euros",
)

MONEY_SIGNS: Final = {
    "$": Unit("dollar", Decimal(1)), "\N{EURO SIGN}": Unit("euro", Decimal(1)),
    "\N{POUND SIGN}": Unit("sterling", Decimal(1)),
}  # fmt: skip
MONEY_CODES: Final = frozenset(
    {"eur", "gbp", "usd", "chf", "jpy", "sek", "nok", "dkk", "cad", "aud", "inr", "cny", "pln"}
)

# What is counted by, as in "twice a day".
SPANS: Final = frozenset({"second", "minute", "hour", "day", "night", "week", "month", "quarter", "year"})


def unit_of(token: Token) -> Unit | None:
    """Return the unit that a token after a number stands for, or None."""
    return _SYMBOLS.get(_as_written(token)) or (_NAMES.get(token.key) if token.is_common else None)


def unit_spelled(text: str) -> Unit | None:
    """Return the unit that is written so, or None."""
    return _SYMBOLS.get(text) or _NAMES.get(text)


def _as_written(token: Token) -> str:
    if token.case == CAPITALS:
        return token.key.upper()
    return token.key.capitalize() if token.case == CAPITAL else token.key
