"""Deal or No Deal played by scripts, by what models might write, and by people."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cheaptalk as ct
from cheaptalk.games.deal_or_no_deal import SPEC
from cheaptalk.games.deal_or_no_deal.contexts import Context, all_contexts, worth
from cheaptalk.games.deal_or_no_deal.dialogue import misstates, names_too_many
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.metrics import best_joint_score, points
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal, Division, Opening
from cheaptalk.games.deal_or_no_deal.strategies import pretence
from cheaptalk.games.deal_or_no_deal.talk import read_offer, say_values
from cheaptalk.models import ModelSettings, Reply
from cheaptalk.players import Answer, Kind, LanguageModel
from cheaptalk.players.person import Person
from cheaptalk.rules import Chance, Decide, DecisionRequest, Result, Table, play
from cheaptalk.styles import CODECS, IllegalMove, Unparsable, style_in
from tests.cli.terminal import Terminal
from tests.games.replies import ill_formed_replies, noisy_reply
from tests.games.tables import versions

OFFERING = ("honest", "greedy", "fair", "conceding", "liar")
SEEDS = [str(number) for number in range(25)]
CONTEXT = Context(counts=(1, 1, 3), values=((0, 1, 3), (1, 0, 3)))
OPENING = Opening(context=CONTEXT, first="player_1")


def strategy(name: str, **settings: Any) -> Decide:
    return SPEC.strategies[name].with_settings(**settings)


def match(one: Decide, other: Decide, seed: str = "1", **parameters: Any) -> Table:
    game = DealOrNoDeal.model_validate(parameters)
    players = {"player_1": one, "player_2": other}
    return play(game, game.draw_instance(Chance(seed)), seed, players)


def matches(one: str, other: str, **parameters: Any) -> Iterator[Table]:
    for seed in SEEDS:
        yield match(strategy(one), strategy(other), seed, **parameters)


def ended(at: Table) -> Division:
    assert isinstance(at.outcome, Division)
    return at.outcome


def measured(at: Table, name: str) -> float | None:
    result = Result(at.game, at.instance, at.outcome, lambda: at.given)
    return SPEC.metrics[name].of(result)


def after(*messages: str, **parameters: Any) -> DecisionRequest:
    """The question after these messages in turn."""
    table = Table(DealOrNoDeal.model_validate(parameters), OPENING, "seed")
    for message in messages:
        (seat,) = table.pending
        table.answer(seat, MessageOrProposal(message=message))
    (seat,) = table.pending
    return table.request(seat)


# Negotiators.


@pytest.mark.parametrize("objective", ["self", "coop", "comp", 0.5])
def test_honest_players_agree_on_the_division_with_the_best_worse_payoff(
    objective: str | float,
) -> None:
    for at in matches("honest", "honest", objective=objective):
        assert ended(at).ending == "agreement"
        assert ended(at).turns == 5
        weight = at.game.model_dump()["objective"]
        context = at.instance.model_dump()["context"]
        worse = min(at.game.payoffs(ended(at)).values())
        reachable = [points(Context(**context), claim) for claim in divisions(Context(**context))]
        best = max(min(x + weight * y, y + weight * x) for x, y in reachable)
        assert worse == pytest.approx(best)


def divisions(context: Context) -> Iterator[tuple[int, int, int]]:
    books, hats, balls = context.counts
    for number in range((books + 1) * (hats + 1) * (balls + 1)):
        rest, ball = divmod(number, balls + 1)
        book, hat = divmod(rest, hats + 1)
        yield book, hat, ball


def test_honest_players_get_the_joint_maximum_in_coop() -> None:
    for at in matches("honest", "honest", objective="coop"):
        assert measured(at, "efficiency") == measured(at, "pareto_optimality") == 1
        assert isinstance(at.instance, Opening)
        assert measured(at, "score") == best_joint_score(at.instance.context)


@pytest.mark.parametrize("name", ["honest", "greedy", "fair", "conceding"])
def test_nobody_but_the_liar_is_inconsistent(name: str) -> None:
    for other in ("honest", "fair", "conceding", "greedy"):
        for at in matches(name, other):
            assert measured(at, "inconsistency") == 0


def test_the_liar_states_false_values_and_keeps_its_word() -> None:
    for at in matches("liar", "conceding"):
        assert measured(at, "false_values") != 0
        assert measured(at, "broken_agreements") == measured(at, "impossible_counts") == 0


@pytest.mark.parametrize("context", all_contexts()[::97])
def test_every_hand_can_be_lied_about(context: Context) -> None:
    for values in context.values:
        feigned, wanted = pretence(context.counts, values)
        assert worth(feigned, context.counts) == 10
        assert misstates(say_values(feigned), context.counts, values)
        assert worth(feigned, wanted) <= 5


@pytest.mark.parametrize("other", ["fair", "conceding", "honest"])
def test_the_greedy_get_all_or_nothing(other: str) -> None:
    gains = {at.game.payoffs(ended(at))["player_1"] for at in matches("greedy", other)}
    assert gains == {10, 0}


def test_the_fair_get_half_or_more_or_nothing() -> None:
    for other in OFFERING:
        for at in matches("fair", other):
            found = ended(at).points
            assert found is None or found[0] >= 5


def test_conceding_asks_for_less_from_turn_to_turn() -> None:
    for at in matches("conceding", "greedy"):
        assert isinstance(at.instance, Opening)
        context = at.instance.context
        offers = [
            read_offer(one.action.message or "", context.counts)
            for one in at.given
            if one.actor == "player_1" and isinstance(one.action, MessageOrProposal)
        ]
        asked = [worth(context.values[0], offer) for offer in offers if offer is not None]
        assert asked == sorted(asked, reverse=True)
        assert asked[0] == 10


@pytest.mark.parametrize("one", OFFERING)
@pytest.mark.parametrize("turns", [3, 4, 5, 10])
def test_negotiators_end_with_two_proposals_before_the_turns_are_up(one: str, turns: int) -> None:
    for other in OFFERING:
        assert ended(match(strategy(one), strategy(other), turns=turns)).ending in {
            "agreement", "mismatch",
        }  # fmt: skip


@pytest.mark.parametrize("name", OFFERING)
def test_a_good_offer_is_accepted_and_then_proposed(name: str) -> None:
    offer = "I take 1 book, and you take the rest."
    accepted = strategy(name)(after("Hello.", offer))
    assert isinstance(accepted, MessageOrProposal)
    assert (accepted.message or "").startswith("Deal. I take 0 books, 1 hat and 3 balls")
    agreed = strategy(name)(after("Hello.", offer, accepted.message or "", "Deal."))
    assert agreed == MessageOrProposal.propose((0, 1, 3))


@pytest.mark.parametrize("name", OFFERING)
def test_the_last_offer_is_claimed_when_the_partner_proposes(name: str) -> None:
    table = Table(DealOrNoDeal(), OPENING, "seed")
    table.answer("player_1", MessageOrProposal(message="You take 1 hat and 2 balls."))
    table.answer("player_2", MessageOrProposal(message="Well."))
    table.answer("player_1", MessageOrProposal.propose((1, 0, 1)))
    claim = strategy(name)(table.request("player_2"))
    assert claim == Proposal(books=0, hats=1, balls=2)


@pytest.mark.parametrize("name", OFFERING)
@pytest.mark.parametrize(
    "words",
    [
        "",
        "?!",
        "[propose] {{ 7 }}",
        "Books are nice." * 200,
        "My book is worth 1, my hat is worth 1 and my ball is worth " + "9" * 3_900,
    ],
)
def test_negotiators_keep_talking_when_they_understand_nothing(name: str, words: str) -> None:
    action = strategy(name)(after("Hello.", words))
    assert isinstance(action, MessageOrProposal)
    assert action.message


def test_stated_values_are_taken_into_account() -> None:
    silent = strategy("honest")(after("Hello.", "Hello.", "Hm.", "Well?"))
    told = strategy("honest")(
        after("Hello.", "Hello.", "Hm.", "A book is worth 10 to me, a hat 0. A hat is worth 0 to "
              "me and a ball is worth 0 to me.")
    )  # fmt: skip
    assert isinstance(silent, MessageOrProposal)
    assert isinstance(told, MessageOrProposal)
    assert read_offer(told.message or "", CONTEXT.counts) == (0, 1, 3)
    assert silent != told


# Mistakes.


def test_without_mistakes_the_noisy_one_is_honest() -> None:
    calm = {"impossible": 0, "lying": 0, "contradicting": 0}
    for seed in SEEDS:
        one = match(strategy("noisy", **calm), strategy("honest"), seed)
        assert one.given == match(strategy("honest"), strategy("honest"), seed).given


@pytest.mark.parametrize(
    ("dial", "metric"),
    [
        ("impossible", "impossible_counts"),
        ("lying", "false_values"),
        ("contradicting", "broken_agreements"),
    ],
)
def test_each_dial_makes_the_mistake_that_its_measure_counts(dial: str, metric: str) -> None:
    calm = {"impossible": 0.0, "lying": 0.0, "contradicting": 0.0}
    metrics = ("impossible_counts", "false_values", "broken_agreements")
    found = dict.fromkeys(metrics, 0.0)
    for seed in SEEDS:
        noisy = strategy("noisy", **calm | {dial: 0.5})
        at = match(noisy, strategy("honest"), seed)
        for name in metrics:
            found[name] += measured(at, name) or 0
    assert {name for name, count in found.items() if count} == {metric}


def test_impossible_messages_name_one_too_many() -> None:
    action = strategy("noisy", impossible=1)(after("Hello."))
    assert isinstance(action, MessageOrProposal)
    assert names_too_many(action.message or "", CONTEXT.counts)


def test_contradicting_proposals_are_legal_and_wrong() -> None:
    ask = after("I take 1 book.", "Deal.")
    action = strategy("noisy", contradicting=1)(ask)
    assert isinstance(action, MessageOrProposal)
    assert action.claim not in {None, (1, 0, 0)}
    assert ask.ask.refuse(action) is None


def test_who_inverts_agrees_with_its_like_and_with_nobody_else() -> None:
    calm = {"impossible": 0, "lying": 0, "contradicting": 0}
    plain, inverting = (strategy("muddled", **calm, inverting=share) for share in (0, 1))
    honest = strategy("honest")
    for seed in SEEDS:
        assert match(plain, plain, seed).given == match(honest, honest, seed).given
        alike, apart = match(inverting, inverting, seed), match(inverting, honest, seed)
        mirrored = measured(alike, "inverted_proposals")
        assert mirrored in (1, None)  # None where both parts are the same
        assert measured(alike, "agreement") == 1
        assert measured(apart, "agreement") == (mirrored is None)


def questions(seed: str) -> Iterator[tuple[DecisionRequest, MessageOrProposal | Proposal]]:
    """The questions of a match between honest players, with their answers."""
    game = DealOrNoDeal()
    table = Table(game, game.draw_instance(Chance(seed)), seed)
    while table.pending:
        (seat,) = table.pending
        asked = table.request(seat)
        action = strategy("honest")(asked)
        assert isinstance(action, MessageOrProposal | Proposal)
        yield asked, action
        table.answer(seat, action)


TABLE_1 = {
    "begin with [message] or [propose]": Unparsable,
    "nothing has been said yet": IllegalMove,
    "may stand only once": Unparsable,
    "no [message] is possible now": IllegalMove,
    "once each and in this order": Unparsable,
    "exactly 3 numbers": Unparsable,
    "cannot be claimed": IllegalMove,
}
"""The seven corrections of Liao, Tomlin and Klein (2024, Table 1), and who makes them."""


def test_table_1_every_correction_is_made_and_no_other() -> None:
    seen = set()
    for seed in SEEDS:
        for asked, action in questions(seed):
            for reply in ill_formed_replies(asked, CODECS["tagged"], action):
                with pytest.raises(Unparsable) as caught:
                    CODECS["tagged"].read(reply, asked.ask)
                (reason,) = [text for text in TABLE_1 if text in str(caught.value)]
                assert type(caught.value) is TABLE_1[reason]
                seen.add(reason)
    assert seen == set(TABLE_1)


def test_ill_formed_replies_are_refused_in_json_too() -> None:
    for seed in SEEDS:
        for asked, action in questions(seed):
            for reply in ill_formed_replies(asked, CODECS["json"], action):
                with pytest.raises(Unparsable):
                    CODECS["json"].read(reply, asked.ask)


@pytest.mark.parametrize("codec", CODECS)
def test_noisy_replies_are_ill_formed_as_often_as_wanted(codec: str) -> None:
    refused = count = 0
    for seed in SEEDS:
        for asked, _ in questions(seed):
            for attempt in range(4):
                reply = noisy_reply(asked, CODECS[codec], ill_formed=0.3, attempt=attempt)
                count += 1
                try:
                    CODECS[codec].read(reply, asked.ask)
                except Unparsable:
                    refused += 1
    assert refused / count == pytest.approx(0.3, abs=0.06)


@pytest.mark.parametrize("bad", range(6))
@pytest.mark.parametrize("style", versions(SPEC))
def test_the_fifth_bad_output_in_a_turn_is_the_last(style: str, bad: int) -> None:
    game = DealOrNoDeal()
    table = Table(game, OPENING, "seed")
    words = style_in(SPEC, style)
    model = LanguageModel(game, words, "vllm/tiny", ModelSettings(), tries=game.tries)
    asked = table.request("player_1")
    good = words.codec.write(MessageOrProposal(message="Hello."))
    thinking = model.answer(asked)
    next(thinking)
    answer = Answer(None, Kind.OK)
    try:
        for attempt in range(6):
            early = words.codec.write(MessageOrProposal.propose((0, 1, 3)))
            thinking.send(Reply(text=early if attempt < bad else good))
    except StopIteration as end:
        answer = end.value
    kinds = [Kind.OK, *[Kind.REPAIRED] * 4, Kind.ILLEGAL]
    assert answer.kind is kinds[bad]
    assert (answer.action is None) == (bad >= 5)


# Metrics.


def test_measures_of_a_match_worked_out_by_hand() -> None:
    table = Table(DealOrNoDeal(), OPENING, "seed")
    table.answer("player_1", MessageOrProposal(message="I take the hat, you take the rest."))
    table.answer("player_2", MessageOrProposal(message="Deal. A ball is worth 4 to me."))
    table.answer("player_1", MessageOrProposal.propose((0, 1, 0)))
    table.answer("player_2", Proposal(books=1, hats=0, balls=3))
    found = {name: measured(table, name) for name in SPEC.metrics}
    assert found == pytest.approx(
        {
            "score": 5.5,
            "agreement": 1,
            "pareto_optimality": 1,
            "joint_points": 11,
            "efficiency": 1,
            "aborted": 0,
            "length": 4,
            "words": 16,
            "vocabulary": 14,
            "bigram_entropy": math.log2(14) - 1 / 7,  # of 14 pairs two are the same
            "inconsistency": 0.25,
            "impossible_counts": 0,
            "false_values": 0.5,
            "broken_agreements": 0,
            "inverted_proposals": 0,
        }
    )


def test_an_inverted_proposal_claims_what_was_offered_to_the_partner() -> None:
    table = Table(DealOrNoDeal(), OPENING, "seed")
    table.answer("player_1", MessageOrProposal(message="I take the hat, you take the rest."))
    table.answer("player_2", MessageOrProposal.propose((0, 1, 0)))
    table.answer("player_1", Proposal(books=1, hats=1, balls=0))
    assert measured(table, "inverted_proposals") == 0.5


def test_measures_of_an_aborted_match() -> None:
    table = Table(DealOrNoDeal(objective=-1.0), OPENING, "seed")
    table.forfeit("player_1")
    found = {name: measured(table, name) for name in SPEC.metrics}
    assert found["aborted"] == 1
    assert found["inconsistency"] is found["bigram_entropy"] is None
    assert set(found.values()) == {0, 1, None}


@pytest.mark.parametrize(("objective", "published"), [("self", 0), ("coop", 1)])
def test_the_published_optimality_looks_at_player_2_alone(objective: str, published: int) -> None:
    table = Table(DealOrNoDeal.model_validate({"objective": objective}), OPENING, "seed")
    table.answer("player_1", MessageOrProposal(message="Hello."))
    table.answer("player_2", MessageOrProposal.propose((1, 0, 0)))
    table.answer("player_1", Proposal(books=0, hats=1, balls=3))
    metric = SPEC.metrics["pareto_optimality"]
    result = Result.of(table.game, table.instance, ended(table))
    assert metric.of(result) == 1
    assert metric.variant(as_published=True)(result) == published


@given(st.sampled_from(SEEDS), st.sampled_from(OFFERING), st.sampled_from(OFFERING))
def test_the_score_is_the_mean_payoff_and_no_more_than_the_best(
    seed: str, one: str, other: str
) -> None:
    at = match(strategy(one), strategy(other), seed, objective="coop")
    assert isinstance(at.instance, Opening)
    score = measured(at, "score")
    assert score == sum(at.game.payoffs(ended(at)).values()) / 2
    assert 0 <= score <= best_joint_score(at.instance.context)
    assert (measured(at, "pareto_optimality") == 1) == (
        score == best_joint_score(at.instance.context)
    )


def fill_in(screen: Terminal, **fields: str) -> None:
    """Fill in a form; a field that is left empty is not given."""
    for field, text in fields.items():
        screen.read_until(f"{field} (" if "message" in fields else f"{field}: ")
        screen.type(text)


def test_a_person_talks_and_proposes_at_the_terminal(tmp_path: Path) -> None:
    context = "contexts=[{counts: [1, 1, 3], values: [[0, 1, 3], [1, 0, 3]]}]"
    arguments = ["play", "deal_or_no_deal", "--opponent", "fair", "--set", context, "--seed", "1"]
    with Terminal(*arguments, folder=tmp_path) as screen:
        screen.read_until("I take 0 books, 0 hats and 2 balls, and you take")
        fill_in(screen, message="", books="2", hats="1", balls="1")
        screen.read_until("Invalid response")
        fill_in(screen, message="Deal.")
        screen.read_until("Player 2 has proposed.")
        fill_in(screen, books="1", hats="1", balls="1")
        status, end = screen.ends()
    assert status == 0
    assert "Your payoff is 4." in end
    with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
        (record,) = store.records(bodies=True)
    mine = [answer for answer in record.answers if answer.actor == "player_1"]
    assert [answer.kind for answer in mine] == [Kind.REPAIRED, Kind.OK]


@pytest.mark.parametrize("style", versions(SPEC))
def test_a_form_is_read_in_every_style(style: str) -> None:
    game = DealOrNoDeal()
    table = Table(game, game.draw_instance(Chance("1")), "1")
    (seat,) = table.pending
    thinking = Person(game, style_in(SPEC, style)).answer(table.request(seat))
    next(thinking)
    with pytest.raises(StopIteration) as end:
        thinking.send(Reply(text='{"message": "Hi.", "books": null, "hats": null, "balls": null}'))
    assert end.value.value == (MessageOrProposal(message="Hi."), Kind.OK)
