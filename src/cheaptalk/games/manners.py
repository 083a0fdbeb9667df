"""Scripted messages for several games, in manners such as polite or threatening.

``manners.yaml`` describes each manner, and each game defines the claims in it (:class:`Topics`).
Talkers with the same strategy but different manners make the same moves at the same times. Any
difference in the other player's answers is therefore an effect of the messages.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from inspect import Parameter, Signature
from typing import Any, Literal, NamedTuple

import yaml

from cheaptalk.rules import Action, DecisionRequest, Strategy, by_name, strategy

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


class Choice(NamedTuple):
    """A setting of a talker that names the strategy for some roles.

    Attributes:
        strategies: the possible strategies, which ignore messages.
        decides: what the strategy determines, such as "offers and answers".
    """

    strategies: Sequence[Strategy]
    default: str
    decides: str


ABOUT = """Play {} with default settings, and add messages in a manner such as polite.

    Talkers with different manners make the same moves against the same moves, so any difference is
    an effect of the messages (:mod:`~cheaptalk.games.manners`).

    Args:
        {}
        repeat: distinguishes identical talkers in repeated matches; not used otherwise.
    """
"""The description of a talker."""


def talker_of(
    topics: Callable[[DecisionRequest], Topics],
    *,
    replaces: bool = False,
    silent: str | None = None,
    **choices: Choice,
) -> Strategy:
    """Return the strategy ``talker`` of a game, which adds messages to another strategy's moves.

    Args:
        topics: returns the speaker's phrases at a decision request.
        replaces: whether messages replace those of the other strategy, instead of following them.
        silent: the beginning of messages to which the talker adds nothing.
        choices: the settings that name the other strategies.
    """
    tactics = {setting: by_name(choice.strategies) for setting, choice in choices.items()}
    by_role = {
        role: name for name, choice in choices.items() for role in choice.strategies[0].roles
    }

    def talker(request: DecisionRequest, *, manner: Manner = "polite", **chosen: Any) -> Action:
        setting = by_role[request.actor.partition("_")[0]]
        name = chosen.get(setting, choices[setting].default)
        action: Action = tactics[setting][name](request)
        spoken: str | None = getattr(action, "message", None)
        if spoken is None or (silent is not None and spoken.startswith(silent)):
            return action
        message = wording(manner, topics(request), request)
        if not replaces:
            message = f"{spoken} {message}".strip()
        return action.model_copy(update={"message": message})

    kinds: dict[str, tuple[Any, Any]] = {"manner": (Manner, "polite")}
    for name, choice in choices.items():
        kinds[name] = Literal[tuple(tactics[name])], choice.default
    kinds["repeat"] = int, 0
    vars(talker)["__signature__"] = Signature(
        [
            Parameter("request", Parameter.POSITIONAL_ONLY, annotation=DecisionRequest),
            *(
                Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
                for name, (kind, default) in kinds.items()
            ),
        ]
    )
    settings = "\n        ".join(
        f"{name}: the strategy that determines {choice.decides}."
        for name, choice in choices.items()
    )
    played = "another strategy" if len(choices) == 1 else "other strategies"
    talker.__doc__ = ABOUT.format(played, settings)
    return strategy(*by_role)(talker)
