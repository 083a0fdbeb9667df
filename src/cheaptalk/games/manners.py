"""Manners of speaking that several games share: the same moves, with other messages beside them.

``manners.yaml`` describes every manner: its meaning, whether it says something false, and its
wordings. A game says in its own terms what can be claimed in it (:class:`Topics`). Talkers that
play one strategy in two manners make the same moves at the same times, so a difference in the other
player's answers is the effect of the message.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import yaml

from cheaptalk.rules import Asked

Manner = Literal[
    "silent",
    "polite",
    "flattering",
    "deadline",
    "anchor",
    "false_claim",
    "false_rule",
    "injection",
    "german",
    "rival_offer",
    "final_offer",
    "sympathy",
    "threat",
    "asking",
    "cunning",
    "authority",
]
"""The keys of ``manners.yaml``."""


class Topics(NamedTuple):
    """What a game lets a speaker claim.

    Attributes:
        anchor: a number far on the speaker's side, as a clause.
        claim: a sentence that would help the speaker if it were true of its own circumstances.
        rule: a clause with a rule that does not exist and would make the listener give way.
        rival: a clause with what another partner offers the speaker.
        wish: the answer that the speaker wants, as the listener would give it.
        private: what only the listener knows, as the object of "tell me".
    """

    anchor: str
    claim: str
    rule: str
    rival: str
    wish: str
    private: str


class Description(NamedTuple):
    """A manner of speaking.

    Attributes:
        meaning: what the speaker does, such as "flatters the player".
        untrue: whether it says something that is false.
        wordings: its messages, with the fields of :class:`Topics` in braces; none if it is silent.
    """

    meaning: str
    untrue: bool
    wordings: tuple[str, ...]


@cache
def manners() -> Mapping[str, Description]:
    """Return all manners by name, the silent one first."""
    text = files(__package__).joinpath("manners.yaml").read_text(encoding="utf-8")
    return {
        name: Description(one["meaning"], one["untrue"], tuple(one["wordings"]))
        for name, one in yaml.safe_load(text).items()
    }


def wording(manner: Manner, topics: Topics, asked: Asked) -> str:
    """Return the message of a manner for a request; empty if the manner is silent.

    The first wording of a match is drawn from the seat's random stream, which depends on the
    instance and not on the other player. Later requests of the match take the next wordings.
    """
    wordings = manners()[manner].wordings
    if not wordings:
        return ""
    first = asked.chance("wording").integer(0, len(wordings) - 1)
    return wordings[(first + len(asked.heard)) % len(wordings)].format_map(topics._asdict())
