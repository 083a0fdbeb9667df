"""Deal or No Deal played by scripts, simulated models and people."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

from cheaptalk.games.deal_or_no_deal import SPEC, rules
from cheaptalk.games.deal_or_no_deal.contexts import bundles, worth
from cheaptalk.games.deal_or_no_deal.metrics import best_joint_score, points
from cheaptalk.games.deal_or_no_deal.talk import read_offer
from cheaptalk.rules import Chance, Decide, DecisionRequest, Table, play
from tests.games.test_deal_or_no_deal import CONTEXT, table_after

OFFERING = ("honest", "greedy", "fair", "conceding", "liar")
SEEDS = [str(number) for number in range(25)]


def strategy(name: str, **settings: Any) -> Decide:
    return SPEC.strategies[name].with_settings(**settings)


def play_match(first: Decide, second: Decide, seed: str = "1", **parameters: Any) -> Table:
    game = rules.DealOrNoDeal.model_validate(parameters)
    players = {"player_1": first, "player_2": second}
    return play(game, game.draw_instance(Chance(seed)), seed, players)


def play_matches(first: str, second: str, **parameters: Any) -> Iterator[Table]:
    for seed in SEEDS:
        yield play_match(strategy(first), strategy(second), seed, **parameters)


def metric(table: Table, name: str) -> float | None:
    return SPEC.metrics[name].of(table.result())


def request_after(*messages: str) -> DecisionRequest:
    """Return the decision request after these messages."""
    table = table_after(*messages)
    (seat,) = table.pending
    return table.request(seat)


def test_honest_players_maximise_lower_payoff() -> None:
    for objective in ("self", "coop", "comp", 0.5):
        for table in play_matches("honest", "honest", objective=objective):
            result = table.result()
            assert (result.outcome.ending, result.outcome.turns) == ("agreement", 5)
            weight, context = result.game.objective, result.instance.context
            worse = min(result.game.payoffs(result.outcome).values())
            reachable = [points(context, claim) for claim in bundles(context.counts)]
            best = max(min(x + weight * y, y + weight * x) for x, y in reachable)
            assert worse == pytest.approx(best)
            if objective == "coop":
                assert metric(table, "efficiency") == metric(table, "pareto_optimality") == 1
                assert metric(table, "score") == best_joint_score(context)


def test_truthful_strategies_are_consistent() -> None:
    for name in ("honest", "greedy", "fair", "conceding"):
        for other in ("honest", "fair", "conceding", "greedy"):
            for table in play_matches(name, other):
                assert metric(table, "inconsistency") == 0


def test_liar_states_false_values_but_keeps_agreements() -> None:
    for table in play_matches("liar", "conceding"):
        assert metric(table, "false_values") != 0
        assert metric(table, "broken_agreements") == metric(table, "impossible_counts") == 0


def test_demanding_players_get_their_share_or_nothing() -> None:
    for name, other, minimum in [
        *(("greedy", other, 10) for other in ("fair", "conceding", "honest")),
        *(("fair", other, 5) for other in OFFERING),
    ]:
        for table in play_matches(name, other):
            scores = table.result().outcome.points
            assert scores is None or scores[0] >= minimum


def test_conceding_player_lowers_its_demands() -> None:
    for table in play_matches("conceding", "greedy"):
        context = table.result().instance.context
        offers = [
            read_offer(answer.action.message or "", context.counts)
            for answer in table.given
            if answer.actor == "player_1" and isinstance(answer.action, rules.MessageOrProposal)
        ]
        demands = [worth(context.values[0], offer) for offer in offers if offer is not None]
        assert demands == sorted(demands, reverse=True)
        assert demands[0] == 10


def test_negotiators_propose_before_turn_limit() -> None:
    for name in OFFERING:
        for turns in (3, 4, 5, 10):
            for other in OFFERING:
                match = play_match(strategy(name), strategy(other), turns=turns)
                assert match.result().outcome.ending in {"agreement", "mismatch"}


def test_good_offer_is_accepted_and_then_proposed() -> None:
    for name in OFFERING:
        offer = "I take 1 book, and you take the rest."
        accepted = strategy(name)(request_after("Hello.", offer))
        assert isinstance(accepted, rules.MessageOrProposal)
        assert (accepted.message or "").startswith("Deal. I take 0 books, 1 hat and 3 balls")
        agreed = strategy(name)(request_after("Hello.", offer, accepted.message or "", "Deal."))
        assert agreed == rules.MessageOrProposal.propose((0, 1, 3))


def test_last_offer_is_claimed_when_partner_proposes() -> None:
    for name in OFFERING:
        table = table_after("You take 1 hat and 2 balls.", "Well.", (1, 0, 1))
        claim = strategy(name)(table.request("player_2"))
        assert claim == rules.Proposal(books=0, hats=1, balls=2)


def test_negotiators_reply_to_unintelligible_messages() -> None:
    for name in OFFERING:
        cases = [
            "",
            "?!",
            "[propose] {{ 7 }}",
            "Books are nice." * 200,
            "My book is worth 1, my hat is worth 1 and my ball is worth " + "9" * 3_900,
        ]
        for words in cases:
            action = strategy(name)(request_after("Hello.", words))
            assert isinstance(action, rules.MessageOrProposal)
            assert action.message


def test_stated_values_affect_offers() -> None:
    values = (
        "A book is worth 10 to me, a hat 0. A hat is worth 0 to me and a ball is worth 0 to me."
    )
    silent, informed = (
        strategy("honest")(request_after("Hello.", "Hello.", "Hm.", words))
        for words in ("Well?", values)
    )
    assert isinstance(informed, rules.MessageOrProposal)
    assert read_offer(informed.message or "", CONTEXT.counts) == (0, 1, 3)
    assert silent != informed


def test_each_setting_causes_only_its_own_mistake() -> None:
    metrics = {
        "impossible": "impossible_counts",
        "lying": "false_values",
        "contradicting": "broken_agreements",
    }
    for setting, expected in metrics.items():
        noisy = strategy("noisy", **dict.fromkeys(metrics, 0.0) | {setting: 0.5})
        matches = [play_match(noisy, strategy("honest"), seed) for seed in SEEDS]
        made = {name for name in metrics.values() for table in matches if metric(table, name)}
        assert made == {expected}


def test_inverting_players_agree_only_with_each_other() -> None:
    no_mistakes = {"impossible": 0, "lying": 0, "contradicting": 0}
    plain, inverting = (strategy("muddled", **no_mistakes, inverting=share) for share in (0, 1))
    honest = strategy("honest")
    for seed in SEEDS:
        assert play_match(plain, plain, seed).given == play_match(honest, honest, seed).given
        alike, apart = play_match(inverting, inverting, seed), play_match(inverting, honest, seed)
        mirrored = metric(alike, "inverted_proposals")
        assert mirrored in (1, None)  # None if both parts are the same
        assert metric(alike, "agreement") == 1
        assert metric(apart, "agreement") == (mirrored is None)


def test_metrics_match_hand_calculation() -> None:
    offer, answer = "I take the hat, you take the rest.", "Deal. A ball is worth 4 to me."
    table = table_after(offer, answer, (0, 1, 0), (1, 0, 3))
    values = {name: metric(table, name) for name in SPEC.metrics}
    assert values == pytest.approx(
        {
            "score": 5.5,
            "agreement": 1,
            "pareto_optimality": 1,
            "joint_points": 11,
            "efficiency": 1,
            "aborted": 0,
            "length": 4,
            "total_words": 16,
            "vocabulary": 14,
            "bigram_entropy": math.log2(14) - 1 / 7,  # 2 of the 14 pairs are equal
            "inconsistency": 0.25,
            "impossible_counts": 0,
            "false_values": 0.5,
            "broken_agreements": 0,
            "inverted_proposals": 0,
        }
    )


def test_claiming_partner_share_is_inverted_proposal() -> None:
    table = table_after("I take the hat, you take the rest.", (0, 1, 0), (1, 1, 0))
    assert metric(table, "inverted_proposals") == 0.5
    aborted = table_after(None, objective=-1.0)
    values = {name: metric(aborted, name) for name in SPEC.metrics}
    assert values["aborted"] == 1
    assert values["inconsistency"] is values["bigram_entropy"] is None
    assert set(values.values()) == {0, 1, None}


def test_published_optimality_considers_only_player_2() -> None:
    for objective, published in (("self", 0), ("coop", 1)):
        table = table_after("Hello.", (1, 0, 0), (0, 1, 3), objective=objective)
        optimality = SPEC.metrics["pareto_optimality"]
        assert optimality.of(table.result()) == 1
        assert optimality.variant(as_published=True)(table.result()) == published
