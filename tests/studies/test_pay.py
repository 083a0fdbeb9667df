"""Payments of participants: fees, tasks, random payment, losses and limits."""

from typing import Any

import pytest

from cheaptalk.rules import Chance, get_game
from cheaptalk.rules.table import Result
from cheaptalk.studies.people.path import ENDED, Journey, Response
from cheaptalk.studies.people.pay import (
    Due,
    bonus_of,
    dues,
    game_pay,
    participant_cents,
    statements,
    visit_cents,
)
from cheaptalk.studies.people.pay_rules import Pay
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.study import StudyError
from tests.web.participants.comers import people_study

SUM = {"name": "sum", "ask": "1 + 1?", "choices": ["one", "two"], "correct": "two"}
PRODUCT = {"name": "product", "ask": "1 * 1?", "choices": ["one", "two"], "correct": "one"}


def journey(*cents: int, **pay: object) -> Journey:
    """Return the journey of a participant with one visit and one game per amount."""
    protocol = Protocol.model_validate(
        {"path": ["games"], "limits": {"visits": len(cents)}, "pay": {"base": 1, **pay}}
    )
    answered = []
    for visit, amount in enumerate(cents, 1):
        if visit > 1:
            answered.append(Response("end", visit - 1, visit - 1, {"again": True}))
        answered += played(visit, visit, amount)
    return Journey(protocol, answered)


def played(visit: int, game: int, cents: int) -> list[Response]:
    answer = {"state": "finished", "payoff": cents / 100, "cents": cents}
    return [
        Response("assignment", visit, game, {"treatment": "t"}),
        Response("games", visit, game, answer),
    ]


def one_visit(*cents: int, **pay: object) -> Journey:
    """Return the journey of a participant with all games in one completed visit."""
    path = [{"games": {"max": len(cents)}}]
    protocol = Protocol.model_validate({"path": path, "pay": pay})
    games = [played(1, number, amount) for number, amount in enumerate(cents, 1)]
    return Journey(protocol, [response for pair in games for response in pair])


def paid(path: Journey, seed: str = "seed") -> dict[str, int]:
    return {due.key: due.cents for due in dues(path, seed)}


def test_base_pay_after_first_visit_is_paid_as_bonus() -> None:
    assert dues(journey(30, 40), "seed") == [
        Due("base/1", "base", 100),
        Due("game/1", "bonus", 30),
        Due("base/2", "bonus", 100),
        Due("game/2", "bonus", 40),
    ]


def test_max_bonus_excludes_base_pay() -> None:
    assert dues(journey(30, 40, max=0.5), "seed") == [
        Due("base/1", "base", 100),
        Due("game/1", "bonus", 30),
        Due("base/2", "bonus", 100),
        Due("game/2", "bonus", 20, withheld=20),
    ]


def test_max_total_includes_fees_but_keeps_the_base_pay() -> None:
    limited = journey(30, 40, show_up=0.5, max_total=1.75)
    assert paid(limited) == {"base/1": 100, "show_up/1": 50, "game/1": 25}
    first, second = statements(limited, limited.endings, "seed")
    assert (first.limits, first.total) == ({"max_total": -5}, 175)
    assert (second.limits, second.total) == ({"max_total": -190}, 0)


def test_min_total_increases_the_pay_of_a_completed_visit() -> None:
    assert paid(one_visit(30, base=1, min_total=2)) == {
        "base/1": 100,
        "game/1": 30,
        "minimum/1": 70,
    }
    assert "minimum/1" not in paid(one_visit(130, base=1, min_total=2))


def test_number_of_paid_games_is_drawn_by_participant() -> None:
    games = one_visit(1, 2, 4, 8, paid_games=2)
    sums = {sum(paid(games, f"seed/{code}").values()) for code in range(60)}
    assert sums == {3, 5, 9, 6, 10, 12}, "each pair of games is drawn"
    assert paid(games, "seed/1") == paid(games, "seed/1")
    assert paid(one_visit(1, 2, paid_games=3)) == {"game/1": 1, "game/2": 2}


