"""All symmetric equilibria: known games, independent solutions, invariance."""

from itertools import product
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from cheaptalk.equilibrium import (
    EquilibriumError,
    SymmetricEquilibria,
    mene_mixtures,
    regret,
    symmetric_equilibria,
)
from cheaptalk.equilibrium.solvers.bimatrix import bimatrix_equilibria
from cheaptalk.equilibrium.solvers.entropy import entropy, most_entropy
from cheaptalk.equilibrium.solvers.faces import equilibrium_faces
from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats

SOLVER = "cheaptalk.equilibrium.solvers.symmetric"
ROCK_PAPER_SCISSORS = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
SOFT_TOUGH_WALK = {
    (0.98, 3): [[303, 49.995, 303.5], [574.693, 291.481, 303.5], [303.5, 303.5, 303.5]],
    (0.9, 3): [[303, 47.975, 303.5], [551.473, 245.835, 303.5], [303.5, 303.5, 303.5]],
    (0.98, 5): [[303, 49.995, 303.5], [574.693, 279.939, 303.5], [303.5, 303.5, 303.5]],
}
"""Payoffs of item bargaining by discount and rounds, in closed form."""
games = st.integers(1, 4).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(-2, 2), min_size=size, max_size=size), min_size=size, max_size=size
    )
)
"""Games of integers: full of ties, about a third of them with a continuum of equilibria."""


def solve(payoffs: Any) -> SymmetricEquilibria:
    """Return the symmetric equilibria after verifying each of them."""
    result = symmetric_equilibria(payoffs)
    span = np.ptp(payoffs)
    assert result.complete
    assert result.bound is None
    assert result.proven
    for component in result.components:
        for point in (component.point.mixture, *component.vertices):
            assert point.min() >= 0
            assert point.sum() == pytest.approx(1, abs=1e-12)
            assert regret(payoffs, point) <= 1e-9 * span
        point = component.point
        assert point.regret == pytest.approx(regret(payoffs, point.mixture), abs=1e-15 * span)
        assert point.payoff == pytest.approx(point.mixture @ payoffs @ point.mixture)
        assert point.entropy == pytest.approx(float(entropy(point.mixture)))
        assert point.support == tuple(np.flatnonzero(point.mixture))
    entropies = [point.entropy for point in result.equilibria]
    assert result.mene.entropy == entropies[0] >= max(entropies) - 1e-9
    return result


def corners(result: SymmetricEquilibria) -> list[list[tuple[float, ...]]]:
    """Return the sorted extreme points of each component."""
    return sorted(
        sorted(rounded(point) for point in component.vertices) for component in result.components
    )


def rounded(point: Floats) -> tuple[float, ...]:
    return tuple(round(float(share), 6) + 0.0 for share in point)


def test_known_games_have_all_equilibria() -> None:
    cases: list[Any] = [
        ([[5]], [1], 1),
        (ROCK_PAPER_SCISSORS, [1 / 3, 1 / 3, 1 / 3], 1),
        ([[1, 0], [0, 1]], [1 / 2, 1 / 2], 3),
        ([[3, 0], [5, 1]], [0, 1], 1),  # prisoner's dilemma: defect
        ([[-1, 2], [0, 1]], [1 / 2, 1 / 2], 1),  # hawk and dove
        ([[4, 0], [3, 3]], [3 / 4, 1 / 4], 3),  # stag hunt
        (np.diag([1, 2, 3]), [6 / 11, 3 / 11, 2 / 11], 7),
        ([[0, 0], [0, 1]], [0, 1], 2),  # the first is weakly dominated, and in equilibrium
        *((payoffs, [0, 0, 1], 1) for payoffs in SOFT_TOUGH_WALK.values()),
    ]
    for payoffs, mixture, count in cases:
        result = solve(np.array(payoffs, dtype=float))
        assert len(result.components) == count
        assert all(component.isolated for component in result.components)
        np.testing.assert_allclose(result.mene.mixture, mixture, atol=1e-12)


def test_every_mixture_is_an_equilibrium_of_equal_payoffs() -> None:
    rounding = np.random.default_rng(1).choice([-1, 0, 1], (6, 6)) * 1e-15
    for payoffs in (np.full((9, 9), 303.5), 303.5 * (1 + rounding)):
        (component,) = symmetric_equilibria(payoffs).components
        assert len(component.vertices) == len(payoffs)
        np.testing.assert_allclose(component.point.mixture, 1 / len(payoffs), atol=1e-9)


