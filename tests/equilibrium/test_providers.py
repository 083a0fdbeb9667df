from typing import Any

import numpy as np
import pytest

from cheaptalk.equilibrium.empirical.model_choice import model_choice
from cheaptalk.equilibrium.solvers import provider_game as module
from cheaptalk.equilibrium.solvers.bimatrix import lemke_howson
from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats
from cheaptalk.equilibrium.solvers.provider_game import provider_game

NAMES = ["Ant", "Ant", "Bee", "Bee", "Bee", "Cat"]


def drawn(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(300, 40, size=(count, 6, 6))


def test_pairs_of_providers_get_their_inner_equilibrium() -> None:
    payoffs = drawn(4)
    result = provider_game(payoffs, NAMES)
    assert result.providers == ("Ant", "Bee", "Cat")
    groups = [[0, 1], [2, 3, 4], [5]]
    for draw, matrix in enumerate(payoffs):
        for a, rows in enumerate(groups):
            for b, columns in enumerate(groups):
                inner = matrix[np.ix_(rows, columns)], matrix[np.ix_(columns, rows)].T
                solution = lemke_howson(*inner, 0)
                assert result.payoffs[draw, a, b] == pytest.approx(solution.payoffs[0])
    assert result.regrets is not None
    assert result.regrets.max() < 1e-7
    np.testing.assert_allclose(result.best_responses().sum(axis=0), 1)
    with pytest.raises(ValueError, match="pass `given`"):
        result.value_given()
    tied = provider_game(np.ones((2, 2)), ["A", "B"]).best_responses()
    np.testing.assert_array_equal(tied, 0.5)


def test_two_providers_by_hand() -> None:
    # A's x is dominated by y, so A plays y; B's best response is w, which is worth 4 to A.
    payoffs = np.zeros((4, 4))
    payoffs[:2, 2:] = [[0, 1], [3, 4]]  # x, y against v, w
    payoffs[2:, :2] = [[9, 2], [0, 6]]  # v, w against x, y
    payoffs[:2, :2] = [[1, 1], [2, 2]]
    payoffs[2:, 2:] = [[5, 5], [5, 5]]
    given = np.arange(16.0).reshape(4, 4)
    result = provider_game(payoffs, ["A", "A", "B", "B"], given=given)
    np.testing.assert_allclose(result.payoffs[0], [[2, 4], [6, 5]])
    assert result.given is not None
    assert result.given[0, 0, 1] == given[1, 3]
    assert result.given[0, 1, 0] == given[3, 1]
    # The game [[2, 4], [6, 5]] has one symmetric equilibrium: B is better against either.
    np.testing.assert_allclose(result.best_responses(), [[0, 0], [1, 1]])
    np.testing.assert_allclose(result.mixtures(), [[0, 1]], atol=1e-12)
    np.testing.assert_allclose(result.value_given(), result.given[:, :, 1])
    assert str(result).splitlines()[1].split() == ["A", "0.00", "0.00"]


def test_end_selects_among_several_inner_equilibria() -> None:
    """In a battle of the sexes, A gets 3 or 2, depending on the end of the path."""
    payoffs = np.zeros((4, 4))
    payoffs[:2, 2:] = [[3, 0], [0, 2]]
    payoffs[2:, :2] = [[2, 0], [0, 3]]
    names = ["A", "A", "B", "B"]
    high, low, first = (
        provider_game(payoffs, names, end=end) for end in ("highest", "lowest", "first")
    )
    assert high.payoffs[0, 0, 1] == high.payoffs[0, 1, 0] == pytest.approx(3)
    assert low.payoffs[0, 0, 1] == low.payoffs[0, 1, 0] == pytest.approx(2)
    assert first.payoffs[0, 0, 1] == pytest.approx(3)  # A begins with what is best for A
    np.testing.assert_array_equal(high.several, [[0, 1], [1, 0]])
    assert "several inner equilibria, most often A against B: in 100% of draws" in str(high)


def test_selected_strategy_does_best_against_rivals() -> None:
    # A's second strategy does better against B's only one; B has no choice.
    payoffs = np.array([[1, 9, 2], [0, 5, 4], [7, 8, 3]], dtype=float)
    result = provider_game(payoffs, ["A", "A", "B"], reading="selected")
    np.testing.assert_allclose(result.payoffs[0], [[5, 4], [8, 3]])
    assert result.regrets is None
    assert not result.several.any()


def test_invalid_input_is_rejected() -> None:
    invalid: list[tuple[Any, list[str], dict[str, Any], str]] = [
        (np.ones((2, 3)), ["A", "B"], {}, r"shape \(2, 2\) or"),
        (np.ones((2, 2)), ["A", "B", "C"], {}, r"shape \(3, 3\) or .* 3 providers"),
        (np.ones((0, 2, 2)), ["A", "B"], {}, "must have shape"),
        (np.ones((2, 2)), ["A", "A"], {}, "all strategies belong to A"),
        ([[1, np.nan], [1, 1]], ["A", "B"], {}, "strategy 0 against 1 is nan in draw 0"),
        (np.ones((2, 2)), ["A", "B"], {"given": np.ones((3, 2, 2))}, "given must have the shape"),
    ]
    for payoffs, names, more, message in invalid:
        with pytest.raises(ValueError, match=message):
            provider_game(payoffs, names, **more)


def test_inner_equilibria_with_regret_raise_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(payoffs: Floats, rival_payoffs: Floats, label: int) -> tuple[Floats, Floats]:
        rows, columns = np.zeros(payoffs.shape[:2]), np.zeros(rival_payoffs.shape[::2])
        rows[:, 0] = columns[:, 0] = 1
        return rows, columns

    monkeypatch.setattr(module, "lemke_howson_mixtures", wrong)
    with pytest.raises(EquilibriumError, match="draw 0 has regret"):
        provider_game(drawn(2), NAMES)


def test_model_choice_counts_draws() -> None:
    a = np.array([[3.0, 0], [0, 2]])
    flipped = np.array([[0.0, 1], [1, 0]])
    draws = np.array([a, a, a, flipped]), np.array([a, a, -a, flipped])
    result = model_choice(a, a, ["x", "y"], ["p", "q"], draws=draws)
    assert [equilibrium.payoffs for equilibrium in result.equilibria] == [(3, 3), (2, 2)]
    np.testing.assert_array_equal(result.support, [[0.5, 0.25], [0.25, 0.5]])
    assert result.without == 0.25
    assert str(result).splitlines() == [
        "(x, p): an equilibrium of the estimates; an equilibrium in 50.0% of draws",
        "(y, q): an equilibrium of the estimates; an equilibrium in 50.0% of draws",
        "(x, q): no equilibrium of the estimates; an equilibrium in 25.0% of draws",
        "(y, p): no equilibrium of the estimates; an equilibrium in 25.0% of draws",
        "no pure equilibrium in 25.0% of draws",
    ]
    pennies = np.array([[1.0, -1], [-1, 1]])
    result = model_choice(pennies, -pennies, ["x", "y"], ["x", "y"])
    assert (result.equilibria, result.support, str(result)) == ((), None, "no pure equilibrium")


def test_model_choice_rejects_mismatched_shapes() -> None:
    with pytest.raises(ValueError, match="as many names"):
        model_choice(np.eye(2), np.eye(2), ["x"], ["x", "y"])
    with pytest.raises(ValueError, match="draws must have shape"):
        model_choice([[1]], [[1]], ["x"], ["y"], draws=(np.ones((4, 1, 2)), np.ones((4, 1, 2))))
