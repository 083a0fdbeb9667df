from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space
from scipy.optimize import minimize

from cheaptalk.equilibrium.empirical import ratings
from cheaptalk.equilibrium.empirical.ratings import bradley_terry, elo
from cheaptalk.equilibrium.solvers import rankings as ranking
from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats
from cheaptalk.equilibrium.solvers.rankings import (
    alpha_rank,
    alpha_rank_bimatrix,
    alpha_sweep,
    nash_average,
)
from cheaptalk.equilibrium.solvers.replicator import replicator_dynamics

RPS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], dtype=float)
DILEMMA = np.array([[3, 0], [5, 1]], dtype=float)
HAWK_DOVE = np.array([[-1, 2], [0, 1]], dtype=float)


def plain_alpha_rank(a: Floats, alpha: float, population: int) -> Floats:
    """Compute alpha-rank by its definition, for intensities within floating-point range."""
    size = len(a)
    chain = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            gain = a[j, i] - a[i, j]
            taking_over = (
                1 / population
                if gain == 0
                else (1 - np.exp(-alpha * gain)) / (1 - np.exp(-population * alpha * gain))
            )
            chain[i, j] = taking_over / (size - 1) if i != j else 0
    chain += np.diag(1 - chain.sum(axis=1))
    kernel: Floats = null_space(chain.T - np.eye(size), rcond=1e-10)[:, 0]
    return np.asarray(kernel / kernel.sum())


@given(st.integers(0, 500), st.integers(2, 5), st.floats(0.05, 1.0), st.integers(2, 20))
def test_alpha_rank_is_the_chain_s_stationary_distribution(
    seed: int, size: int, alpha: float, population: int
) -> None:
    a = np.random.default_rng(seed).normal(size=(size, size))
    masses = alpha_rank(a, alpha=alpha, population=population)
    np.testing.assert_allclose(masses, plain_alpha_rank(a, alpha, population), atol=1e-7)


def test_alpha_rank_of_known_games() -> None:
    np.testing.assert_allclose(alpha_rank(RPS, alpha=50), 1 / 3, atol=1e-12)
    np.testing.assert_allclose(alpha_rank(DILEMMA, alpha=50), [0, 1], atol=1e-12)
    np.testing.assert_array_equal(alpha_rank([[4]], alpha=1), [1])


def test_alpha_rank_is_stable_at_high_intensity() -> None:
    """Masses keep their order if probabilities are far below the smallest float."""
    a = np.array([[0, 400, 300], [0, 0, 350], [100, 0, 0]], dtype=float)
    masses = alpha_rank(a, alpha=1e4, population=100)
    assert np.isfinite(masses).all()
    assert masses.sum() == pytest.approx(1)


def test_alpha_rank_of_two_populations() -> None:
    # In matching pennies the four profiles follow each other in a circle.
    pennies = np.array([[1.0, -1], [-1, 1]])
    np.testing.assert_allclose(alpha_rank_bimatrix(pennies, -pennies, alpha=10), 1 / 4, atol=1e-12)
    masses = alpha_rank_bimatrix(DILEMMA, DILEMMA.T, alpha=10)
    np.testing.assert_allclose(masses.ravel(), [0, 0, 0, 1], atol=1e-8)
    # The row player's second strategy always gains 1, the column player is indifferent.
    masses = alpha_rank_bimatrix([[0, 0], [1, 1]], np.zeros((2, 2)), alpha=10)
    np.testing.assert_allclose(masses.ravel(), [0, 0, 0.5, 0.5], atol=1e-8)


def test_alpha_sweep_finds_where_masses_settle() -> None:
    swept = alpha_sweep(DILEMMA, alphas=[100, 0.01, 1, 10])
    np.testing.assert_array_equal(swept.alphas, [0.01, 1, 10, 100])
    assert swept.masses.shape == (4, 2)
    assert swept.settled == 1
    assert alpha_sweep(DILEMMA, alphas=[0.01, 0.02]).settled is None
    both = alpha_sweep(DILEMMA, DILEMMA.T, alphas=[1, 10, 100])
    assert both.masses.shape == (3, 2, 2)


def test_nash_averaging_is_invariant_to_copies() -> None:
    plain = nash_average(RPS / 2)
    np.testing.assert_allclose(plain.mixture, 1 / 3, atol=1e-8)
    np.testing.assert_allclose(plain.ratings, 0, atol=1e-8)
    copied = nash_average(RPS[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])] / 2)
    np.testing.assert_allclose(copied.mixture, [1 / 6, 1 / 6, 1 / 3, 1 / 3], atol=1e-6)
    np.testing.assert_allclose(copied.ratings, 0, atol=1e-8)