def test_equilibria_and_best_responses_use_the_same_tolerance() -> None:
    for lead, played in [(1e-9, {0}), (1e-7, {0}), (1e-5, {0, 1})]:
        game = np.array([[1000, 3], [1000 + lead, 2]])  # the mixture plays 1 with share lead
        result = symmetric_equilibria(game)
        assert {strategy for point in result.equilibria for strategy in point.support} == played
        assert result.mene.regret <= 1e-9 * game.max()
        np.testing.assert_allclose(mene_mixtures(game[None])[0], result.mene.mixture)


@given(games)
def test_components_match_the_symmetric_equilibria_of_the_bimatrix_game(game: Any) -> None:
    """Two extreme equilibria are joined if two mixtures of them, and thus all, are equilibria."""
    payoffs = np.array(game, dtype=float)
    profiles = bimatrix_equilibria(payoffs, payoffs.T).profiles
    points = [point.row for point in profiles if np.allclose(point.row, point.column, atol=1e-9)]
    joined = [
        [max(regret(payoffs, x + t * (y - x)) for t in (0.3, 0.6)) < 1e-9 for x in points]
        for y in points
    ]
    count, group = connected_components(np.array(joined))
    expected = [
        sorted(rounded(point) for point, part in zip(points, group, strict=True) if part == number)
        for number in range(count)
    ]
    result = solve(payoffs)
    assert corners(result) == sorted(expected)
    for component in result.components:
        assert component.point.entropy >= entropy(component.vertices).max() - 1e-9


def test_maximum_entropy_point_is_optimal_in_a_large_polytope() -> None:
    """Seven mixtures of three strategies are in equilibrium if they add up to the same mixture.

    Entropy is concave: if all shares are positive, it is maximal if and only if its gradient,
    -1 - ln x, is a combination of the equations' rows.
    """
    rng = np.random.default_rng(5)
    basic = np.array(ROCK_PAPER_SCISSORS) + np.array([[0], [0.2], [-0.1]])
    mixing = rng.multinomial(10, [1 / 3] * 3, 7) / 10
    component = solve(mixing @ basic @ mixing.T).components[0]
    assert not component.isolated
    mixture = component.point.mixture
    np.testing.assert_allclose(mixture @ mixing, solve(basic).mene.mixture, atol=1e-9)
    assert mixture.min() > 0
    fitted = mixing @ np.linalg.lstsq(mixing, np.log(mixture))[0]  # its rows sum to 1
    np.testing.assert_allclose(fitted, np.log(mixture), atol=1e-6)


def test_regular_games_match_the_equations_of_each_support() -> None:
    rng = np.random.default_rng(2026)
    for size in [*range(2, 9)] * 15:
        payoffs = 5 + rng.normal(size=(size, size))
        expected = []
        for flags in product([False, True], repeat=size):
            if any(flags):
                inner = payoffs[np.ix_(flags, flags)]
                shares, mixture = np.linalg.solve(inner, np.ones(len(inner))), np.zeros(size)
                mixture[list(flags)] = shares / shares.sum()
                answers = payoffs @ mixture
                if mixture.min() >= 0 and answers.max() - mixture @ answers < 1e-9:
                    expected.append(tuple(mixture))
        got = sorted(tuple(point.mixture) for point in solve(payoffs).equilibria)
        np.testing.assert_allclose(got, sorted(expected), atol=1e-7)


def test_equilibria_are_invariant_to_units_and_labels() -> None:
    for size in [3, 6, 9]:
        rng = np.random.default_rng(size)
        for _ in range(10):
            payoffs = rng.normal(size=(size, size))
            mixtures = sorted(tuple(point.mixture) for point in solve(payoffs).equilibria)
            moved = 250 + 37 * payoffs + rng.normal(0, 20, size)  # incentives are unchanged
            assert len(solve(moved).equilibria) == len(mixtures)
            np.testing.assert_allclose(
                sorted(tuple(point.mixture) for point in solve(moved).equilibria),
                mixtures,
                atol=1e-9,
            )
            order = rng.permutation(size)
            shuffled = solve(payoffs[np.ix_(order, order)])
            back = sorted(tuple(point.mixture[np.argsort(order)]) for point in shuffled.equilibria)
            np.testing.assert_allclose(back, mixtures, atol=1e-9)


def test_mixed_dominance_reduces_large_games() -> None:
    rng = np.random.default_rng(4)
    inner = rng.uniform(size=(6, 6))
    weights = rng.dirichlet(np.full(6, 0.8), 19)
    payoffs = rng.uniform(size=(25, 25))
    payoffs[:6, :6] = inner
    payoffs[:6, 6:] = rng.uniform(2, 3, (6, 19))
    payoffs[6:] = weights @ payoffs[:6] - 0.01
    result = solve(payoffs)
    np.testing.assert_allclose(result.mene.mixture[:6], solve(inner).mene.mixture, atol=1e-9)


