"""The human study of GLEE: main configurations, their variants, and a random share of the rest.

The paper (appendix E.2, Table 7) names the rule and the counts, not the configurations: a main one
for each family (two for persuasion: long-living and myopic buyers), every configuration that
differs from it in one parameter, and 5 % of the others drawn at random. People play both roles,
but never a seat with a single round to play. The main configurations here are our choice.

Base, average bonuses, one game a visit, 12 hours between games of a family, the code word and the
quiz are the paper's; the choices of ours among them are named where they are made.
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
AVERAGE_CENTS = (5, 15, 25)
"""The bonus of an average game at each of the scales; people are told it."""
AVERAGE_GAINS = {
    "bargaining": ("money", 0.4), "negotiation": ("scale", 0.2), "persuasion": ("price", 0.4),
}  # fmt: skip
"""What scales a game's amounts, and the gain taken for average: our choice, as the paper does not
say how a payoff becomes a bonus. Half the money less what waiting costs, half the surplus of the
main configuration, and between half of all products sold and a quarter of their price."""
MOST = 4
"""No bonus is more than so many average ones: our choice, as prices have no narrow bound."""
MINUTES = 3.3
"""What a game takes, for the base: $2,245 were paid for 3,405 games, at $12 an hour in all."""
PAUSE = 300
"""Seconds for each question: our choice, as the paper gives 20 minutes for a whole game. Nobody
stands in for who is away, lest a program's games count as a person's: the game ends."""
CONSENT = {
    "en": "This is a study of how people bargain, trade and persuade. You play a short game with "
    "money that is not real; your partner is a computer program. Your moves and messages are "
    "recorded without your name and are published for research. You can stop at any time by "
    "closing the page; an unfinished game earns nothing.",
    "de": "In dieser Studie geht es darum, wie Menschen verhandeln, handeln und überzeugen. Sie "
    "spielen ein kurzes Spiel um Geld, das nicht echt ist; Ihr Gegenüber ist ein "
    "Computerprogramm. Ihre Züge und Nachrichten werden ohne Ihren Namen aufgezeichnet und für "
    "die Forschung veröffentlicht. Sie können jederzeit aufhören, indem Sie die Seite schließen; "
    "ein Spiel, das nicht zu Ende ist, bringt nichts ein.",
}
ADULT = {"en": "I am at least 18 years old.", "de": "Ich bin mindestens 18 Jahre alt."}
AGREED = {"en": "I agree to take part.", "de": "Ich möchte teilnehmen."}
PAID = {
    "en": "You now play one game. The better you do in it, the more bonus you earn: on average 5, "
    "15 or 25 cents, where the game is about $100, $10,000 or $1,000,000. Read its rules with "
    "care. Afterwards you are asked about them, and only who answers rightly is paid.",
    "de": "Sie spielen jetzt ein Spiel. Je besser Sie abschneiden, desto höher ist Ihr Bonus: im "
    "Mittel 5, 15 oder 25 Cent, wenn es um 100, 10.000 oder 1.000.000 Dollar geht. Lesen Sie die "
    "Regeln genau. Danach werden Sie nach ihnen gefragt, und nur wer richtig antwortet, wird "
    "bezahlt.",
}
DEBRIEF = {
    "en": "Thank you. Your partner was a language model. You can come again for another game; "
    "between two games of one kind 12 hours must pass.",
    "de": "Vielen Dank. Ihr Gegenüber war ein Sprachmodell. Sie können für ein weiteres Spiel "
    "wiederkommen; zwischen zwei Spielen einer Art müssen 12 Stunden liegen.",
}


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


def bonuses() -> list[dict[str, Any]]:
    """What a game earns at each scale: so much for each unit of the person's gain that an average
    one earns 5, 15 or 25 cents.
    """
    return [
        {
            "game": game,
            "when": {parameter: scale},
            "measure": "{place}_gain",
            "rate": round(average / 100 / gain, 4),
            "most": MOST * average / 100,
        }
        for game, (parameter, gain) in AVERAGE_GAINS.items()
        for scale, average in zip(SCALES, AVERAGE_CENTS, strict=True)
    ]


def protocol() -> dict[str, Any]:
    """What people go through and are paid: one game a visit, up to 40 visits."""
    return {
        "title": {"en": "A game with a partner", "de": "Ein Spiel zu zweit"},
        "recruitment": {"source": "mturk"},
        "limits": {"visits": 40, "games": 40, "hours": 12},
        "path": [
            {"consent": {"text": CONSENT, "statements": [ADULT, AGREED]}},
            "first_name",
            {
                "games": {
                    "most": 1,
                    "before": [
                        {"instructions": {"pages": [PAID], "game": True, "code_word": "sdkot"}}
                    ],
                    "after": [{"quiz": {"erase": True}}],
                }
            },
            {"debrief": {"text": DEBRIEF, "once": False}},
        ],
        "pay": {"base": round(6 / 60 * MINUTES, 2), "bonus": bonuses()},
        "codes": {"failed_attention": ""},  # who fails a check gets none, and is not paid
    }


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
            "description": "People play a game of GLEE a visit with a model: code word, quiz, pay.",
            "seed": SEED,
            "games": games,
            "players": {
                "human": {"person": "browser", "deadline": PAUSE},
                "model": {"model": "gemini/gemini-1.5-flash"},
            },
            "people": protocol(),
        }
    )
