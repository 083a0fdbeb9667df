"""The papers' human studies: protocols, payments and GLEE's quizzes."""

from collections import Counter
from typing import Any

import cheaptalk as ct
from cheaptalk.games.bargaining.rules import Briefing as BargainingBriefing
from cheaptalk.games.negotiation.rules import Briefing as NegotiationBriefing
from cheaptalk.games.persuasion.rules import Briefing as PersuasionBriefing
from cheaptalk.papers.glee import quizzes
from cheaptalk.papers.glee.human_study import AVERAGE_GAINS
from cheaptalk.rules import Chance, Event
from cheaptalk.rules.registry import get_game
from cheaptalk.studies import plan
from cheaptalk.studies.people.answers import Choices, Scale
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.page_texts.texts import missing_translations
from cheaptalk.studies.people.pay import bonus_of
from cheaptalk.studies.people.protocol import Pay, Protocol
from cheaptalk.studies.people.steps import Comprehension, Instructions, MakeQuiz, Quiz, Survey
from cheaptalk.styles.languages import writing_in


def protocol_of(name: str) -> Protocol:
    study = ct.preset(name)
    assert study is not None
    assert study.people is not None
    return study.people


def bonus_cents(pay: Pay, game: str, earned: float, **parameters: object) -> int:
    rule = bonus_of(pay, get_game(game).rules.model_validate(parameters))
    assert rule is not None
    return rule.of(earned)


def test_glee_visit_has_attention_checks_and_one_game() -> None:
    people = protocol_of("glee-human")
    limits = people.limits
    assert (people.games.max, limits.visits, limits.games, limits.hours) == (1, 40, 40, 12)
    (instructions,) = (step for step in people.steps if isinstance(step, Instructions))
    assert (instructions.game, instructions.on_fail) == (True, "failed_attention")
    (quiz,) = (step for step in people.steps if isinstance(step, Quiz))
    assert (quiz.on_fail, quiz.erase) == ("failed_attention", True)
    assert people.codes == {"failed_attention": ""}  # all other endings have their own codes


def test_average_glee_game_earns_5_15_or_25_cents() -> None:
    pay = protocol_of("glee-human").pay
    assert pay.base == 0.33
    for game, (parameter, gain) in AVERAGE_GAINS.items():
        for scale, cents in ((100, 5), (10_000, 15), (1_000_000, 25)):
            size = {parameter: scale}
            assert bonus_cents(pay, game, gain, **size) == cents
            assert bonus_cents(pay, game, 100, **size) == 4 * cents
            assert bonus_cents(pay, game, -1, **size) == 0


def test_every_glee_configuration_has_bonus() -> None:
    study = ct.preset("glee-human")
    assert study is not None
    assert study.people is not None
    for grid in study.games:
        for game in grid.configurations():
            assert bonus_of(study.people.pay, game) is not None
            metrics = {f"self_gain_{place}" for place in game.seats}
            assert metrics <= get_game(game.name).metrics.keys()


def test_chip_trading_has_144_groups_checks_and_survey() -> None:
    study = ct.preset("chip-trading-human")
    assert study is not None
    matches = plan(study).matches
    assert set(Counter(match.configuration.digest for match in matches).values()) == {48}
    assert {tuple(seat.label for seat in match.seating) for match in matches} == {("human",) * 3}
    people = protocol_of("chip-trading-human")
    checks = [step for step in people.steps if isinstance(step, Comprehension)]
    assert [len(check.items) for check in checks] == [3, 5]
    assert all(item.correct and item.feedback for check in checks for item in check.items)
    (survey,) = (step for step in people.steps if isinstance(step, Survey))
    answers = {item.name: item.answer for item in survey.items}
    scales = {name: (a.low, a.high) for name, a in answers.items() if isinstance(a, Scale)}
    assert scales == dict.fromkeys(
        ["competitive", "certainty", "satisfaction", "exertion"], (1, 10)
    )
    assert len(survey.items) == 8
    assert (people.games.max, people.games.lobby.minutes) == (2, 10)
    assert people.games.same_treatment
    pay = people.pay
    assert (pay.base, pay.paid_games, pay.ended["timed_out"]) == (4, 1, 1)
    assert bonus_cents(pay, "chip_trading", 1.8) == 180


