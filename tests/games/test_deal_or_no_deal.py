"""Deal or No Deal: contexts, rules, payoffs, observations and prompts."""

import itertools
import statistics
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from cheaptalk.games.deal_or_no_deal import SPEC, rules
from cheaptalk.games.deal_or_no_deal.contexts import (
    KINDS,
    BadContexts,
    Context,
    Triple,
    all_contexts,
    bundles,
    read_contexts,
    rest,
    worth,
)
from cheaptalk.games.deal_or_no_deal.metrics import best_joint_score, optimal_claims, points
from cheaptalk.rules import Action, Ask, Chance, Result, Table, WrongValue

PUBLISHED = (
    Path(__file__).parents[2].parent / "shared" / "data" / "deal_or_no_deal" / "selfplay.txt"
)
published = pytest.mark.skipif(
    not PUBLISHED.is_file(), reason="the published contexts are not beside the repository"
)

CONTEXT = Context(counts=(1, 1, 3), values=((0, 1, 3), (1, 0, 3)))
OPENING = rules.Opening(context=CONTEXT, first="player_1")
PARTNERS = {"player_1": "player_2", "player_2": "player_1"}
HELLO = "Hello."


def action_of(ask: Ask, move: str | Triple) -> Action:
    """Return a message, or the claim to a triple of items, as an answer to a request."""
    claim = dict(zip(KINDS, move, strict=True)) if isinstance(move, tuple) else {"message": move}
    return ask.action.model_validate(claim)


def table_after(
    *moves: str | Triple | None, instance: rules.Opening = OPENING, **parameters: Any
) -> Table:
    """Return the table after these messages and claims; None is a final failure to answer."""
    table = Table(rules.DealOrNoDeal.model_validate(parameters), instance, "seed")
    for move in moves:
        (ask,) = table.pending.values()
        if move is None:
            table.forfeit(ask.actor)
        else:
            table.answer(ask.actor, action_of(ask, move))
    return table


def rejection_reason(table: Table, claim: Triple) -> str:
    (ask,) = table.pending.values()
    return ask.refuse(action_of(ask, claim)) or ""


def test_contexts_match_enumeration_by_rule_of_paper() -> None:
    """Section 2: each kind has value for a player; either player can get 10, but never both."""
    legal = set()
    for counts in (c for c in bundles((4, 4, 4)) if min(c) and 5 <= sum(c) <= 7):
        fitting = [values for values in bundles((10, 10, 10)) if worth(values, counts) == 10]
        for first, second in itertools.product(fitting, repeat=2):
            valued = all(value or other for value, other in zip(first, second, strict=True))
            both = any(
                worth(first, claim) == worth(second, rest(counts, claim)) == 10
                for claim in bundles(counts)
            )
            if valued and not both:
                legal.add((counts, (first, second)))
    assert {(context.counts, context.values) for context in all_contexts()} == legal
    assert len(legal) == len(all_contexts()) == 5_295


@published
def test_published_file_contains_4086_contexts() -> None:
    contexts = read_contexts(PUBLISHED)
    assert len(contexts) == len(set(contexts)) == 4_086
    assert set(contexts) <= set(all_contexts())
    assert contexts[0] == CONTEXT


@published
def test_mean_best_joint_score_is_15_008() -> None:
    assert statistics.fmean(map(best_joint_score, read_contexts(PUBLISHED))) == pytest.approx(
        15.008, abs=5e-4
    )


@published
def test_shares_of_optimal_and_matching_divisions() -> None:
    sizes, optimal = [], []
    for context in read_contexts(PUBLISHED):
        sizes.append(len(list(bundles(context.counts))))
        optimal.append(len(optimal_claims(context)))
    shares = [best / size for best, size in zip(optimal, sizes, strict=True)]
    assert sum(sizes) == 81_767
    assert sum(optimal) / sum(sizes) == pytest.approx(0.233, abs=5e-4)
    assert statistics.fmean(shares) == pytest.approx(0.239, abs=5e-4)
    assert statistics.fmean(1 / size for size in sizes) == pytest.approx(0.0520, abs=5e-5)