def test_losses_reduce_other_games_down_to_zero() -> None:
    assert paid(one_visit(30, -20, 15, base=1, offset_losses=True)) == {
        "base/1": 100,
        "game/1": 10,
        "game/3": 15,
    }
    bankrupt = one_visit(30, -50, base=1, offset_losses=True)
    (statement,) = statements(bankrupt, bankrupt.endings, "seed")
    assert [due.earned for due in statement.dues] == [100, 30, -50]
    assert (statement.limits, statement.total) == ({"losses": 20}, 100)


CONSENT = {"consent": {"text": "We play."}}
PAGES = [CONSENT, {"screening": [SUM]}, {"games": {"max": 1}}]


@pytest.mark.parametrize(
    ("answers", "ending", "fee"),
    [
        ([], "timed_out", 0),
        ([], "withdrawn", 0),
        ([{"agreed": False}], None, 0),
        ([{"agreed": True}], "withdrawn", 200),
        ([{"agreed": True}], "timed_out", 200),
        ([{"agreed": True}], "removed", 0),
        ([{"agreed": True}, {"sum": "one"}], None, 0),
        ([{"agreed": True}, {"sum": "two"}, {"treatment": None}], None, 200),
    ],
)
def test_show_up_fee_requires_consent(
    answers: list[dict[str, Any]], ending: str | None, fee: int
) -> None:
    protocol = Protocol.model_validate({"path": PAGES, "pay": {"base": 5, "show_up": 2}})
    steps = ("consent", "screening", "assignment")
    right = {"sum": {"two": True, "one": False}}
    responses = [
        Response(
            step, 1, int(step == "assignment"), answer, right["sum"].get(answer.get("sum", ""))
        )
        for step, answer in zip(steps, answers, strict=False)
    ]
    if ending is not None:
        responses.append(Response(ENDED, 1, 0, {"ending": ending}))
    assert sum(paid(Journey(protocol, responses)).values()) == fee


def test_first_correct_answers_are_paid_up_to_a_maximum() -> None:
    path = [{"comprehension": {"items": [SUM, PRODUCT], "tries": 3}}, "games", {"survey": [
        {"name": "capital", "ask": "Capital?", "choices": ["A", "B"], "correct": "A"},
        {"name": "age", "ask": "Age?", "number": {}},
    ]}]  # fmt: skip
    tasks = {"steps": ["comprehension", "survey"], "amount": 0.25}
    attempts = [
        Response("comprehension", 1, 0, {"sum": "two", "product": "two"}, correct=False),
        Response("comprehension", 1, 0, {"sum": "two", "product": "one"}, correct=True),
        *played(1, 1, 0),
        Response("survey", 1, 1, {"capital": "A", "age": 30.0}, correct=True),
    ]

    def of(**changes: float) -> dict[str, int]:
        protocol = Protocol.model_validate({"path": path, "pay": {"tasks": tasks | changes}})
        return paid(Journey(protocol, attempts))

    assert of() == {"tasks/1": 50}, "the second attempt at the product is not paid"
    assert of(max=0.3) == {"tasks/1": 30}


def round_result() -> Result:
    game = get_game("public_goods").rules(players=2, rounds=3, tokens=10, factor=1.5)
    gains = ((8.0, 10.0), (9.0, 12.0), (10.0, 15.0))
    outcome = game.outcome_type.model_validate({"choices": ((0, 0),) * 3, "gains": gains})
    return Result(game, {}, outcome, list)


def test_paid_rounds_are_drawn_and_replace_the_payoff() -> None:
    pay, seen = Pay.model_validate({"bonus": [{"rate": 0.1}], "paid_rounds": 1}), set()
    for seed in range(40):
        amount = game_pay(pay, round_result(), "player_2", rounds=Chance(f"{seed}")("paid rounds"))
        assert amount.rounds is not None
        assert amount.result == (10.0, 12.0, 15.0)[amount.rounds[0] - 1]
        assert amount.cents == 10 * amount.result
        seen.add(amount.cents)
    assert seen == {100, 120, 150}
    every = Pay.model_validate({"bonus": [{"rate": 0.1}]})
    assert game_pay(every, round_result(), "player_2", rounds=Chance("1")("x")).cents == 370


