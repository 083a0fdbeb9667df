"""The game keeps every law that games keep."""

import pytest

import cheaptalk as ct

BOX = ct.game_box("tender")
VARIANTS = ct.conformance.variants(BOX)


@pytest.mark.parametrize("check", ct.conformance.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("game", VARIANTS.values(), ids=VARIANTS)
def test_every_law_of_a_setting(game: ct.Game, check: ct.conformance.Law) -> None:
    """This law, with three seeds."""
    for seed in ct.conformance.SEEDS:
        check(BOX, game, seed)


@pytest.mark.parametrize("check", ct.conformance.BOX_CHECKS, ids=lambda check: check.__name__)
def test_every_law_of_the_game_as_a_whole(check: ct.conformance.BoxLaw) -> None:
    """This law, with three seeds."""
    check(BOX, ct.conformance.SEEDS)
