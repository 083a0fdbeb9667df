"""The game keeps every law that games keep."""

import pytest

from cheaptalk.conformance import CHECKS, Law, variants
from cheaptalk.rules import Game, game_box

BOX = game_box("ultimatum")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("game", variants(BOX).values(), ids=variants(BOX))
def test_every_law(game: Game, check: Law) -> None:
    """This law, with three seeds."""
    for seed in ("1", "2", "3"):
        check(BOX, game, seed)
