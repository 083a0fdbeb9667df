"""Messages of scripted talkers that several games share.

``manners.yaml`` gives for each manner its meaning, its wordings, and whether it states something
false. A game defines what can be claimed in it (:class:`Topics`). Talkers with the same strategy
but different manners make the same moves at the same times, so any difference in the other player's
answers is the effect of the messages.
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
    """Game-specific claims of a speaker.

    Attributes:
        anchor: a clause with a number that strongly favours the speaker.
        claim: a sentence about the speaker that would help it if it were true.
        rule: a clause with an invented rule that would make the listener yield.
        rival: a clause with another partner's alleged offer to the speaker.
        wish: the answer that the speaker wants, as the listener would give it.
        private: the listener's private information, as the object of "tell me".
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
        untrue: whether it states something false.
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
        name: Description(entry["meaning"], entry["untrue"], tuple(entry["wordings"]))
        for name, entry in yaml.safe_load(text).items()
    }


def wording(manner: Manner, topics: Topics, request: DecisionRequest) -> str:
    """Return the message of a manner for a request; empty if the manner is silent.

    The first wording of a match is drawn from the actor's random stream, which depends on the
    instance and not on the other player. Later requests of the match use the next wordings.
    """
    wordings = manners()[manner].wordings
    if not wordings:
        return ""
    first = request.chance("wording").integer(0, len(wordings) - 1)
    return wordings[(first + len(request.heard)) % len(wordings)].format_map(topics._asdict())