@published
def test_published_metric_finds_12_54_percent_optimal_and_errs_on_25_8() -> None:
    metric = SPEC.metrics["pareto_optimality"]
    assert metric.published is not None
    game, optimal, wrong, count = rules.DealOrNoDeal(), 0.0, 0, 0
    for context in read_contexts(PUBLISHED)[::40]:
        best = optimal_claims(context)
        for claim in bundles(context.counts):
            outcome = rules.Division(
                ending="agreement",
                turns=3,
                claims=(claim, rest(context.counts, claim)),
                points=points(context, claim),
            )
            result = Result.of(game, rules.Opening(context=context, first="player_1"), outcome)
            assert metric.of(result) == (claim in best)
            value = metric.published(result) or 0
            assert value == (points(context, claim)[1] == 10)
            optimal, count, wrong = optimal + value, count + 1, wrong + (value != metric.of(result))
    assert optimal / count == pytest.approx(0.1254, abs=0.02)
    assert wrong / count == pytest.approx(0.258, abs=0.02)


def test_optimal_divisions_are_undominated() -> None:
    for objective in (0.0, 0.5, -0.5, 1.0, -1.0):
        claims = bundles(CONTEXT.counts)
        gains = {claim: rules.paid(points(CONTEXT, claim), objective) for claim in claims}
        for claim, own in gains.items():
            dominated = any(
                other != own and all(map(float.__ge__, other, own)) for other in gains.values()
            )
            assert (claim in optimal_claims(CONTEXT, objective)) is not dominated


def test_illegal_contexts_are_rejected_with_reason() -> None:
    cases: list[tuple[Any, Any, str]] = [
        ((1, 1, 2), ((10, 0, 0), (0, 10, 0)), "a pool has 5 to 7 pieces, not 4"),
        ((1, 1, 3), ((1, 0, 2), (1, 0, 3)), "worth 10 to player 1, not 7"),
        ((1, 1, 3), ((0, 1, 3), (1, 1, 3)), "worth 10 to player 2, not 11"),
        ((1, 1, 3), ((10, 0, 0), (7, 0, 1)), "the hats are worth nothing to either"),
        ((1, 1, 3), ((10, 0, 0), (0, 1, 3)), "worth more than 0 to both players"),
    ]
    for counts, values, reason in cases:
        with pytest.raises(WrongValue, match=reason):
            Context(counts=counts, values=values)


