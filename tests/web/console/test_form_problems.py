"""Error messages of the study form, each at its field."""

from cheaptalk.web.console.designs.study_form import check_form
from tests.web.console.test_study_form import MONEY, Texts, form, player, step

DISCOUNTS = "games.0.values.discounts"
GAMES, ITEM = step(0, "games"), "people.path.1.items.0"


def question(kind: str, **settings: str) -> Texts:
    fields = {"name": "a", "ask": "?", "answer.kind": kind}
    fields |= {f"answer.{name}": text for name, text in settings.items()}
    return {**GAMES, **step(1, "survey"), **{f"{ITEM}.{key}": v for key, v in fields.items()}}


NOTATIONS = ("1_0", "017", "0x10", "1:30", "nan", ".nan", ".inf", "inf")
BAD: list[tuple[Texts, str, str]] = [
    ({"name": "two words"}, "name", "is not a valid name"),
    ({"seed": "one"}, "seed", "whole number"),
    ({"instances": "0"}, "instances", "greater than or equal to 1"),
    ({"repeats": "1,5"}, "repeats", "whole number"),
    ({"budget.dollars": "1,000"}, "budget.dollars", "is ambiguous"),
    ({"budget.dollars": "-3"}, "budget.dollars", "greater than 0"),
    ({"budget.dollars": "7,5"}, "budget.dollars", "number"),
    *(({"budget.dollars": text}, "budget.dollars", "digits only") for text in NOTATIONS),
    ({"people.pay.base": "017", **GAMES}, "people.pay.base", "digits only"),
    ({MONEY: "100, 1_0"}, MONEY, "digits only"),
    ({"models": "{temperatur: 1}"}, "models", 'did you mean "temperature"'),
    ({"models": "warm"}, "models", "is not a mapping of settings"),
    ({"unanswered.refused": "shrug"}, "unanswered.refused", "keep"),
    ({**GAMES, **step(1, "consent")}, "people.path.1.text", "missing"),
    ({**GAMES, **step(1, "consnt")}, "people.path.1", "consent"),
    (
        {**GAMES, **step(1, "survey", items__0__name="A a", items__0__ask="?")},
        f"{ITEM}.name",
        "is not a valid item",
    ),
    (
        {**GAMES, **step(1, "survey", "after", items__0__name="A a", items__0__ask="?")},
        f"{ITEM}.name",
        "is not a valid item name",
    ),
    (question("choices", options="one"), f"{ITEM}.answer.options", "at least 2 items"),
    (question("number", min="ten"), f"{ITEM}.answer.min", "a number"),
    (question("number", min="5", max="1"), f"{ITEM}.answer.kind", "must be below the maximum"),
    (question("chioces"), f"{ITEM}.answer.kind", "is not a kind of answer"),
    (question("ranking", rows="one\nOne"), f"{ITEM}.answer.rows", "two texts have the name"),
    (
        question("choices", **{"options": "yes\nno", "options.de": "ja"}),
        f"{ITEM}.answer.options",
        "2 lines in en, 1 line in de",
    ),
    (
        {**question("text"), f"{ITEM}.when.0.question": "a", f"{ITEM}.when.0.value": ""},
        f"{ITEM}.when",
        "the name of a question and a value",
    ),
    (
        {**GAMES, "people.path.0.design": "between", "people.path.0.treatments.0.key": ""},
        "people.path.0.treatments.0.key",
        "enter a name",
    ),
    ({**GAMES, **step(1, "games")}, "people.path", "exactly one step"),
    ({"people.title": "Money"}, "people.path", "add the steps"),
    ({"people.pay.base": "much", **GAMES}, "people.pay.base", "a number"),
    ({"people.pay.bonus.0.rate": "", **GAMES}, "people.pay.bonus.0.rate", "is missing"),
    ({"sample": "many", "pairing": "all"}, "sample", "whole number"),
    ({"sample": "999999", "pairing": "all"}, "sample", "only 4 are possible"),
    ({"pairing": "listed"}, "seatings", "is not a pairing"),
    ({"pairing": "listed", "seatings": "[fair, boulwar]"}, "seatings", 'did you mean "boulware"'),
    ({"pairing": "listed", "seatings": "[fair"}, "seatings", "a bracket or quote is not closed"),
    ({"pairing": "people"}, "pairing", "a person and another kind of player"),
    ({"pairing": "some"}, "pairing", "is not a pairing"),
    ({"games.0.game": "bargining"}, "games.0.game", 'did you mean "bargaining"'),
    ({MONEY: "100, -5"}, MONEY, "greater than 0"),
    ({MONEY: "100, ten"}, MONEY, "number"),
    ({MONEY: "10,000"}, MONEY, "write 10000 or"),
    ({"games.0.values.messages": "maybe"}, "games.0.values.messages", "true or false"),
    ({DISCOUNTS: "[0.9, 0.9]\n[0.9"}, DISCOUNTS, "value 2"),
    ({DISCOUNTS: "[0.9, 1.9]"}, DISCOUNTS, "less than or equal to 1"),
    ({"games.0.values.mony": "3"}, "games.0.game", 'did you mean "money"'),
    ({MONEY: ", ".join(map(str, range(1, 10_002)))}, "games.0.game", "10,000 configurations"),
    (
        {"games.0.game": "negotiation", "games.0.values.price_limit": "1"},
        "games.0.game",
        "at least seller_factor",
    ),
    ({MONEY: "5", "games.0.cases": "[{money: 3}]"}, "games.0.cases", "set more than once"),
    ({"games.0.cases": "[{mony: 3}]"}, "games.0.cases", 'did you mean "money"'),
    (
        {"games.0.pairing": "listed", "games.0.seatings": "[fair]"},
        "games.0.seatings",
        "has 2 (alice, bob)",
    ),
    ({"games.0.instances": "-1"}, "games.0.instances", "greater than or equal to 1"),
    (
        {"games.0.game": "guess_the_average"}
        | {key: text for n in range(4) for key, text in player(n, "model", f"openai/{n}").items()},
        "pairing",
        "more than 100,000 ways",
    ),
    (player(1, "strategy", "equal_spilt"), "players.1.name", 'did you mean "equal_split"'),
    (player(1, "robot", "r2"), "players.1.kind", "unknown kind of player"),
    (player(1, "strategy", "linear", label="fair"), "players.1.label", "duplicate label"),
    (player(1, "strategy", "linear", label="a\tb"), "players.1.label", "is not a label"),
    (player(1, "model", "gpt-4o"), "players.1.name", "gpt-4o"),
    (
        player(1, "model", "openai/gpt-4o", settings="temperature: 7"),
        "players.1.settings",
        "temperature: should be less than or equal to 2",
    ),
    (
        player(1, "strategies", label="new", settings="bargaining: equal_spilt"),
        "players.1.settings",
        'did you mean "equal_split"',
    ),
    (
        player(1, "strategies", label="new", settings="bargining: linear"),
        "players.1.settings",
        'did you mean "bargaining"',
    ),
    (player(1, "strategies", label="new"), "players.1.settings", "GAME: STRATEGY"),
    (
        player(1, "strategy", "fixed_demand", settings="share: 7"),
        "players.1.settings",
        "less than or equal to 1",
    ),
    (
        player(1, "model", "openai/gpt-4o", settings="model: x/y"),
        "players.1.settings",
        "in the field for it",
    ),
    (player(1, "policy", "/etc/passwd"), "players.1.name", "is not a policy"),
    ({"roster": "gle"}, "roster", 'did you mean "glee"'),
    ({"roster": "/etc/passwd.yaml"}, "roster", "is a file"),
    (player(1, "person", deadline="soon"), "players.1.deadline", "number"),
    (player(1, "person", away="linear"), "players.1.away", "requires a deadline"),
]


def test_problems_are_reported_at_their_field() -> None:
    for changes, field, text in BAD:
        problems = check_form(form(changes)).problems
        assert [*problems] == [field], (changes, problems)
        assert text in problems[field]
    assert "at least one game" in check_form(form({}, "games")).problems["games"]
    assert "at least one player" in check_form(form({}, "players")).problems["players"]


def test_all_problems_are_reported_at_once() -> None:
    changes = {"instances": "0", "people.limits.visits": "0", "budget.calls": "0", **GAMES}
    assert {*check_form(form(changes)).problems} == {*changes} - {*GAMES}
