"""The sealed-bid auction: rules, theory, metrics, strategies and prompts."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.sealed_bid_auction import SPEC
from cheaptalk.games.sealed_bid_auction.events import Bid, Briefing, Prior, RoundResult, Turn
from cheaptalk.games.sealed_bid_auction.rules import Bids, SealedBidAuction, Valuations
from cheaptalk.games.sealed_bid_auction.strategies import equilibrium_bid
from cheaptalk.rules import Chance, IllegalAction, Result, Table
from cheaptalk.styles import style_in
from tests.games.tables import events, play_out, styles, table_of

GAMA = SealedBidAuction(draws="gama")


def hands(*rows: tuple[int, ...], precedence: tuple[tuple[str, ...], ...] = ()) -> Valuations:
    return Valuations(valuations=rows, precedence=precedence)


def auction(players: int = 3, rounds: int = 1, **parameters: Any) -> SealedBidAuction:
    return SealedBidAuction(players=players, rounds=rounds, **parameters)


def result(game: SealedBidAuction, instance: Valuations, *bids: tuple[int, ...]) -> Result:
    table = table_of(game, *bids, instance=instance)
    assert table.outcome is not None
    return Result.of(game, instance, table.outcome)


def metric(name: str, result: Result, published: bool = False) -> float | None:
    return SPEC.metrics[name].variant(published)(result)


def gama_score(strategy: str, published: bool = False, **settings: Any) -> float | None:
    """Return the score of ten players of a strategy with GAMA-Bench's valuations."""
    outcome = play_out(GAMA, SPEC.strategies[strategy].with_settings(**settings))
    return metric("score", Result.of(GAMA, GAMA.draw_instance(Chance("any")), outcome), published)


# Rules


@pytest.mark.parametrize(("price", "paid"), [("first", 70), ("second", 60)])
def test_highest_bid_wins_and_pays_first_or_second_price(price: Any, paid: int) -> None:
    game = auction(price=price)
    match = result(game, hands((100, 90, 80)), (60, 70, 10))
    assert match.outcome == Bids(
        choices=((60, 70, 10),), gains=((0, 90 - paid, 0),), winners=("player_2",)
    )
    assert game.payoffs(match.outcome) == {"player_1": 0, "player_2": 90 - paid, "player_3": 0}


def test_round_result_hides_identity_of_winner() -> None:
    table = table_of(
        auction(rounds=2, price="second"), (60, 70, 10), instance=hands((100, 90, 80), (10, 20, 30))
    )
    assert events(table, "player_1")[-1] == RoundResult(1, 100, 60, 70, 60, False, False, 0)
    assert events(table, "player_2")[-1] == RoundResult(1, 90, 70, 70, 60, True, False, 30)
    assert table.pending["player_2"].event == Turn(2, 20, 20)


@pytest.mark.parametrize("favoured", ["player_1", "player_3"])
def test_precedence_decides_only_ties(favoured: str) -> None:
    instance = hands((50, 50, 50), (50, 50, 50), precedence=((favoured,), (favoured,)))
    match = result(auction(rounds=2), instance, (40, 30, 40), (10, 30, 20))
    assert match.outcome.winners == (favoured, "player_2")


def test_tie_without_precedence_goes_to_first_tied_player() -> None:
    assert result(auction(), hands((9, 9, 9)), (1, 8, 8)).outcome.winners == ("player_2",)


def test_tied_winner_pays_its_bid_at_second_price() -> None:
    match = result(auction(price="second"), hands((9, 9, 9)), (8, 8, 0))
    assert match.outcome.gains == ((1, 0, 0),)


def test_ties_are_broken_at_random() -> None:
    game = auction(players=2, rounds=400, low=10, high=20, distinct=False)
    outcome = play_out(game, SPEC.strategies["fixed"].with_settings(choices=(5,)))
    assert isinstance(outcome, Bids)
    assert outcome.winners.count("player_1") / 400 == pytest.approx(0.5, abs=0.08)


def test_bids_above_own_valuation_are_rejected() -> None:
    table = Table(auction(), hands((30, 90, 80)), "test")
    with pytest.raises(IllegalAction, match='"bid" must be from 0 to 30, not 31'):
        table.answer("player_1", Bid(bid=31))
    with pytest.raises(IllegalAction, match='"bid" must be from 0 to 90, not -1'):
        table.answer("player_2", Bid(bid=-1))
    table.answer("player_2", Bid(bid=31))


