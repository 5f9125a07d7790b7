"""Labels of a text, such as "Translation:" and "Final answer:", which stand where the name of a speaker may stand."""

from __future__ import annotations

from typing import Final

_WORDS: Final = """
    abstract action actions address agenda aim alternative analysis announcement answer answers appendix
    approach article assumption assumptions attachment attention background bcc benefits bio body bonus budget
    bullet caption caution cc change changes chapter checklist clarification code command comment comments
    comparison conclusion condition content contents context correction cost costs date deadline decision
    default definition demo description detail details diagnosis disclaimer discussion draft edit email english
    essay evidence example examples excerpt exercise expected explanation fact facts feedback figure file
    finding findings fix followup format formula french from fwd german goal goals guess heading headline hint
    history hypothesis idea ideas important improvement info information ingredients input instruction
    instructions intro introduction issue issues italian item items joke key keyword keywords language legend
    lesson letter limitation limitations line link list location log lyrics main meaning meeting memo message
    metadata method motto name news note notes notice objective observation observations opinion option options
    original outcome outline output overview paragraph paraphrase part passage password plan plot poem point
    points portuguese post premise preview priority pro problem procedure profile prompt proof proposal pros ps
    purpose question questions quote quotes ratio rationale re reason reasoning reasons recap recipe
    recommendation recommendations record reference references remark reminder reply report request requirement
    requirements response result results resume review revision rewrite rewritten risk risks role rule rules
    sample scenario schedule scope script section sender sentence sentences setup sign-off signature situation
    solution source sources spanish spoiler statement statements status step steps story strategy subject
    suggestion suggestions summary synopsis table tag tags task tasks template terms test text thanks theme
    thesis tip tips title tldr to todo topic topics transcript translated translation translations trivia type
    update updates usage use value variant verdict verse version warning website word wording words works
"""
_LABELS: Final = frozenset(_WORDS.split())


def is_label(name: str) -> bool:
    """Tell whether what stands before a colon, in up to a few words, names a part of a text, and nobody who speaks."""
    words = name.casefold().split()
    return any(word in _LABELS for word in (words[0], words[-1]))