def test_contexts_are_read_in_file_order(tmp_path: Path) -> None:
    path = tmp_path / "contexts.txt"
    path.write_text("1 0 1 1 3 3\n1 1 1 0 3 3\n1 4 4 1 1 2\n1 0 4 2 1 2\n\n")
    other = Context(counts=(1, 4, 1), values=((4, 1, 2), (0, 2, 2)))
    assert read_contexts(path) == (CONTEXT, other)
    with pytest.raises(BadContexts, match="cannot be read"):
        read_contexts(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", ": contains no contexts"),
        ("1 0 1 1 3 3\n", ", line 1: the second player's line is missing"),
        ("1 0 1 1 3 3\n1 1 1 0 3\n", ", line 2: expected six integers"),
        ("1 0 1 1 3 x\n1 1 1 0 3 3\n", ", line 1: expected six integers"),
        ("1 0 1 1 3 3\n1 1 2 0 3 3\n", ", line 2: the counts must be those of the line before"),
        ("1 0 1 1 3 3\n1 1 1 0 3 2\n", ", line 1: .*worth 10 to player 2, not 7"),
    ],
)
def test_file_errors_name_line(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "contexts.txt"
    path.write_text(text)
    with pytest.raises(BadContexts, match=f"contexts.txt{reason}"):
        read_contexts(path)


def test_contexts_can_be_configured() -> None:
    other = Context(counts=(1, 4, 1), values=((4, 1, 2), (0, 2, 2)))
    game = rules.DealOrNoDeal(contexts=(CONTEXT, other))
    drawn = [game.draw_instance(Chance(str(number))) for number in range(20)]
    assert {instance.context for instance in drawn} == {CONTEXT, other}
    assert {instance.first for instance in drawn} == set(PARTNERS)


def test_objectives_are_names_or_weights() -> None:
    for name, weight in (("self", 0), ("coop", 1), ("comp", -1), (0.25, 0.25)):
        assert rules.DealOrNoDeal.model_validate({"objective": name}).objective == weight


def test_agreement_pays_x_plus_lambda_y() -> None:
    cases = [("self", (10, 1)), ("coop", (11, 11)), ("comp", (9, -9)), (0.5, (10.5, 6))]
    for objective, gains in cases:
        table = table_after(HELLO, HELLO, (0, 1, 3), (1, 0, 0), objective=objective)
        assert table.outcome == rules.Division(
            ending="agreement", turns=4, claims=((0, 1, 3), (1, 0, 0)), points=(10, 1)
        )
        assert tuple(table.game.payoffs(table.outcome).values()) == gains


def test_claims_are_recorded_by_player_not_by_turn() -> None:
    second = OPENING.model_copy(update={"first": "player_2"})
    for moves in (
        (HELLO, (0, 1, 3), (1, 0, 0)),
        (HELLO, HELLO, (1, 0, 0), (0, 1, 3)),
    ):
        claims = table_after(*moves, instance=second).result().outcome.claims
        assert claims == ((0, 1, 3), (1, 0, 0))


def test_incompatible_claims_pay_nothing() -> None:
    for answer in ((1, 0, 1), (0, 0, 0), (1, 1, 0)):
        for objective in ("self", "coop", "comp"):
            table = table_after(HELLO, HELLO, (0, 1, 3), answer, objective=objective)
            assert table.result().outcome.ending == "mismatch"
            assert table.game.payoffs(table.outcome) == {"player_1": 0, "player_2": 0}


def test_early_and_excessive_claims_are_rejected() -> None:
    assert rejection_reason(table_after(), (0, 1, 3)).startswith("nothing has been said yet")
    cases = [
        ((2, 0, 0), "2 books cannot be claimed: there is only 1"),
        ((0, 9, 0), "9 hats cannot be claimed: there is only 1"),
        ((1, 1, 4), "4 balls cannot be claimed: there are only 3"),
    ]
    for claim, reason in cases:
        assert reason in rejection_reason(table_after(HELLO), claim)
        assert reason in rejection_reason(table_after(HELLO, (0, 0, 0)), claim)


def test_turn_limit_ends_game_without_payoff() -> None:
    for moves in ([HELLO] * 5, [HELLO] * 4 + [(0, 1, 3)]):
        table = table_after(*moves, turns=5)
        ended = table.result().outcome
        assert (ended.ending, ended.turns, ended.points) == ("out of turns", 5, None)
        assert set(table.game.payoffs(ended).values()) == {0}
    table = table_after(HELLO, HELLO, HELLO, (1, 0, 0), (0, 1, 3), turns=5)
    assert table.result().outcome.ending == "agreement"


def test_final_failure_aborts_match_without_payoff() -> None:
    assert rules.DealOrNoDeal.tries == 5  # appendix A
    for objective in ("self", "comp"):
        cases: list[list[Any]] = [[], [HELLO], [HELLO, (0, 0, 0)]]
        for moves, by in zip(cases, ("player_1", "player_2", "player_1"), strict=True):
            table = table_after(*moves, None, objective=objective)
            ended = table.result().outcome
            assert (ended.ending, ended.aborted_by, ended.turns) == ("aborted", by, len(moves))
            assert not table.forfeited
            assert set(table.game.payoffs(ended).values()) == {0}
            for player, heard in table.heard.items():
                assert heard[-1].event == rules.GameOver("aborted", PARTNERS[player], None, None, 0)


def test_malformed_actions_are_rejected() -> None:
    cases: list[dict[str, Any]] = [
        {},
        {"message": "Hi.", "books": 1, "hats": 0, "balls": 0},
        {"message": "Hi.", "books": 1},
        {"books": 1, "hats": 0},
    ]
    for fields in cases:
        with pytest.raises(ValidationError):
            rules.MessageOrProposal.model_validate(fields)


def test_payoff_bounds_are_tight() -> None:
    for objective in (0.0, 1.0, -1.0, 0.5, -0.25):
        ((low, high),) = rules.DealOrNoDeal(objective=objective).payoff_bounds().values()
        payoffs = [0.0] + [
            first + objective * second
            for context in all_contexts()
            for first, second in (points(context, claim) for claim in bundles(context.counts))
        ]
        assert (min(payoffs), max(payoffs)) == pytest.approx((low, high))