def test_bonus_compares_parameters_as_the_game_reads_them() -> None:
    game = get_game("bargaining").rules(horizon=12)
    for when in (
        {"horizon": 12},
        {"horizon": {"rounds": 12}},
        {"horizon": {"rounds": 12, "hidden": False}},
    ):
        assert bonus_of(Pay.model_validate({"bonus": [{"when": when, "rate": 1}]}), game)
    assert not bonus_of(Pay.model_validate({"bonus": [{"when": {"horizon": 6}, "rate": 1}]}), game)


def test_bonus_depends_on_the_treatment() -> None:
    pay = Pay.model_validate(
        {"bonus": [{"treatment": "high", "rate": 2}, {"treatment": ["low"], "rate": 1}]}
    )
    game = get_game("bargaining").rules()
    rates = [rule and rule.rate for rule in (bonus_of(pay, game, t) for t in ("high", "low", "no"))]
    assert rates == [2, 1, None]


@pytest.mark.parametrize(
    ("pay", "problem"),
    [
        ({"paid_rounds": 1}, "bargaining has no payoffs by round; remove paid_rounds"),
        ({"bonus": [{"rate": 1, "when": {"horizn": 3}}]}, 'unknown parameter "horizn"'),
        ({"bonus": [{"rate": 1, "treatment": "x"}]}, "only games with a design have treatments"),
        ({"tasks": {"steps": ["quizz"], "amount": 1}}, 'unknown step "quizz"'),
        ({"tasks": {"steps": ["survey"], "amount": 1}}, "survey has no correct answers"),
        ({"base": 2, "show_up": 1, "max_total": 2}, "must be at least 3.00"),
        ({"one_game": True}, "write paid_games: 1"),
    ],
)  # fmt: skip
def test_impossible_pay_rules_are_refused(pay: dict[str, Any], problem: str) -> None:
    with pytest.raises(StudyError) as error:
        people_study(pay=pay)
    assert problem in str(error.value)
    assert "people.pay" in str(error.value)


def test_budget_requires_a_maximum_payment() -> None:
    pay: dict[str, Any] = {"budget": 100, "bonus": [{"rate": 1, "metric": "self_gain_{seat}"}]}
    with pytest.raises(StudyError, match=r"people\.pay\.budget.*set max_total"):
        people_study(games=[{"game": "negotiation"}], pay=pay)
    people_study(games=[{"game": "negotiation"}], pay=pay | {"max_total": 10})


def test_payment_page_comes_after_everything_that_it_depends_on() -> None:
    people_study(path=[CONSENT, "games", "payment"])
    with pytest.raises(StudyError, match="move payment behind the games and all paid tasks"):
        people_study(path=[CONSENT, "payment", "games"])


def test_bounds_of_pay_follow_from_the_games() -> None:
    game = get_game("public_goods").rules(players=2, rounds=4, tokens=10, factor=1.0)
    pay = {"base": 1, "show_up": 0.5, "bonus": [{"rate": 0.01}], "tasks": {
        "steps": ["comprehension"], "amount": 0.2}, "ended": {"technical": 3}}  # fmt: skip
    path = [{"comprehension": [SUM, PRODUCT]}, {"games": {"max": 3}}]

    def bounds(**changes: object) -> tuple[tuple[int, int | None], int | None]:
        protocol = Protocol.model_validate({"path": path, "pay": pay | changes})
        return visit_cents(protocol, [game]), participant_cents(protocol, [game])

    assert bounds() == ((150, 150 + 3 * 60 + 40), 150 + 3 * 60 + 40 + 200)
    assert bounds(paid_games=1) == ((150, 150 + 60 + 40), 150 + 60 + 40 + 200)
    assert bounds(paid_rounds=2) == ((150, 150 + 3 * 30 + 40), 150 + 3 * 30 + 40 + 200)
    assert bounds(max=1, max_total=2.2) == ((150, 220), 220)
    endless = Protocol.model_validate({"path": path, "pay": {"bonus": [{"rate": 1}]}})
    assert visit_cents(endless) == (0, None)
