"""Ordinary sentences: hand-picked ones that come close to a secret, and many made from patterns with a fixed seed."""

from __future__ import annotations

import string
from pathlib import Path
from random import Random
from typing import Final

PICKED: Final = Path(__file__).with_name("ordinary_sentences.txt")
HEX: Final = string.digits + "abcdef"

WORDS: Final = {
    "name": [
        "Alice",
        "Bob",
        "Carla",
        "Dana",
        "Emil",
        "Fatima",
        "Goran",
        "Hana",
        "Ines",
        "Jonas",
        "Kofi",
        "Lena",
        "Mehmet",
        "Nadia",
        "Olga",
        "Pavel",
    ],
    "thing": [
        "bicycle",
        "invoice",
        "printer",
        "sofa",
        "ticket",
        "laptop",
        "camera",
        "kettle",
        "tent",
        "violin",
        "router",
        "parcel",
    ],
    "service": [
        "billing",
        "search",
        "login",
        "mail",
        "report",
        "backup",
        "import",
        "checkout",
        "profile",
        "audit",
    ],
    "city": ["Lisbon", "Porto", "Boston", "Oslo", "Nairobi", "Kyoto", "Quito", "Graz", "Tampere", "Leeds"],
    "colour": ["red", "green", "blue", "grey", "yellow", "purple"],
    "day": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "month": ["January", "March", "April", "June", "August", "October", "December"],
    "unit": ["ms", "seconds", "MB", "tokens", "requests", "rows", "euros", "kilometres", "pages"],
    "secret": ["password", "token", "key", "secret", "passphrase", "PIN", "credential"],
    "domain": ["example.com", "example.org", "wiki.example.net"],
}

# `#` is a digit, `%` a hexadecimal one, {word} one of WORDS.
PATTERNS: Final = (
    "{name} paid ### euros for the {colour} {thing} on {day}.",
    "Order ######## of {name} ships on {day} from {city}.",
    "{name}'s phone number is +1 ###-555-01##.",
    "Call {name} at (###) 555-01## before #:30 pm.",
    "Write to {name}@{domain} about the {thing}.",
    "The {service} service answers in ## ms at the median and ### ms at p99.",
    "Deployed {service} ##.#.## to {city} on 20##-0#-1#.",
    "Commit %%%%%%%% fixed the {service} page for {name}.",
    "The build of %%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%% took ### seconds.",
    "Request %%%%%%%%-%%%%-4%%%-a%%%-%%%%%%%%%%%% failed with status 50#.",
    "The {service} host is 10.#.##.## and listens on port 8###.",
    "Preference: {name} wants at most # {unit} a day.",
    "Decision: the {service} service uses ## {unit} from {month} 20##.",
    "Fact: {name} moved from {city} to {city} in 19##.",
    "Plan: visit {city} in {month} 20## with {name}.",
    "{name} ran ##.# kilometres in #:##:1# on {day}.",
    "The limit is #### {unit} per {secret}.",
    "A {secret} must be rotated every ## days.",
    "{name} forgot the {secret} and asked for a new one on {day}.",
    "The {secret} of the {service} service is kept in the vault.",
    "Each {secret} has at least ## characters.",
    "Flight LH ### to {city} leaves at 1#:## from gate B##.",
    "Ticket ELF-#### is about the {service} page.",
    "See https://{domain}/{service}/20##/##/page-### for the {thing}.",
    "The {thing} weighs #.## kg and costs ##.99 dollars.",
    "{name} lives in {city} and works from home on {day}.",
    "The meeting with {name} is on {day}, 1# {month} at 1#:30.",
    "About ### people came to {city} for the {colour} {thing}.",
    "Version #.##.# of the {service} client needs Python 3.1#.",
    "ISBN 978-3-16-14####-# is a book about a {colour} {thing}.",
    "The sensor at 5#.####, 1#.#### reported ##.# degrees.",
    "Chapter ## tells how {name} lost a {thing} in {city}.",
    "{service}_timeout_ms = ####",
    "{name}: I'll bring the {thing} on {day}, see you at #!",
    "The {service} table has ###,###,### rows and ## indexes.",
)


def ordinary_sentences(count: int, *, seed: int = 1) -> list[str]:
    """Return `count` different sentences without a secret: the picked ones first, then made ones."""
    rng = Random(seed)
    sentences = dict.fromkeys(PICKED.read_text(encoding="utf-8").splitlines())
    while len(sentences) < count:
        sentences[_made(rng)] = None
    return list(sentences)[:count]


def _made(rng: Random) -> str:
    sentence = rng.choice(PATTERNS)
    for word, choices in WORDS.items():
        while f"{{{word}}}" in sentence:
            sentence = sentence.replace(f"{{{word}}}", rng.choice(choices), 1)
    filled = (_filled(char, rng) for char in sentence)
    return "".join(filled)


def _filled(char: str, rng: Random) -> str:
    if char == "#":
        return rng.choice(string.digits)
    return rng.choice(HEX) if char == "%" else char
