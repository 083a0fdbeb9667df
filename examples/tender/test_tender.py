"""The game keeps every law that games keep."""

import pytest

import cheaptalk as ct

BOX = ct.game_box("tender")
VARIANTS = ct.conformance.variants(BOX)


@pytest.mark.parametrize("check", ct.conformance.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("game", VARIANTS.values(), ids=VARIANTS)
def test_every_law(game: ct.Game, check: ct.conformance.Law) -> None:
    """This law, with three seeds."""
    for seed in ("1", "2", "3"):
        check(BOX, game, seed)
