from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from cheaptalk.equilibrium.solvers import bimatrix
from cheaptalk.equilibrium.solvers.bimatrix import (
    bimatrix_equilibria,
    lemke_howson,
    lemke_howson_mixtures,
    undominated_sides,
)
from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats
from cheaptalk.equilibrium.solvers.profiles import Profile, profile, pure_equilibria, verified

Pair = tuple[Floats, Floats]
SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=4)


def game(a: Any, b: Any) -> Pair:
    return np.array(a, dtype=float), np.array(b, dtype=float)


GAMES = {
    "matching pennies": (game([[1, -1], [-1, 1]], [[-1, 1], [1, -1]]), 1),
    "battle of the sexes": (game([[3, 0], [0, 2]], [[2, 0], [0, 3]]), 3),
    "prisoner's dilemma": (game([[3, 0], [5, 1]], [[3, 5], [0, 1]]), 1),
    "hawk-dove": (game([[-1, 2], [0, 1]], [[-1, 0], [2, 1]]), 3),
    "von Stengel's 3 x 2": (game([[3, 3], [2, 5], [0, 6]], [[3, 2], [2, 6], [3, 1]]), 3),
}


def key(solution: Profile) -> tuple[float, ...]:
    return tuple((np.concatenate([solution.row, solution.column]).round(6) + 0.0).tolist())


def test_known_games_have_all_their_equilibria() -> None:
    for payoffs, count in GAMES.values():
        result = bimatrix_equilibria(*payoffs)
        assert len(result.components) == len(result.profiles) == count
        assert max(max(point.regrets) for point in result.profiles) < 1e-12


def test_von_stengel_s_examples() -> None:
    """Von Stengel 2002, games (2.3) and (2.7): all equilibria, by hand."""
    a, b = GAMES["von Stengel's 3 x 2"][0]
    result = bimatrix_equilibria(a, b)
    expected = [(1, 0, 0, 1, 0), (0.8, 0.2, 0, 2 / 3, 1 / 3), (0, 1 / 3, 2 / 3, 1 / 3, 2 / 3)]
    np.testing.assert_allclose([key(point) for point in result.profiles], expected, atol=1e-6)
    result = bimatrix_equilibria(a, [[3, 3], *b[1:]])
    ends = [{key(point) for point in component} for component in result.components]
    assert result.degenerate
    assert ends == [
        {(1, 0, 0, 1, 0), (1, 0, 0, 0.666667, 0.333333)},
        {(0, 0.333333, 0.666667, 0.333333, 0.666667)},
    ]


def test_lemke_howson_follows_the_path_of_its_label() -> None:
    """In a coordination game, each label leads to the pure equilibrium of its strategy."""
    for label in range(6):
        solution = lemke_howson(np.eye(3), np.eye(3), label)
        np.testing.assert_allclose(solution.row, np.eye(3)[label % 3], atol=1e-12)
        np.testing.assert_allclose(solution.column, np.eye(3)[label % 3], atol=1e-12)


def test_continuum_is_one_component_with_its_extreme_points() -> None:
    # The row player is indifferent if the column player plays left; the column player always is.
    result = bimatrix_equilibria([[1, 0], [1, 0]], [[2, 2], [2, 2]])
    assert result.degenerate
    assert [len(component) for component in result.components] == [4]
    assert "a continuum with 4 extreme points" in str(result)
    text = str(bimatrix_equilibria(*GAMES["battle of the sexes"][0]))
    assert text.splitlines()[0] == "isolated: 3, continua: 0 (not degenerate)"
    assert "{0: 0.6, 1: 0.4} x {0: 0.4, 1: 0.6}: payoffs 1.2, 1.2" in text


def test_equilibria_are_invariant_to_scale_and_shift() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 4, 5))
    plain = [key(point) for point in bimatrix_equilibria(a, b).profiles]
    moved = [key(point) for point in bimatrix_equilibria(a * 1e6 + 300, b * 1e-4 - 2).profiles]
    assert moved == plain


@given(st.data())
def test_games_full_of_ties_are_solved(data: st.DataObject) -> None:
    """Every extreme point of a game with ties is an equilibrium, and no pure one is missing."""
    shape = data.draw(SHAPES)
    values = st.integers(0, 3).map(float)
    a, b = (data.draw(arrays(float, shape, elements=values)) for _ in range(2))
    result = bimatrix_equilibria(a, b)
    assert all(max(point.regrets) <= 1e-9 for point in result.profiles)
    pure = {key(point) for point in pure_equilibria(a, b)}
    assert pure <= {key(point) for point in result.profiles}
    if not result.degenerate:
        assert len(result.profiles) % 2 == 1
    for label in range(sum(shape)):
        end = lemke_howson(a, b, label)
        assert max(end.regrets) <= 1e-9
        assert result.degenerate or key(end) in {key(point) for point in result.profiles}


