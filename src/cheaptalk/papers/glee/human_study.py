"""The human study of GLEE: main configurations, their variants, and a random share of the rest.

The paper (appendix E.2, Table 7) names the rule and the counts, not the configurations: a main one
for each family (two for persuasion: long-living and myopic buyers), every configuration that
differs from it in one parameter, and 5 % of the others drawn at random. People play both roles,
but never a seat with a single round to play. The main configurations here are our choice.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

from cheaptalk.rules import Chance
from cheaptalk.studies.study import Study

SEED = 2025
SHARE = 0.05
"""The share of the other configurations that is drawn."""
ParameterValues = Mapping[str, list[Any]]
FACTORS = [0.8, 1.0, 1.2, 1.5]
RATES = [0.8, 0.9, 0.95, 1.0]
SCALES = [100, 10_000, 1_000_000]
LONG = {"rounds": 99, "hidden": True}


class StudyFamily(NamedTuple):
    """A family of games as people play it.

    Attributes:
        game: the game's name.
        main: the main configuration.
        values: what each parameter varies over; both discounts count as one.
        games: how many games of each configuration: main, variants, random.
        roles: the seats that people take: first, second.
    """

    game: str
    main: dict[str, Any]
    values: ParameterValues
    games: tuple[int, int, int]
    roles: tuple[bool, bool] = (True, True)


FAMILIES = (
    StudyFamily(
        "bargaining",
        {
            "discounts": [0.9, 0.9], "money": 10_000, "horizon": LONG,
            "complete_information": True, "messages": True,
        },
        {
            "discounts": [list(pair) for pair in product(RATES, RATES)],
            "money": SCALES,
            "horizon": [12, LONG],
            "complete_information": [True, False],
            "messages": [True, False],
        },
        (50, 25, 15),
    ),
    StudyFamily(
        "negotiation",
        {
            "seller_factor": 0.8, "buyer_factor": 1.2, "scale": 10_000, "horizon": 10,
            "complete_information": True, "messages": True,
        },
        {
            "seller_factor": FACTORS,
            "buyer_factor": FACTORS,
            "scale": SCALES,
            "horizon": [10, {"rounds": 30, "hidden": True}],
            "complete_information": [True, False],
            "messages": [True, False],
        },
        (50, 25, 15),
    ),
    *(
        StudyFamily(
            "persuasion",
            {
                "prior": 0.5, "value": 2, "price": 10_000, "seller_knows_values": True,
                "signal": "text", "myopic": myopic,
            },
            {
                "prior": [1 / 3, 0.5, 0.8],
                "value": [1.2, 1.25, 2, 3, 4],
                "price": SCALES,
                "seller_knows_values": [True, False],
                "signal": ["binary", "text"],
                "myopic": [myopic],
            },
            (30, 8, 5),
            (True, not myopic),
        )
        for myopic in (False, True)
    ),
)  # fmt: skip


def variants(family: StudyFamily) -> list[dict[str, Any]]:
    """The configurations that differ from the main one in one parameter."""
    return [
        family.main | {name: value}
        for name, values in family.values.items()
        for value in values
        if value != family.main[name]
    ]


def others(family: StudyFamily) -> list[dict[str, Any]]:
    """The configurations that differ from the main one in more than one parameter."""
    combinations = product(*family.values.values())
    cases = [dict(zip(family.values, chosen, strict=True)) for chosen in combinations]
    return [case for case in cases if sum(case[name] != family.main[name] for name in case) > 1]


def drawn(family: StudyFamily, chance: Chance) -> list[dict[str, Any]]:
    """The random configurations: 5 % of the others, rounded down."""
    rest = others(family)
    place = chance("random", family.game, str(family.main.get("myopic")))
    return place.shuffled(rest)[: int(SHARE * len(rest))]


def glee_human() -> Study:
    """The human study: 195 configurations with a role for a person in each."""
    games = []
    for family in FAMILIES:
        first, second = family.roles
        pairing = [["human", "model"]] * first + [["model", "human"]] * second
        groups = ([family.main], variants(family), drawn(family, Chance(str(SEED))))
        for cases, count in zip(groups, family.games, strict=True):
            games.append({"game": family.game, "cases": cases, "deals": count, "pairing": pairing})
    return Study.model_validate(
        {
            "name": "glee-human",
            "description": "People against one model by the rule of GLEE appendix E.2.",
            "seed": SEED,
            "games": games,
            "players": {
                "human": {"person": "terminal"},
                "model": {"model": "gemini/gemini-1.5-flash"},
            },
        }
    )