def test_deal_or_no_deal_pays_by_objective() -> None:
    study = ct.preset("deal-or-no-deal-human")
    assert study is not None
    matches = plan(study).matches
    sides = Counter((m.configuration.digest, m.seating[0].label) for m in matches)
    assert len(sides) == 6
    assert set(sides.values()) == {200}
    people = protocol_of("deal-or-no-deal-human")
    assert (people.games.max, people.games.can_stop, people.limits.games) == (40, True, 40)
    pay = people.pay
    assert (pay.base, pay.game, pay.aborted) == (1, 0.1, 0.25)
    paid = {
        objective: [bonus_cents(pay, "deal_or_no_deal", got, objective=objective) for got in earned]
        for objective, earned in (("self", [10, 0]), ("coop", [19, 0]), ("comp", [3, -3]))
    }
    assert paid == {"self": [200, 0], "coop": [190, 0], "comp": [90, 0]}


def briefing(of: type[Event], **known: Any) -> Event:
    return of(**(dict.fromkeys(of.__annotations__) | known))


BARGAINING = briefing(BargainingBriefing, discount=0.9)
FORMATS = {code: writing_in(code) for code in ("en", "de")}
DOLLARS = ["$2,000", "$4,000", "$8,000", "$16,000", "$32,000"]


def values_of(item: Item) -> list[str]:
    assert isinstance(item.answer, Choices)
    return item.answer.values


def test_quiz_asks_about_briefing() -> None:
    losses = ["0%", "1%", "2%", "3%", "5%", "10%", "20%"]
    prices = ["$25", "$50", "$100", "$200"]
    bargaining = quizzes.bargaining, BargainingBriefing
    negotiation = quizzes.negotiation, NegotiationBriefing
    persuasion = quizzes.persuasion, PersuasionBriefing
    cases: list[tuple[tuple[MakeQuiz, type[Event]], dict[str, float], str, list[str]]] = [
        (bargaining, {"discount": 0.9}, "10%", losses),
        (bargaining, {"discount": 0.85}, "15%", [*losses, "15%"]),
        (negotiation, {"value": 8_000}, "$8,000", DOLLARS),
        (negotiation, {"value": 8_000, "rival_value": 12_000}, "$8,000", [*DOLLARS, "$12,000"]),
        (persuasion, {"price": 100, "high_worth": 125}, "$100", [*prices, "$125"]),
        (persuasion, {"price": 100}, "$100", prices),
    ]
    for (make, kind), known, correct, options in cases:
        event = briefing(kind, **known)
        game = get_game("bargaining").rules()  # a quiz reads the events, never the game
        item = make(game, "alice", [event], Chance("quiz")("order"), FORMATS)
        assert sorted(values_of(item)) == sorted(options)
        assert [option for option in options if item.is_right({item.name: option})] == [correct]


def test_quiz_choices_are_shuffled_and_translated() -> None:
    game, chance = get_game("bargaining").rules(), Chance("quiz")
    items = [
        quizzes.bargaining(game, "alice", [BARGAINING], chance("order", n), FORMATS)
        for n in range(20)
    ]
    assert len({values_of(item).index("10%") for item in items}) > 3
    assert isinstance(items[0].answer, Choices)
    assert {"en": "10%", "de": "10\xa0%"} in items[0].answer.options
    price = briefing(PersuasionBriefing, price=100)
    item = quizzes.persuasion(
        game, "bob", [price], chance("order"), {"en": writing_in("en", "EUR")}
    )
    assert item.is_right({item.name: "\u20ac100"})


def test_participant_texts_are_in_both_languages() -> None:
    for name in ("glee-human", "deal-or-no-deal-human", "chip-trading-human"):
        assert missing_translations(protocol_of(name)) == []


def test_correct_answers_pass_the_checks_of_a_study() -> None:
    people = protocol_of("chip-trading-human")
    answers = ct.studies.correct_answers(people.path)
    checks = [step for step in people.steps if isinstance(step, Comprehension)]
    items = [item for check in checks for item in check.items]
    assert answers["start"] == "10"
    assert answers.keys() == {item.name for item in items}
    assert all(item.is_right(item.read(answers)) for item in items)