def gambit(a: Floats, b: Floats) -> set[tuple[float, ...]]:
    """Return Gambit's extreme equilibria; exact arithmetic for integers, which have ties."""
    oracle = pytest.importorskip("pygambit")
    integers = bool((a == np.rint(a)).all())
    kind = (lambda payoff: oracle.Rational(int(payoff))) if integers else float
    solved = oracle.Game.from_arrays(*(np.vectorize(kind, otypes=[object])(of) for of in (a, b)))
    result = oracle.nash.enummixed_solve(solved, rational=integers)
    points = set()
    for point in result.equilibria:
        weights = [point[strategy] for player in solved.players for strategy in player.strategies]
        points.add(tuple((np.array(weights, dtype=float).round(6) + 0.0).tolist()))
    return points


def test_extreme_equilibria_match_gambit() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        shape = rng.integers(1, 6, size=2)
        if seed % 2:
            a, b = rng.normal(size=(2, *shape))
        else:
            a, b = rng.integers(0, 3, size=(2, *shape)).astype(float)
        assert {key(point) for point in bimatrix_equilibria(a, b).profiles} == gambit(a, b)


def test_batched_lemke_howson_matches_single_games() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 30, 3, 4))
    for label in (0, 6):
        rows, columns = lemke_howson_mixtures(a, b, label)
        for at in range(30):
            single = lemke_howson(a[at], b[at], label)
            np.testing.assert_allclose(rows[at], single.row, atol=1e-12)
            np.testing.assert_allclose(columns[at], single.column, atol=1e-12)


def test_dominated_strategies_are_removed_and_near_ties_kept() -> None:
    a, b = game([[3, 0, 9], [5, 1, 9], [2, 0, 1]], [[3, 5, 0], [0, 1, 0], [3, 5, 9]])
    rows, columns = undominated_sides(a, b)
    assert rows.tolist() == [False, True, False]
    assert columns.tolist() == [False, True, False]
    rows, _ = undominated_sides(*game([[1, 2], [1 - 1e-13, 2 - 1e-13]], np.zeros((2, 2))))
    assert rows.all()


def test_epsilon_equilibria_have_at_most_that_regret() -> None:
    a, b = game([[3, 0], [2.5, 1]], [[3, 2.9], [0.6, 1]])
    assert [key(point) for point in pure_equilibria(a, b)] == [(1, 0, 1, 0), (0, 1, 0, 1)]
    near = pure_equilibria(a, b, epsilon=0.5)
    assert [key(point) for point in near] == [(1, 0, 1, 0), (0, 1, 1, 0), (0, 1, 0, 1)]
    assert near[1].regrets == pytest.approx((0.5, 0.4))
    with pytest.raises(ValueError, match="epsilon"):
        pure_equilibria(a, b, epsilon=-1)


def test_regret_is_the_gain_of_the_best_response() -> None:
    a, b = game([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    both = profile(a, b, [0.5, 0.5], [1, 0])
    assert both.payoffs == (4, 1.5)
    assert both.regrets == (1, 1.5)
    for wrong in ([0.5, 0.6], [1.5, -0.5], [1.0]):
        with pytest.raises(ValueError, match="2 probabilities"):
            profile(a, b, wrong, [1, 0])


def test_invalid_payoffs_are_named() -> None:
    invalid: list[tuple[Any, Any, str]] = [
        ([[1, 2]], [[1], [2]], "payoffs.T"),
        ([[1, np.nan]], [[1, 2]], r"row player's payoff in cell \(0, 1\) is nan"),
        ([[1e301, 2]], [[1, 2]], r"in cell \(0, 0\) is 1e\+301; the maximum size is"),
        ([[1, 2]], [[np.inf, 2]], r"column player's payoff in cell \(0, 0\) is inf"),
        ([1, 2], [1, 2], "2 dimensions"),
        ([[]], [[]], "at least one cell"),
    ]
    for a, b, message in invalid:
        for solve in (bimatrix_equilibria, pure_equilibria):
            with pytest.raises(ValueError, match=message):
                solve(a, b)


def test_unsolvable_games_raise_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="between 0 and 3"):
        lemke_howson(np.eye(2), np.eye(2), 4)
    with pytest.raises(EquilibriumError, match="62 strategies"):
        bimatrix_equilibria(np.eye(32), np.eye(32))
    a, b = GAMES["prisoner's dilemma"][0]
    with pytest.raises(EquilibriumError, match="a solution has regret 2"):
        verified(a, b, np.array([1.0, 0]), np.array([1.0, 0]))
    with pytest.raises(EquilibriumError, match="too close to a tie"):
        bimatrix.solve(np.ones((1, 2, 4)), np.array([[0, 1]]))
    monkeypatch.setattr(bimatrix, "MOST_BASES", 10)
    with pytest.raises(EquilibriumError, match="too many candidates"):
        bimatrix_equilibria(*np.random.default_rng(0).normal(size=(2, 5, 5)))
    monkeypatch.setattr(bimatrix, "MOST_PIVOTS", 2)
    cycle = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    with pytest.raises(EquilibriumError, match="try another label"):
        lemke_howson(cycle, cycle.T, 0)
