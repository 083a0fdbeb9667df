"""GLEE's human study: main configurations, variants, and random other configurations.

The paper (appendix E.2, Table 7) describes the rule and the counts but not the configurations. Each
family has a main configuration (persuasion has two, for long-living and myopic buyers), all
variants that differ in one parameter, and a random 5 % of all others. People play both roles, but
never a role with a single round. The main configurations are our choice.

The base and bonus pay per hour, 12 hours between games of a family, the code word and the quiz are
the paper's; the average bonuses in cents and one game per visit are its code's.
``human_study.yaml`` contains the configurations and the protocol.
"""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.rules import Chance
from cheaptalk.studies.study import Study
from cheaptalk.yaml_files import read_yaml

SEED = 2025
SHARE = 0.05
"""The share of the other configurations that is drawn."""
CONTENT = read_yaml(Path(__file__).with_suffix(".yaml"))
SCALES = [100, 10_000, 1_000_000]
AVERAGE_CENTS = (5, 15, 25)
"""The bonus for an average game at each scale, which participants know."""
AVERAGE_GAINS = {
    "bargaining": ("money", 0.4),
    "negotiation": ("scale", 0.2),
    "persuasion": ("price", 0.4),
}
"""The parameter that scales a game's amounts, and an average gain, which is our choice: half the
money minus the cost of waiting, half the surplus of the main configuration, and between a half and
a quarter of the price of all products sold."""
MAX_BONUSES = 4
"""The maximum bonus as a multiple of the average bonus; our choice."""
MINUTES = 3.3
"""Paid minutes per game, for the base pay: $2,245 for 3,405 games, at $12 per hour."""
TIMEOUT = 300
"""Timeout of a request in seconds; our choice, because GLEE's code gives 20 minutes per game."""


class StudyFamily(NamedTuple):
    """A family of games in the human study.

    Both discounts are one parameter in ``values``. ``games`` are the numbers of games per main,
    variant and random configuration; ``roles`` says whether people play the first and the second
    role.
    """

    game: str
    main: dict[str, Any]
    values: Mapping[str, list[Any]]
    games: list[int]
    roles: list[bool]


FAMILIES = tuple(StudyFamily(**family) for family in CONTENT["families"])


def variants(family: StudyFamily) -> list[dict[str, Any]]:
    """Return the configurations that differ from the main configuration in one parameter."""
    return [
        family.main | {name: value}
        for name, values in family.values.items()
        for value in values
        if value != family.main[name]
    ]


def other_configurations(family: StudyFamily) -> list[dict[str, Any]]:
    """Return the configurations that differ from the main one in several parameters."""
    combinations = product(*family.values.values())
    cases = [dict(zip(family.values, values, strict=True)) for values in combinations]
    return [case for case in cases if sum(case[name] != family.main[name] for name in case) > 1]


def random_configurations(family: StudyFamily, chance: Chance) -> list[dict[str, Any]]:
    """Return a random 5 % of the configurations that differ in several parameters, rounded down."""
    cases = other_configurations(family)
    stream = chance("random", family.game, str(family.main.get("myopic")))
    return stream.shuffled(cases)[: int(SHARE * len(cases))]


def bonuses() -> list[dict[str, Any]]:
    """Return bonus rates by payoff scale, set so that an average gain earns 5, 15 or 25 cents."""
    return [
        {
            "game": game,
            "when": {parameter: scale},
            "metric": "self_gain_{seat}",
            "rate": round(average / 100 / gain, 4),
            "max": MAX_BONUSES * average / 100,
        }
        for game, (parameter, gain) in AVERAGE_GAINS.items()
        for scale, average in zip(SCALES, AVERAGE_CENTS, strict=True)
    ]


def protocol() -> dict[str, Any]:
    """Return the study protocol: up to 40 visits of one game each, with consent, quiz and pay."""
    pay = {"base": round(6 / 60 * MINUTES, 2), "bonus": bonuses()}
    return {**CONTENT["protocol"], "pay": pay}


def glee_human() -> Study:
    """Return the preset of the human study, with 195 configurations."""
    games = []
    for family in FAMILIES:
        first, second = family.roles
        pairing = [["human", "model"]] * first + [["model", "human"]] * second
        groups = ([family.main], variants(family), random_configurations(family, Chance(str(SEED))))
        games += [
            {"game": family.game, "cases": cases, "instances": count, "pairing": pairing}
            for cases, count in zip(groups, family.games, strict=True)
        ]
    return Study.model_validate(
        {
            "name": "glee-human",
            "description": "People play one game of GLEE per visit, with attention checks.",
            "seed": SEED,
            "games": games,
            "players": {
                "human": {"person": "browser", "deadline": TIMEOUT},
                "model": {"model": "gemini/gemini-1.5-flash"},
            },
            "people": protocol(),
        }
    )
