"""British spellings, written the American way."""

from __future__ import annotations

import re
from typing import Final

from elf.core.text_cache import text_cache

_IZED: Final = re.compile(
    r"((?:re|un|de|in)?(?:organ|real|optim|normal|serial|initial|synchron|author|summar|priorit|custom|recogn|util|"
    r"categor|capital|visual|standard|minim|maxim|central|container|virtual|token|local|personal|special|apolog|final|"
    r"stabil|modern|anonym|random|general|memor|material|mobil|jeopard|emphas|critic|familiar))is"
    r"(e|es|ed|er|ers|ing|ation|ations)"
)
_YZED: Final = re.compile(r"(anal|paral|catal)ys(e|ed|ing)")
_OR: Final = re.compile(r"((?:dis)?(?:col|fav|behavi|flav|lab|neighb|harb|hon|hum|rum|vap|end?eav))our(\w*)")
_SINGLE_L: Final = re.compile(
    r"(travel|cancel|label|model|signal|level|fuel|tunnel|channel|total|dial|counsel)l(ed|ing|er|ers)"
)
_WORDS: Final[dict[str, str]] = dict(
    pair.split("/")
    for pair in """
    centre/center centres/centers centred/centered metre/meter metres/meters kilometre/kilometer
    kilometres/kilometers centimetre/centimeter centimetres/centimeters millimetre/millimeter millimetres/millimeters
    litre/liter litres/liters millilitre/milliliter millilitres/milliliters theatre/theater theatres/theaters
    fibre/fiber fibres/fibers catalogue/catalog catalogues/catalogs dialogue/dialog dialogues/dialogs
    programme/program programmes/programs grey/gray licence/license licences/licenses defence/defense offence/offense
    practise/practice practised/practiced jewellery/jewelry judgement/judgment acknowledgement/acknowledgment
    ageing/aging enrol/enroll fulfil/fulfill skilful/skillful whilst/while amongst/among towards/toward
    learnt/learned spelt/spelled dreamt/dreamed mum/mom aeroplane/airplane moustache/mustache pyjamas/pajamas
    yoghurt/yogurt maths/math sceptical/skeptical plough/plow kerb/curb artefact/artifact artefacts/artifacts
    """.split()
)


@text_cache(max_texts=4096, max_chars=40)
def american(word: str) -> str:
    """Return a lower-case word in American spelling; any other word as it is."""
    if word in _WORDS:
        return _WORDS[word]
    if ized := _IZED.fullmatch(word):
        return f"{ized[1]}iz{ized[2]}"
    if yzed := _YZED.fullmatch(word):
        return f"{yzed[1]}yz{yzed[2]}"
    if single := _SINGLE_L.fullmatch(word):
        return f"{single[1]}{single[2]}"
    with_or = _OR.fullmatch(word)
    return word if with_or is None else f"{with_or[1]}or{with_or[2]}"