def test_batched_mixtures_match_single_games() -> None:
    rng = np.random.default_rng(3)
    batch = 300 + rng.normal(0, 12, (60, 9, 1)) + rng.normal(0, 9, (60, 9, 9))
    batch[7] = 5.0
    batch[8, 3] = batch[8, 4]
    batch[9, :, 3], batch[9, 3] = batch[9, :, 4], batch[9, 4]
    batch[10] = np.eye(9)
    mixtures = mene_mixtures(batch)
    for payoffs, mixture in zip(batch, mixtures, strict=True):
        np.testing.assert_allclose(mixture, solve(payoffs).mene.mixture, atol=1e-12)
    assert mene_mixtures(np.zeros((0, 3, 3))).shape == (0, 3)


def test_draws_with_the_same_reduced_game_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    doves = np.array([[-1.0, 2, 2, -9], [0, 1, 1, -9], [0, 1, 1, -9], [-10, -10, -10, -10]])
    draws = np.repeat(doves[None], 5, axis=0)
    draws[:, 3] -= np.arange(5)[:, None]  # the payoffs of a dominated strategy don't matter
    counting = Mock(wraps=equilibrium_faces)
    monkeypatch.setattr(f"{SOLVER}.equilibrium_faces", counting)
    np.testing.assert_allclose(mene_mixtures(draws), [[0.5, 0.25, 0.25, 0]] * 5, atol=1e-9)
    assert counting.call_count == 1


def test_ties_in_entropy_are_ordered_by_payoff_then_index() -> None:
    assert solve(np.diag([1.0, 2.0, 1.5]) - 3 * (1 - np.eye(3))).equilibria[-3].support == (1,)
    twins = solve(np.array([[1.0, 0, 9, 9], [0, 1, 9, 9], [-9, -9, 1, 0], [-9, -9, 0, 1]]))
    assert twins.mene.support == (0, 1)


def test_truncated_search_reports_a_bound() -> None:
    result = symmetric_equilibria(np.eye(15), limit=40_000)
    assert not result.complete
    assert result.bound is not None
    assert result.mene.entropy <= result.bound + 1e-12 or result.proven
    assert "perhaps others" in str(result)


def test_truncated_search_finds_an_equilibrium_by_pivoting() -> None:
    for size in [3, 12, 48]:
        game = np.random.default_rng(size).random((size, size))
        reports: list[float] = []
        result = symmetric_equilibria(game, limit=1, progress=reports.append)
        assert result.components
        assert reports == sorted(reports)
        assert reports[-1] == 1
        for equilibrium in result.equilibria:
            assert regret(game, equilibrium.mixture) < 1e-9
        if size == 12:
            every = [equilibrium.mixture for equilibrium in symmetric_equilibria(game).equilibria]
            for equilibrium in result.equilibria:
                assert np.abs(np.array(every) - equilibrium.mixture).max(axis=1).min() < 1e-7


def test_printing_lists_equilibria_and_continua() -> None:
    assert str(symmetric_equilibria(np.eye(2))).splitlines() == [
        "3 symmetric equilibria, and no others",
        "  {0: 0.5000, 1: 0.5000}, payoff 0.5, entropy 0.6931, regret 0.0e+00",
        "  {0: 1.0000}, payoff 1, entropy 0.0000, regret 0.0e+00",
        "  {1: 1.0000}, payoff 1, entropy 0.0000, regret 0.0e+00",
    ]
    assert "in a continuum with 3 extreme points" in str(symmetric_equilibria(np.ones((3, 3))))
    assert str(symmetric_equilibria(np.eye(5))).endswith("and 11 more")
    result = symmetric_equilibria([[1, 0], [0, 1]], labels=["stay", "go"])
    assert "{stay: 0.5000, go: 0.5000}" in str(result)
    assert "{0: 0.5000, 1: 0.5000}" in str(result.components[0])
    with pytest.raises(ValueError, match="2 strategies need 2 labels, not 1"):
        symmetric_equilibria([[1, 0], [0, 1]], labels=["stay"])


def one_undefined() -> Floats:
    games = np.zeros((3, 2, 2))
    games[1, 0, 1] = np.nan
    return games


