"""Checks of the game with the conformance kit."""

import pytest

import cheaptalk as ct

SPEC = ct.get_game("tender")
VARIANTS = ct.conformance.variants(SPEC)


@pytest.mark.parametrize("check", ct.conformance.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("game", VARIANTS.values(), ids=VARIANTS)
def test_configuration_passes_check(game: ct.Game, check: ct.conformance.Check) -> None:
    """Run one check with three seeds."""
    for seed in ct.conformance.SEEDS:
        check(SPEC, game, seed)


@pytest.mark.parametrize("check", ct.conformance.SPEC_CHECKS, ids=lambda check: check.__name__)
def test_game_passes_check(check: ct.conformance.SpecCheck) -> None:
    """Run one check with three seeds."""
    check(SPEC, ct.conformance.SEEDS)
