import numpy as np

from cheaptalk.equilibrium.empirical.bootstrap import recurs, weakly_dominated
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures, symmetric_equilibria

HAWK_DOVE = np.array([[-1.0, 2], [0, 1]])
COORDINATION = np.eye(2)


def test_equilibrium_recurs_if_its_support_has_one() -> None:
    for support, expected in [
        ((0,), [False, True, True]),
        ((1,), [False, True, True]),
        ((0, 1), [True, True, True]),
    ]:
        games = np.stack([HAWK_DOVE, COORDINATION, np.ones((2, 2))])
        assert recurs(games, support).tolist() == expected


def test_recurrence_matches_the_list_of_all_equilibria() -> None:
    draw = np.random.default_rng(1)
    games = draw.normal(300, 30, (200, 3, 3))
    chosen = mene_mixtures(games) > 0
    for support in ((0,), (0, 1), (0, 1, 2)):
        mask = np.isin(np.arange(3), support)
        expected = [
            any(point.support == support for point in symmetric_equilibria(game).equilibria)
            for game in games
        ]
        assert recurs(games, support).tolist() == expected
        assert recurs(games, support)[(chosen == mask).all(axis=1)].all()


def test_continuum_cut_by_a_third_strategy_is_searched() -> None:
    cut = np.array([[1.0, 1, 0], [1, 1, 0], [3, 0, 0]])  # the third must not gain: x0 <= 1/3
    excluded = np.array([[1.0, 1, 0], [1, 1, 0], [3, 3, 0]])
    assert recurs(np.stack([cut, excluded]), (0, 1)).tolist() == [True, False]


def test_weak_dominance_requires_a_strictly_worse_payoff() -> None:
    payoffs = np.array([[1.0, 1, 1], [2, 1, 1], [2, 1, 1 + 1e-13]])
    assert weakly_dominated(payoffs) == [(1, 2), (), ()]
