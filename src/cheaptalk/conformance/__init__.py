"""The conformance kit: laws that every game keeps, as checks to run on one's own.

Run them all with :func:`check_game`, or each as a test of its own::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    @pytest.mark.parametrize("game", variants(BOX).values(), ids=variants(BOX))
    def test_my_game(game, check):
        check(BOX, game, "any seed")

A check plays matches between ``random`` strategies, drawn by the seed, and raises
:class:`ConformanceError` where a law is broken.
"""

from collections.abc import Iterable

from cheaptalk.conformance.answers import check_answers, check_forfeits, check_schemas
from cheaptalk.conformance.declarations import (
    check_json,
    check_measures,
    check_payoffs,
    check_seats,
    check_series,
    check_strategies,
    check_words,
)
from cheaptalk.conformance.matches import ConformanceError, Law, random_moves, variants
from cheaptalk.conformance.privacy import check_secrets, check_simultaneous
from cheaptalk.conformance.repetition import check_replay, check_same_seed
from cheaptalk.conformance.talk import check_talk
from cheaptalk.rules import GameBox

CHECKS: tuple[Law, ...] = (
    check_seats,
    check_strategies,
    check_words,
    check_same_seed,
    check_replay,
    check_simultaneous,
    check_secrets,
    check_schemas,
    check_answers,
    check_forfeits,
    check_payoffs,
    check_measures,
    check_series,
    check_json,
    check_talk,
)
"""Every law, the simplest first."""


def check_game(box: GameBox, seeds: Iterable[str] = ("1", "2", "3")) -> None:
    """Run every check on every variant of a game, with each seed.

    Raises:
        ConformanceError: the first law that the game breaks, with where and how.
    """
    for seed in seeds:
        for game in variants(box).values():
            for check in CHECKS:
                check(box, game, seed)


__all__ = [
    "CHECKS",
    "ConformanceError",
    "Law",
    "check_answers",
    "check_forfeits",
    "check_game",
    "check_json",
    "check_measures",
    "check_payoffs",
    "check_replay",
    "check_same_seed",
    "check_schemas",
    "check_seats",
    "check_secrets",
    "check_series",
    "check_simultaneous",
    "check_strategies",
    "check_talk",
    "check_words",
    "random_moves",
    "variants",
]  # fmt: skip
