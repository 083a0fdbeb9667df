"""What is said where exact ties between cells are lost to the draws of the bootstrap."""

from cheaptalk.equilibrium.covariances import torn_cells
from cheaptalk.equilibrium.drawing import shares_deals
from cheaptalk.equilibrium.games import EmpiricalGame
from cheaptalk.rules import counted

NOISE = "come out different in a draw, and what looks like a choice between them is noise"


def torn_in_words(game: EmpiricalGame, *, paired: bool) -> str:
    """Why payoffs that are equal by rule differ from draw to draw; empty where they do not.

    Args:
        paired: whether all cells of a draw have the same deals.
    """
    if not paired:
        if not shares_deals(game):
            return ""
        return (
            "Cells share their deals, yet deals were drawn for each cell: payoffs that are exactly "
            f"equal in several cells, such as outside options, {NOISE}"
        )
    torn = sum(map(torn_cells, game.samples))
    if not torn:
        return ""
    return (
        f"{counted(torn, 'cell')} with payoffs that are equal on all the deals they share, such as "
        f"outside options, have different deals, so that they {NOISE}; play the same deals in all"
    )