def test_nash_averaging_of_balduzzi_s_example() -> None:
    """A cycle with one player that beats the others in parts (section 4.1 of the paper)."""
    cycle = np.array([[0, 4.6, -4.6], [-4.6, 0, 4.6], [4.6, -4.6, 0]])
    rated = nash_average(cycle / 2)
    np.testing.assert_allclose(rated.mixture, 1 / 3, atol=1e-8)
    assert rated.regret < 1e-8
    best = nash_average(DILEMMA)
    np.testing.assert_allclose(best.mixture, [0, 1], atol=1e-12)
    np.testing.assert_allclose(best.ratings, [-5, 0], atol=1e-12)


def test_replicator_dynamics_reach_stable_equilibria() -> None:
    cases: list[Any] = ["continuous", "discrete"]
    for form in cases:
        starts = np.random.default_rng(0).dirichlet(np.ones(2), 40)
        mixed = replicator_dynamics(HAWK_DOVE * 100, starts, form=form)
        assert mixed.at_rest.all()
        assert [point.share for point in mixed.rest_points] == [1]
        np.testing.assert_allclose(mixed.rest_points[0].mixture, 0.5, atol=1e-6)
        assert mixed.rest_points[0].regret < 1e-5
        split = replicator_dynamics([[1, 0], [0, 1]], starts, form=form)
        assert sum(point.share for point in split.rest_points) == pytest.approx(1)
        to_first = next(point.share for point in split.rest_points if point.mixture[0] > 0.5)
        assert to_first == pytest.approx((starts[:, 0] > 0.5).mean())


def test_cycles_are_reported_as_not_at_rest() -> None:
    result = replicator_dynamics(RPS, [[0.5, 0.3, 0.2], [1 / 3, 1 / 3, 1 / 3]], time=50)
    assert result.at_rest.tolist() == [False, True]
    # Along zero-sum orbits the product of the shares stays what it was (Zeeman 1980).
    assert np.prod(result.ends[0]) == pytest.approx(np.prod([0.5, 0.3, 0.2]), rel=1e-6)
    turned = replicator_dynamics(RPS, [[0.5, 0.3, 0.2]], form="discrete", time=50)
    assert np.prod(turned.ends) < np.prod(turned.starts)  # discrete orbits spiral outwards
    assert not turned.at_rest.any()
    assert "50.0% of starts did not converge" in str(result)
    assert "50.0% of starts: {0: 0.3333, 1: 0.3333, 2: 0.3333}, regret" in str(result)


def test_slow_motion_near_a_saddle_is_not_rest() -> None:
    """Nearly all cooperate for a while; defectors gain although shares hardly change."""
    start = [[1 - 1e-12, 1e-12]]
    early = replicator_dynamics(DILEMMA, start, time=1)
    assert not early.at_rest.any()
    assert np.abs(early.ends - early.starts).max() < 1e-9
    late = replicator_dynamics(DILEMMA, start)
    np.testing.assert_allclose(late.rest_points[0].mixture, [0, 1], atol=1e-8)


def test_unplayed_strategy_is_not_imitated() -> None:
    for form in ("continuous", "discrete"):
        result = replicator_dynamics(DILEMMA, [[1, 0]], form=form)
        np.testing.assert_array_equal(result.ends, [[1, 0]])
        assert result.rest_points[0].regret == 2


def test_strengths_by_hand() -> None:
    fitted = bradley_terry([[0, 30], [10, 0]])
    assert fitted.strengths[0] - fitted.strengths[1] == pytest.approx(np.log(3))
    assert fitted.elo.sum() == pytest.approx(3000)
    assert fitted.tie == -np.inf
    assert fitted.misfit < 1e-6
    # Equal players, half of the games tied: v / (2 + v) = 1/2, so v = 2.
    fitted = bradley_terry([[0, 5], [5, 0]], [[0, 10], [10, 0]])
    np.testing.assert_allclose(fitted.strengths, 0, atol=1e-9)
    assert fitted.tie == pytest.approx(np.log(2))
    halves = bradley_terry([[0, 25], [5, 0]], [[0, 10], [10, 0]], ties_as_halves=True)
    assert np.ptp(halves.strengths) == pytest.approx(np.log(3))