def test_disabled_limits_allow_bids_at_a_loss() -> None:
    game = auction(limits=False)
    match = result(game, hands((30, 90, 80)), (120, 0, 0))
    assert game.payoffs(match.outcome)["player_1"] == -90
    assert events(Table(game, hands((30, 90, 80)), "1"), "player_1")[0] == Briefing(
        3, 1, "first", None, False
    )


def test_rejection_names_applicable_limit() -> None:
    table = Table(auction(limits=False), hands((30, 90, 80)), "1")
    with pytest.raises(IllegalAction, match='"bid" must be 0 or more, not -5'):
        table.answer("player_1", Bid(bid=-5))
    table = Table(auction(), hands((0, 90, 80)), "1")
    with pytest.raises(IllegalAction, match='"bid" must be 0, not 5'):
        table.answer("player_1", Bid(bid=5))


@pytest.mark.parametrize("bid", [True, 1.5, "twelve", None])
def test_bids_must_be_integers(bid: object) -> None:
    with pytest.raises(ValidationError):
        Bid.model_validate({"bid": bid})
    assert Bid.model_validate({"bid": "12"}).bid == 12


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"low": 200}, "high: must be low plus a positive multiple of step"),
        ({"step": 7}, "high: must be low plus a positive multiple of step"),
        ({"players": 22}, "distinct: 22 players need as many valuations, but only 21"),
        ({"high": 1_000_000, "step": 10}, "at most 10,001"),
        ({"draws": "gama", "distinct": False}, "draws: "),
        ({"low": -10}, "greater than or equal to 0"),
        ({"price": "third"}, "first"),
    ],
)
def test_invalid_auctions_are_rejected(parameters: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        SealedBidAuction(**parameters)


# Valuations


def test_gama_bench_valuations_use_seeds_42_to_61() -> None:
    rows = GAMA.draw_instance(Chance("any")).valuations
    assert rows == GAMA.draw_instance(Chance("another")).valuations
    assert rows[0] == (200, 30, 0, 80, 70, 160, 20, 110, 10, 100)
    assert rows[1] == (10, 90, 40, 140, 110, 30, 70, 190, 170, 130)
    assert rows[19] == (150, 50, 170, 60, 100, 90, 190, 120, 110, 0)
    assert len(rows) == 20
    assert sum(value == 0 for row in rows for value in row) == 11


@given(st.integers(2, 6), st.integers(1, 5), st.booleans(), st.text(max_size=3))
def test_valuations_lie_on_grid(players: int, rounds: int, distinct: bool, seed: str) -> None:
    game = auction(players, rounds, low=20, high=70, step=10, distinct=distinct)
    instance = game.draw_instance(Chance(seed))
    assert [len(row) for row in instance.valuations] == [players] * rounds
    for row, order in zip(instance.valuations, instance.precedence, strict=True):
        assert set(row) <= set(range(20, 71, 10))
        assert not distinct or len(set(row)) == players
        assert sorted(order) == sorted(game.seats)


def test_valuations_are_uniformly_distributed() -> None:
    game = auction(2, 3_000, high=20)
    drawn = [row[1] for row in game.draw_instance(Chance("1")).valuations]
    assert [drawn.count(value) / 3_000 for value in (0, 10, 20)] == pytest.approx(
        [1 / 3] * 3, abs=0.04
    )


def test_longer_match_starts_with_same_valuations() -> None:
    short, long = (auction(3, rounds).draw_instance(Chance("1")) for rounds in (2, 5))
    assert long.valuations[:2] == short.valuations
    assert long.precedence[:2] == short.precedence


def test_valuations_are_secrets() -> None:
    game = auction(rounds=2)
    instance = hands((10, 200, 30), (40, 200, 60))
    secrets = {tuple(secret.owners): secret.instance for secret in game.secrets(instance)}
    assert secrets == {
        ("player_1",): hands((200, 200, 30), (200, 200, 60)),
        ("player_3",): hands((10, 200, 200), (40, 200, 200)),
    }


# Theory


@given(st.integers(2, 10), st.fractions(0, 1), st.fractions(0, 1))
def test_first_price_equilibrium_bid_is_optimal(
    players: int, valuation: Fraction, other: Fraction
) -> None:
    """Valuations are uniform on [0, 1], and all others bid (N - 1) / N of theirs."""

    def expected(bid: Fraction) -> Fraction:
        beaten = min(bid * Fraction(players, players - 1), Fraction(1))
        return (valuation - bid) * beaten ** (players - 1)

    assert expected(valuation * Fraction(players - 1, players)) >= expected(other)
    assert equilibrium_bid(float(valuation), players, "first") == pytest.approx(
        float(valuation) * (players - 1) / players
    )


@given(st.lists(st.integers(0, 30), min_size=3, max_size=5), st.integers(0, 30))
def test_truthful_bid_is_optimal_at_second_price(values: list[int], bid: int) -> None:
    value, *others = values
    game = auction(len(values), price="second", limits=False)
    instance = hands(tuple(values))
    gain = game.gains(1, [int(equilibrium_bid(value, len(values), "second")), *others], instance)[0]
    assert gain >= game.gains(1, [bid, *others], instance)[0]


def test_grid_lowers_highest_other_valuation() -> None:
    grid, players = range(0, 60, 10), 3
    below = [max(others) for others in combinations(grid, players - 1)]
    average = sum(below) / len(below)
    assert average == pytest.approx(equilibrium_bid(60, players, "first") - 10 / players)


def test_lowest_valuation_raises_equilibrium_bid() -> None:
    assert equilibrium_bid(150, 2, "first", low=100) == 125
    game = auction(2, 1, low=100, common_prior=True)
    table = Table(game, hands((150, 110)), "1")
    strategy = SPEC.strategies["equilibrium"]
    assert strategy(table.request("player_1")) == Bid(bid=125)
    untold = Table(auction(2, 1, low=100), hands((150, 110)), "1")
    assert strategy(untold.request("player_1")) == Bid(bid=75)


# Metrics


@pytest.mark.parametrize(
    ("strategy", "settings", "score"),
    [
        ("fixed", {"choices": (0,)}, 94.5),
        ("shade", {"share": 0.9}, 9.45),
        ("equilibrium", {}, 9.45),
        ("truthful", {}, 0),
    ],
)
def test_scores_of_fixed_bids_with_gama_bench_valuations(
    strategy: str, settings: dict[str, Any], score: float
) -> None:
    assert gama_score(strategy, **settings) == pytest.approx(score)
    assert gama_score(strategy, published=True, **settings) == pytest.approx(score)


def test_published_score_has_floor() -> None:
    match = result(auction(limits=False), hands((0, 100, 50)), (5, 40, 100))
    assert metric("score", match) == pytest.approx(100 * (0 + 0.6 - 1) / 3)
    assert metric("score", match, published=True) == pytest.approx(100 * 0.6 / 3)


def test_second_price_has_no_score() -> None:
    match = result(auction(price="second"), hands((10, 20, 30)), (1, 2, 3))
    assert metric("score", match) is None
    assert metric("score", match, published=True) is None


def test_other_metrics() -> None:
    game = auction(3, 2, limits=False, price="second")
    match = result(game, hands((0, 100, 50), (10, 30, 20)), (5, 40, 100), (10, 30, 20))
    assert metric("overbids", match) == pytest.approx(2 / 6)
    assert metric("efficiency", match) == 0.5
    assert metric("revenue", match) == (40 + 20) / 2
    assert metric("gain", match) == (10 + 10) / 2
    assert metric("bid_share", match) == pytest.approx((0.4 + 2 + 1 + 1 + 1) / 5)


def test_bid_share_is_undefined_if_valuations_are_zero() -> None:
    assert metric("bid_share", result(auction(), hands((0, 0, 0)), (0, 0, 0))) is None


@given(st.integers(0, 99), st.sampled_from(("first", "second")))
def test_equilibrium_bids_are_efficient(seed: int, price: Any) -> None:
    game = auction(5, 4, price=price)
    instance = game.draw_instance(Chance(f"{seed}").apart("deal"))
    outcome = play_out(game, SPEC.strategies["equilibrium"], seed=f"{seed}")
    assert metric("efficiency", Result.of(game, instance, outcome)) == 1


# Strategies


def test_fixed_bids_cycle_and_are_limited_to_legal_bids() -> None:
    instance = hands((100, 30), (100, 30), (100, 30))
    fixed = SPEC.strategies["fixed"]
    for limits, last in ((True, 30), (False, 80)):
        table = Table(auction(2, 3, limits=limits), instance, "1")
        bids = []
        while not table.over:
            for seat in ("player_1", "player_2"):
                action = fixed(table.request(seat), choices=(20, 80))
                assert isinstance(action, Bid)
                bids.append(action.bid)
                table.answer(seat, action)
        assert bids == [20, 20, 80, last, 20, 20]


def test_random_bids_differ() -> None:
    outcome = play_out(auction(2, 50), SPEC.strategies["random"])
    assert len({bid for row in outcome.choices for bid in row}) > 10


# Prompts


@pytest.mark.parametrize("name", styles(SPEC))
@pytest.mark.parametrize("price", ["first", "second"])
@pytest.mark.parametrize("limits", [True, False])
def test_all_styles_state_same_facts(name: str, price: Any, limits: bool) -> None:
    game = auction(4, 3, price=price, limits=limits)
    instance = hands(*[(77, 90, 80, 12)] * 3)
    style = style_in(SPEC, name)
    heard = table_of(game, (61, 70, 10, 0), instance=instance).heard["player_1"]
    briefing, turn, report = style.story(heard, game, "player_1")
    assert "Player 1" in briefing
    assert "3 round" in briefing or "Rounds: 3" in briefing
    assert ("3" if name == "v4" else "4") in briefing
    assert ("second highest" in briefing or "the others." in briefing) == (price == "second")
    assert "200" not in briefing
    assert "77" in turn
    assert turn.count("77") == (2 if limits else 1)
    for fact in ("77", "61", "70", "61" if price == "second" else "70", "not"):
        assert fact in report.lower()
    assert '{"bid": <whole number>}' in style.how(Bid, game, "player_1")


@pytest.mark.parametrize("name", styles(SPEC))
@pytest.mark.parametrize("distinct", [True, False])
def test_common_prior_appears_in_briefing(name: str, distinct: bool) -> None:
    game = auction(3, 1, low=40, high=160, step=20, common_prior=True, distinct=distinct)
    (briefing, *_) = events(table_of(game), "player_1")
    assert isinstance(briefing, Briefing)
    assert briefing.prior == Prior(40, 160, 20, distinct)
    text = style_in(SPEC, name).tell(briefing, game, "player_1")
    assert "40, 60, and so on in steps of 20 up to 160" in text
    different = any(word in text for word in ("differ", "never the same", "no two"))
    assert different == distinct


@pytest.mark.parametrize("name", styles(SPEC))
def test_only_tied_bidders_read_about_lot(name: str) -> None:
    game = auction()
    table = table_of(game, (5, 5, 4), instance=hands((9, 9, 9), precedence=(("player_2",),)))
    texts = [style_in(SPEC, name).tell(events(table, seat)[-2], game, seat) for seat in game.seats]
    assert "the lot fell on another player." in texts[0]
    assert "the lot fell on you." in texts[1]
    assert "lot" not in texts[2]


@pytest.mark.parametrize("name", styles(SPEC))
@pytest.mark.parametrize("rounds", [1, 2])
def test_briefing_mentions_new_items_only_with_several_rounds(name: str, rounds: int) -> None:
    game = auction(3, rounds)
    text = style_in(SPEC, name).tell(events(table_of(game), "player_1")[0], game, "player_1")
    new = any(words in text for words in ("new item", "new valuation", "item of the next round"))
    assert new == (rounds > 1)
    assert "not told" in text or "not disclosed" in text


@pytest.mark.parametrize("name", styles(SPEC))
def test_request_states_that_only_zero_is_possible(name: str) -> None:
    game = auction()
    table = table_of(game, instance=hands((0, 9, 9)))
    prompt = style_in(SPEC, name).ask(table.pending["player_1"], game).lower()
    assert "only 0" in prompt or "only bid 0" in prompt
    assert "0 to 0" not in prompt
