"""Conversations as people have them with an assistant, drawn from many ways of saying things. A seed says which.

The statements are written without looking at what the rules for texts forbid: some name a day as seen from today, some
go on about somebody with a pronoun, some are long.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from elf.families.assistant.turn.extraction import Said

SLOTS: Final = {
    "drink": ("green tea", "black coffee", "oat milk", "ginger ale", "tap water", "decaf espresso"),
    "food": ("peanuts", "shellfish", "gluten", "mushrooms", "cilantro", "blue cheese", "tofu"),
    "city": ("Berlin", "Lisbon", "Kyoto", "Austin", "Nairobi", "Porto Alegre", "Ghent"),
    "firm": ("Acme", "Northwind", "Globex", "the city library", "a small bakery", "St. Mary's Hospital"),
    "job": ("a nurse", "a data analyst", "an electrician", "a piano teacher", "a translator", "a civil engineer"),
    "name": ("Ana", "Bo", "Chidi", "Dmitri", "Eun-ji", "Fatima", "Günther"),
    "person": ("sister", "brother", "wife", "husband", "boss", "neighbour", "daughter", "roommate"),
    "pet": ("dog", "cat", "parrot", "tortoise"),
    "hobby": ("climbing", "chess", "pottery", "birdwatching", "baking bread", "trail running", "old synthesizers"),
    "tool": ("Vim", "Notion", "PostgreSQL", "Terraform", "a paper notebook", "Figma"),
    "lang": ("Spanish", "German", "Portuguese", "French", "Italian"),
    "goal": ("run a marathon", "finish the thesis", "open a café", "learn Rust", "save for a house", "read 20 books"),
    "day": ("Mondays", "Tuesdays", "weekends", "Friday afternoons"),
    "when": ("in 2019", "in March 2024", "last year", "two weeks ago", "in the summer of 2021", "after college"),
    "number": ("2", "3", "12", "40", "1,500"),
}  # fmt: skip
STATEMENTS: Final = (
    "I prefer {drink}.", "I'd rather have {drink} than anything else.", "I love {hobby}.", "I really like {hobby}.",
    "I hate {food}.", "I can't stand {food}.", "I don't like {food} at all.", "I'm allergic to {food}.",
    "I don't eat {food}.", "I live in {city}.", "I'm from {city} originally.", "I moved to {city} {when}.",
    "I work at {firm}.", "I work as {job} for {firm}.", "I'm {job}.", "My name is {name}.", "Please call me {name}.",
    "My {person} is called {name}.", "My {person} lives in {city}.", "My {person} works at {firm}.",
    "I have a {pet} named {name}.", "I have {number} {pet}s.", "My {pet} is {number} years old.",
    "I'm learning {lang}.", "I speak {lang}.", "I want to {goal}.", "I'm planning to {goal} before I turn 40.",
    "My goal is to {goal}.", "I always use {tool} for notes.", "I use {tool} at work.",
    "I usually work from home on {day}.",
    "I never take meetings on {day}.", "My favorite drink is {drink}.", "My favourite hobby is {hobby}.",
    "My birthday is on May {number}.", "I prefer short answers.", "I like detailed explanations.",
    "I studied in {city} {when}.", "I bought a house in {city} {when}.", "I quit smoking {when}.",
    "My {person} hates {food}, so I never cook it.", "My {person} {name} got a job at {firm} and she loves it.",
    "I walk my {pet} every morning before work.", "I live with my {person} {name} in {city}.",
    "I got engaged {when}.", "I need to be at the gym by 7.", "I'm vegetarian.", "I'm married and have {number} kids.",
    "I always take the train because I don't drive.", "We decided to use {tool} for the new project.",
    "Remember that my flight number is LH{number}0.", "I'm afraid of flying.", "I can play the violin.",
    "I grew up on a farm near {city}, get up at five, make {drink}, feed the {pet}, and see what {firm} wants of me.",
)  # fmt: skip
OPENINGS: Final = (
    "Hi!",
    "Hey there,",
    "Good morning.",
    "Okay so,",
    "Thanks, that helps.",
    "By the way,",
    "",
    "",
    "",
)
ASIDES: Final = (
    "Can you help me with that?", "What do you think?", "Anyway.", "Is that normal?", "", "", "Thanks!", "Never mind.",
)  # fmt: skip


def statement(random: Random) -> str:
    """Draw one thing that somebody says of himself."""
    pattern = random.choice(STATEMENTS)
    return pattern.format_map({name: random.choice(values) for name, values in SLOTS.items()})


def chats(seed: int, count: int) -> Iterator[list[Said]]:
    """Draw so many turns of one to three statements."""
    random = Random(seed)
    for _ in range(count):
        told = [statement(random) for _ in range(random.choice((1, 1, 1, 2, 3)))]
        words = [random.choice(OPENINGS), *told, random.choice(ASIDES)]
        yield [
            Said("user", " ".join(word for word in words if word)),
            Said("assistant", "Noted! I will keep that in mind, my friend."),
        ]
