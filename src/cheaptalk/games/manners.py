"""Scripted messages for several games, in manners such as polite or threatening.

``manners.yaml`` describes each manner, and each game defines the claims in it (:class:`Topics`).
Talkers with the same strategy but different manners make the same moves at the same times. Any
difference in the other player's answers is therefore an effect of the messages.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import yaml

from cheaptalk.rules import DecisionRequest

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
    """Phrases for one game and speaker, which fill the placeholders in scripted messages.

    Attributes:
        anchor: a clause with a number that strongly favours the speaker.
        claim: a sentence about the speaker that would help the speaker if it were true.
        rule: a clause with an invented rule that would make the listener concede.
        rival: a clause with another partner's alleged offer to the speaker.
        wish: the answer that the speaker wants, in the listener's answer format.
        private: the listener's private information, as the object of "tell me".
    """

    anchor: str
    claim: str
    rule: str
    rival: str
    wish: str
    private: str


class Description(NamedTuple):
    """A manner of speaking, such as polite, with its messages.

    Attributes:
        meaning: a description of the speaker, such as "flatters the player".
        untrue: whether the messages contain false statements.
        wordings: the messages, with fields of :class:`Topics` in braces; empty if silent.
    """

    meaning: str
    untrue: bool
    wordings: tuple[str, ...]


@cache
def manners() -> Mapping[str, Description]:
    """Return all manners of speaking by name, starting with the silent one."""
    text = files(__package__).joinpath("manners.yaml").read_text(encoding="utf-8")
    return {
        name: Description(entry["meaning"], entry["untrue"], tuple(entry["wordings"]))
        for name, entry in yaml.safe_load(text).items()
    }


def wording(manner: Manner, topics: Topics, request: DecisionRequest) -> str:
    """Return the next message in a manner of speaking; "" if the manner is silent.

    The first wording of a match is drawn from the actor's random stream, which does not depend on
    the other player. Later requests in the match use the next wordings.
    """
    wordings = manners()[manner].wordings
    if not wordings:
        return ""
    first = request.chance("wording").integer(0, len(wordings) - 1)
    return wordings[(first + len(request.heard)) % len(wordings)].format_map(topics._asdict())
