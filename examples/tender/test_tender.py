"""The game satisfies every law of the conformance kit."""

import pytest

import cheaptalk as ct

SPEC = ct.get_game("tender")
VARIANTS = ct.conformance.variants(SPEC)


@pytest.mark.parametrize("check", ct.conformance.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("game", VARIANTS.values(), ids=VARIANTS)
def test_every_law_of_a_setting(game: ct.Game, check: ct.conformance.Check) -> None:
    """Check this law with three seeds."""
    for seed in ct.conformance.SEEDS:
        check(SPEC, game, seed)


@pytest.mark.parametrize("check", ct.conformance.SPEC_CHECKS, ids=lambda check: check.__name__)
def test_every_law_of_the_game_as_a_whole(check: ct.conformance.SpecCheck) -> None:
    """Check this law with three seeds."""
    check(SPEC, ct.conformance.SEEDS)
