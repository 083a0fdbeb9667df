"""Neural fictitious self-play: convergence to known equilibria, and replay buffers."""

from itertools import pairwise

import numpy as np
import pytest

from cheaptalk.arrays.games import array_game
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.sealed_bid_auction.rules import SealedBidAuction, Valuations
from cheaptalk.rules import CheaptalkError

jax = pytest.importorskip("jax")
nfsp = pytest.importorskip("cheaptalk.learning.nfsp")
algorithms = pytest.importorskip("cheaptalk.learning.algorithms")

SMALL = array_game(ItemBargaining(quantities=(1, 1), highest_value=2, rounds=1, discount=0.9))


def decisions(numbers: list[int]) -> object:
    """Return decisions identified by their actions."""
    count = len(numbers)
    seen, legal = np.zeros((count, SMALL.observed)), np.ones((count, SMALL.actions), bool)
    return nfsp.Decisions(seen, legal, np.array(numbers), np.zeros(count), seen, legal)


def test_circular_buffer_keeps_the_newest_and_reservoir_is_uniform() -> None:
    training = nfsp.NFSP(SMALL, nfsp.NFSPSettings(hidden=2))
    memory, there = training._empty(4), np.array([True, True, False, True])
    for first in (0, 10, 20):
        rows = decisions([first, first + 1, first + 2, first + 3])
        memory = nfsp._put(memory, rows, there)
    assert int(memory.count) == 9
    assert sorted(memory.rows.action.tolist()) == [13, 20, 21, 23]

    memory = nfsp._put(training._empty(4), decisions([*range(11)]), np.arange(11) != 9)
    assert sorted(memory.rows.action.tolist()) == [6, 7, 8, 10]

    size, many, keep = 50, 1_000, jax.jit(nfsp._keep)
    kept = np.zeros(many)
    for luck in range(40):
        memory = training._empty(size)
        for part, rows in enumerate(np.arange(many).reshape(-1, 100)):
            key = jax.random.fold_in(jax.random.key(luck), part)
            memory = keep(memory, decisions(rows.tolist()), np.ones(100, bool), key)
        kept[np.asarray(memory.rows.action)] += 1
    halves = kept.reshape(2, -1).sum(axis=1)
    assert halves.sum() == 40 * size
    assert abs(halves[0] - halves[1]) < 5 * np.sqrt(40 * size)


def test_decisions_lead_to_the_players_next_one_or_to_the_payoff() -> None:
    game = array_game(ItemBargaining(quantities=(1, 1), highest_value=2, rounds=2))
    training = nfsp.NFSP(game, nfsp.NFSPSettings(matches=40, hidden=4))
    learned, keys = training.begin(), jax.random.split(jax.random.key(0), 3)
    played = training._play(learned, keys)
    (rows, here, _), returns = training._decisions(played), played.returns
    by_step = [np.asarray(column).reshape(game.longest, 40, -1) for column in rows]
    seen, _, _, reward, after, later = by_step
    there = np.asarray(here).reshape(game.longest, 40)
    for match in range(40):
        steps = np.flatnonzero(there[:, match])
        for player in (0, 1):
            turns = [step for step in steps if seen[step, match, player] == 1]
            for step, following in pairwise(turns):
                np.testing.assert_array_equal(after[step, match], seen[following, match])
                assert later[step, match].any()
                assert reward[step, match] == 0
            if turns:
                assert not later[turns[-1], match].any()
                total = reward[turns[-1], match, 0]
                assert (total > 0) == (float(returns[match, player]) > 0)


def test_first_price_bids_are_shaded_by_the_number_of_bidders() -> None:
    """Vickrey (1961): with uniform values, each of n bidders bids (n - 1) / n of its value."""
    players = 3
    rules = SealedBidAuction(players=players, rounds=1, high=10, step=1, distinct=False)
    game, values = array_game(rules), np.arange(11)
    training = nfsp.NFSP(game, nfsp.NFSPSettings(hidden=64))
    learned = training.train(training.begin(), 256 * 700, every=700)
    begun = game.from_instances([Valuations(valuations=((value,) * players,)) for value in values])
    seen, legal = game.observe(begun, 0), game.legal(begun)
    bids = np.asarray(training.probabilities(learned, seen, legal)) @ values
    assert (np.diff(bids) > -0.2).all()
    assert bids @ values / (values @ values) == pytest.approx((players - 1) / players, abs=0.09)


def test_excessive_training_is_rejected() -> None:
    training = nfsp.NFSP(SMALL, nfsp.NFSPSettings(hidden=4, matches=16))
    with pytest.raises(CheaptalkError, match="limited to 1,073,741,823 matches"):
        training.train(training.begin(), 2**31)