@pytest.mark.parametrize("with_ties", [False, True])
def test_strengths_maximise_the_likelihood(with_ties: bool) -> None:
    rng = np.random.default_rng(8)
    wins = rng.integers(1, 30, (5, 5)).astype(float)
    np.fill_diagonal(wins, 0)
    ties = np.triu(rng.integers(1, 9, (5, 5)), 1).astype(float) * with_ties
    ties += ties.T

    def negative_log_likelihood(at: Floats) -> float:
        total = 0.0
        for i in range(5):
            for j in range(5):
                tie = np.exp(at[5] + (at[i] + at[j]) / 2) if with_ties else 0.0
                denominator = np.exp(at[i]) + np.exp(at[j]) + tie
                total += wins[i, j] * np.log(np.exp(at[i]) / denominator)
                if with_ties and i < j:
                    total += ties[i, j] * np.log(tie / denominator)
        return float(at[:5].sum() ** 2 - total)

    best = minimize(negative_log_likelihood, np.zeros(6), tol=1e-12).x
    fitted = bradley_terry(wins, ties if with_ties else None)
    np.testing.assert_allclose(fitted.strengths, best[:5], atol=1e-4)
    if with_ties:
        assert fitted.tie == pytest.approx(best[5], abs=1e-4)


def test_lopsided_records_converge() -> None:
    cases: list[Any] = [
        ([[0, 1, 0], [0, 0, 1e8], [1, 0, 0]], None),
        ([[0, 1e6, 1], [1, 0, 1e6], [1, 1, 0]], None),
        ([[0, 44113, 422], [0, 0, 1], [1, 0, 0]], [[0, 0, 2902], [0, 0, 36], [2902, 36, 0]]),
    ]
    for wins, ties in cases:
        fitted = bradley_terry(wins, ties)
        assert fitted.misfit <= 1e-9 * (np.sum(wins) + np.sum(ties or 0) / 2)
        assert fitted.strengths.sum() == pytest.approx(0, abs=1e-9)


def test_incomparable_players_are_named() -> None:
    wins = np.zeros((4, 4))
    wins[0, 1] = wins[1, 0] = wins[0, 2] = wins[2, 0] = 3
    names = ["ann", "bob", "cy", "dee"]
    with pytest.raises(ValueError, match=r"^dee and ann, bob, cy never met"):
        bradley_terry(wins, names=names)
    wins[3, 0] = 2
    with pytest.raises(ValueError, match=r"^dee and ann, bob, cy have results in one direction"):
        bradley_terry(wins, names=names)
    wins[1, 3] = 1
    assert len(bradley_terry(wins, names=names).strengths) == 4


def test_elo_moves_points_from_loser_to_winner() -> None:
    rated = elo([(0, 1, 1), (1, 2, 0.5), (2, 0, 0)], 3, k=20, start=1000)
    assert rated.sum() == pytest.approx(3000)
    # 1010, 990; then 990 against 1000 at a tie: expected 1 / (1 + 10 ** (10 / 400)).
    gain = 20 * (0.5 - 1 / (1 + 10 ** (10 / 400)))
    assert rated[1] == pytest.approx(990 + gain)


EVEN = [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("rate", "arguments", "options", "message"),
    [
        (alpha_rank, [DILEMMA], {"alpha": 0}, "alpha must"),
        (alpha_rank, [DILEMMA], {"alpha": np.inf}, "alpha must"),
        (alpha_rank, [DILEMMA], {"alpha": 1, "population": 1}, "population must"),
        (alpha_sweep, [DILEMMA], {"alphas": []}, "at least one"),
        (replicator_dynamics, [DILEMMA, [[0.5, 0.6]]], {}, "2 shares"),
        (replicator_dynamics, [DILEMMA, [[1.5, -0.5]]], {}, "2 shares"),
        (replicator_dynamics, [DILEMMA, [[1.0]]], {}, "2 shares"),
        (replicator_dynamics, [DILEMMA, np.zeros((0, 2))], {}, "2 shares"),
        (replicator_dynamics, [DILEMMA, [[0.5, 0.5]]], {"time": 0}, "time"),
        (bradley_terry, [[[0, 1]]], {}, "square"),
        (bradley_terry, [[[0]]], {}, "two players"),
        (bradley_terry, [[[0, -1], [1, 0]]], {}, "counts"),
        (bradley_terry, [[[1, 1], [1, 0]]], {}, "diagonal"),
        (bradley_terry, [EVEN, [[0, 1], [2, 0]]], {}, "symmetric"),
        (bradley_terry, [np.zeros((2, 2)), EVEN], {}, "all games are ties"),
        (bradley_terry, [EVEN], {"names": ["a"]}, "names must be as many as players, 2, not 1"),
        *((elo, [[game], 3], {}, "game") for game in ((0, 0, 1.0), (0, 3, 1.0), (0, 1, 2.0))),
    ],
)
def test_invalid_arguments_are_rejected(
    rate: Any, arguments: list[Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        rate(*arguments, **options)


def test_results_that_cannot_be_verified_raise_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "BALANCE", -1)
    with pytest.raises(EquilibriumError, match="do not balance"):
        alpha_rank(RPS, alpha=1)
    monkeypatch.setattr(ratings, "MOST_STEPS", 1)
    with pytest.raises(EquilibriumError, match="did not converge"):
        bradley_terry([[0, 9], [1, 0]])