@pytest.mark.parametrize(
    ("solver", "arguments", "message"),
    [
        (symmetric_equilibria, [[[1, 2, 3], [4, 5, 6]]], r"square matrix, not shape \(2, 3\)"),
        (symmetric_equilibria, [[]], "square matrix"),
        (symmetric_equilibria, [[[1, np.nan], [0, 1]]], "strategy 0 against strategy 1 is nan"),
        (symmetric_equilibria, [[[1, 0], [-np.inf, 1]]], "strategy 1 against strategy 0 is -inf"),
        (symmetric_equilibria, [[[1, 0], [1e301, 1]]], r"is 1e\+301; the maximum size is 1e\+300"),
        (symmetric_equilibria, [[[1, 2], [3]]], "row 0 has 2 numbers, and row 1 has 1"),
        (symmetric_equilibria, [[[1, "x"], [3, 4]]], "a matrix of numbers; 'x' is not a number"),
        (symmetric_equilibria, [[[[1], [2, 3]], [[4], [5, 6]]]], "is not a number"),
        (mene_mixtures, [np.eye(2)], r"shape \(games, n, n\), not \(2, 2\)"),
        (mene_mixtures, [one_undefined()], "strategy 0 against strategy 1 in game 1 is nan"),
        (regret, [np.eye(2), [0.5, 0.6]], "mixture"),
        (regret, [np.eye(2), [1.5, -0.5]], "mixture"),
        (regret, [np.eye(2), [1, 0, 0]], "mixture"),
    ],
)
def test_invalid_arguments_are_rejected(solver: Any, arguments: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solver(*arguments)


def test_unverifiable_solutions_raise_error() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(EquilibriumError, match="allow a larger tolerance"):
        symmetric_equilibria(ROCK_PAPER_SCISSORS + rng.uniform(0, 0.1, (3, 3)), tolerance=-1)
    with pytest.raises(EquilibriumError, match=r"best responses \[0, 1, 2\] have regrets above"):
        symmetric_equilibria(np.ones((3, 3)), tolerance=-1)
    start = np.array([0.3, 0.4, 0.3])
    with pytest.raises(EquilibriumError, match="is known only to"):
        most_entropy(np.array([[1.0, 1, 0]]), np.empty((0, 3)), start)  # no mixture satisfies it


def test_maximum_entropy_satisfies_the_constraints() -> None:
    none = np.empty((0, 3))
    start = np.array([0.1, 0.6, 0.3])
    np.testing.assert_allclose(most_entropy(none, none, start), 1 / 3, atol=1e-9)
    half = most_entropy(np.array([[1.0, -1, -1]]), none, np.array([0.5, 0.1, 0.4]))  # x0 = x1 + x2
    np.testing.assert_allclose(half, [1 / 2, 1 / 4, 1 / 4], atol=1e-9)
    slack = most_entropy(none, np.array([[1.0, -2, -2], [1, -1, -1]]), start)  # neither binds
    np.testing.assert_allclose(slack, 1 / 3, atol=1e-6)
    tight = most_entropy(none, np.array([[2.0, -1, 0]]), start)  # x1 >= 2 x0
    assert tight[1] == pytest.approx(2 * tight[0], abs=1e-8)
    even = (tight[0] ** 2 * tight[1] ** 4) ** (1 / 6)  # by the gradient condition
    assert tight[0] ** (1 / 3) * tight[1] ** (2 / 3) == pytest.approx(even)


def test_thin_components_are_proven() -> None:
    """The entropy of components thinner than rounding errors used to be known to 5e-08 nats."""
    for successes in (
        "11002100 21011002 01201201 02202021 11120101 00112112 11111101 00100020",
        "0122022 1320120 1011111 0100211 0100212 2102122 2111112",
    ):
        payoffs = np.array([list(map(int, row)) for row in successes.split()]) / 3
        assert all(point.regret <= 1e-9 for point in symmetric_equilibria(payoffs).equilibria)


def test_large_faces_are_searched_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    tied = [rng.integers(0, 2, (7, 7)).astype(float) for _ in range(8)]
    expected = [corners(solve(payoffs)) for payoffs in tied]
    monkeypatch.setattr("cheaptalk.equilibrium.solvers.faces.MANY", 1)
    assert [corners(solve(payoffs)) for payoffs in tied] == expected


def test_too_many_strategies_are_rejected_without_linear_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(game: Floats) -> Flags:
        raise AssertionError

    monkeypatch.setattr(f"{SOLVER}.undominated_by_mixtures", never)
    with pytest.raises(EquilibriumError, match=r"100 strategies remain .* at most 48 can be"):
        symmetric_equilibria(np.random.default_rng(1).normal(size=(100, 100)))


def test_too_many_equilibria_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{SOLVER}.SEPARATE", 30)
    monkeypatch.setattr(f"{SOLVER}.BLOCK", 7)
    assert len(symmetric_equilibria(np.eye(4)).components) == 15
    with pytest.raises(EquilibriumError, match=r"more than 30 of .* strategy sets are supports of"):
        symmetric_equilibria(np.eye(5))
