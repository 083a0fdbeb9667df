"""GLEE's human study: main configurations, variants, and random other configurations.

The paper (appendix E.2, Table 7) describes the rule and the counts but not the configurations. Each
family has a main configuration (persuasion has two, for long-living and myopic buyers), all
variants that differ in one parameter, and a random 5 % of all others. People play both roles, but
never a role with a single round. The main configurations are our choice.

The base pay, average bonuses, one game per visit, 12 hours between games of a family, the code word
and the quiz are the paper's.
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
"""Timeout of a request in seconds; our choice, because the paper gives 20 minutes per game."""
CONSENT = {
    "en": "This study examines how people bargain, trade and persuade. You play a short game for "
    "imaginary money with a computer program. Your moves and messages are recorded without your "
    "name and published for research. You can stop at any time by closing the page. You are not "
    "paid for a game that you do not finish.",
    "de": "Diese Studie untersucht, wie Menschen verhandeln, handeln und überzeugen. Sie spielen "
    "ein kurzes Spiel um fiktives Geld mit einem Computerprogramm. Ihre Züge und Nachrichten "
    "werden ohne Ihren Namen aufgezeichnet und für die Forschung veröffentlicht. Sie können die "
    "Teilnahme jederzeit abbrechen, indem Sie die Seite schließen. Für ein Spiel, das Sie nicht "
    "zu Ende spielen, erhalten Sie keine Bezahlung.",
}
ADULT = {"en": "I am at least 18 years old.", "de": "Ich bin mindestens 18 Jahre alt."}
AGREED = {"en": "I agree to take part.", "de": "Ich stimme der Teilnahme zu."}
PAID = {
    "en": "You now play one game. The better your result, the higher your bonus. The average bonus "
    "is 5, 15 or 25 cents for games about $100, $10,000 or $1,000,000, respectively. Read the "
    "rules carefully. After the game, you answer a question about them. You are paid only if your "
    "answer is correct.",
    "de": "Sie spielen jetzt ein Spiel. Je besser Ihr Ergebnis ist, desto höher ist Ihr Bonus. Er "
    "beträgt im Durchschnitt 5, 15 oder 25\u00a0Cent, wenn es um 100, 10.000 oder "
    "1.000.000\u00a0Dollar geht. Lesen Sie die Regeln sorgfältig. Nach dem Spiel beantworten Sie "
    "eine Frage dazu. Sie werden nur bezahlt, wenn Ihre Antwort richtig ist.",
}
DEBRIEF = {
    "en": "Thank you. The other player was a language model. You can come back for another game. "
    "There must be at least 12 hours between two games of the same type.",
    "de": "Vielen Dank. Der andere Spieler war ein Sprachmodell. Sie können für ein weiteres Spiel "
    "wiederkommen. Zwischen zwei Spielen derselben Art müssen mindestens 12\u00a0Stunden liegen.",
}


class StudyFamily(NamedTuple):
    """A family of games in the human study.

    Attributes:
        game: the game's name.
        main: the main configuration.
        values: the values of each parameter; both discounts are one parameter.
        games: the number of games per configuration: main, variants, random.
        roles: whether people play the first and the second role.
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
            "discounts": [0.9, 0.9],
            "money": 10_000,
            "horizon": LONG,
            "complete_information": True,
            "messages": True,
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
            "seller_factor": 0.8,
            "buyer_factor": 1.2,
            "scale": 10_000,
            "horizon": 10,
            "complete_information": True,
            "messages": True,
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
                "prior": 0.5,
                "value": 2,
                "price": 10_000,
                "seller_knows_values": True,
                "signal": "text",
                "myopic": myopic,
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
)


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
            "metric": "{seat}_gain",
            "rate": round(average / 100 / gain, 4),
            "max": MAX_BONUSES * average / 100,
        }
        for game, (parameter, gain) in AVERAGE_GAINS.items()
        for scale, average in zip(SCALES, AVERAGE_CENTS, strict=True)
    ]


def protocol() -> dict[str, Any]:
    """Return the study protocol: up to 40 visits of one game each, with consent, quiz and pay."""
    return {
        "title": {"en": "A game with a partner", "de": "Ein Spiel zu zweit"},
        "recruitment": {"source": "mturk"},
        "limits": {"visits": 40, "games": 40, "hours": 12},
        "path": [
            {"consent": {"text": CONSENT, "statements": [ADULT, AGREED]}},
            "first_name",
            {
                "games": {
                    "max": 1,
                    "before": [
                        {"instructions": {"pages": [PAID], "game": True, "code_word": "sdkot"}}
                    ],
                    "after": [{"quiz": {"erase": True}}],
                }
            },
            {"debrief": {"text": DEBRIEF, "once": False}},
        ],
        "pay": {"base": round(6 / 60 * MINUTES, 2), "bonus": bonuses()},
        "codes": {"failed_attention": ""},  # failed checks get no code and no pay
    }


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
