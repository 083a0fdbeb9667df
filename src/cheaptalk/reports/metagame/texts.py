"""Games in plain text, as the command prints them and ``print`` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cheaptalk.equilibrium.tables import PLAIN
from cheaptalk.reports.metagame.spreads import Spread
from cheaptalk.reports.pages import fixed
from cheaptalk.rules import counted

if TYPE_CHECKING:
    from cheaptalk.reports.metagame.analysis import Analysis, Recurrence

SHOWN = 5
"""Equilibria that are told."""
DUST = 1e-9
"""A regret below this share of the range of payoffs is rounding, and no regret."""


def analysis_text(one: Analysis) -> str:
    """A game's equilibria and strategies; the first line is its heading."""
    matches = f", {counted(one.matches, 'match')}" if one.selected else ""
    lines = [f"{one.name}: {counted(len(one.labels), 'strategy')}{matches}"]
    if one.selected and one.selected.apart:
        lines.append(one.selected.apart)
    lines.append(one.found_in_words)
    for component, recurrence in zip(one.found.components[:SHOWN], one.recurring, strict=False):
        point = component.point
        played = mixed(one.labels, point.support, point.mixture.tolist())
        extent = "" if component.isolated else ", of a continuum"
        regret = regret_text(point.regret, one.game.payoffs())
        numbers = f"payoff {fixed(point.payoff, 2)}, regret {regret}{extent}"
        lines.append(f"  {played}: {numbers}{_recurring(recurrence)}")
    if len(one.found.components) > SHOWN:
        lines.append(f"  and {len(one.found.components) - SHOWN} more")
    said = (one.choice_in_words if one.tied_entropy > 1 else "", one.dominated_in_words)
    lines += [f"  {words.rstrip('.')}." for words in said if words]
    columns = {
        "Share": [plus_minus(spread, 3) for spread in one.against("mixture")],
        "Payoff": [plus_minus(spread, 2) for spread in one.gets],
        "Regret": [plus_minus(spread, 2) for spread in one.against("regret")],
        "Best reply": [f"{share:.1%}" for share in one.answering],
    }
    rows = [[one.labels[at], *(cells[at] for cells in columns.values())] for at in one.ranking]
    return "\n".join([*lines, *aligned(["Strategy", *columns], rows, 1), _made(one)])


def plus_minus(one: Spread, places: int) -> str:
    """A number with the standard deviation of its draws; ``none`` where it is undefined."""
    if one.mean is None or one.error is None:
        return "none" if one.estimate is None else fixed(one.estimate, places)
    return f"{fixed(one.mean, places)} ± {fixed(one.error, places)}"


def mixed(labels: Sequence[str], used: Sequence[int], shares: Sequence[float]) -> str:
    """The strategies in use with their shares.

    >>> mixed(["soft", "2"], [0, 1], [0.25, 0.75])
    'soft 0.250, "2" 0.750'
    """
    return ", ".join(f"{called(labels[at])} {shares[at]:.3f}" for at in used)


def called(label: str) -> str:
    """A strategy's name, in quotes where it would pass for a number."""
    return f'"{label}"' if PLAIN.fullmatch(label) else label


def regret_text(regret: float, payoffs: npt.ArrayLike) -> str:
    """A regret in short, 0 where it is rounding for such payoffs.

    >>> regret_text(4e-16, [[1, 0], [0, 1]]), regret_text(0.125, [[1, 0], [0, 1]])
    ('0', '0.1')
    """
    return f"{regret:.1g}" if regret > DUST * float(np.ptp(payoffs)) else "0"


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """A table's lines: so many columns stand left, the others right.

    >>> aligned(["Who", "Gets"], [["soft", "1.00"], ["walk", "23.50"]], 1)
    ['Who    Gets', 'soft   1.00', 'walk  23.50']
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]


def _made(one: Analysis) -> str:
    """How the numbers behind ± were made, or why there are none."""
    if one.unsure:
        return f"No intervals: {one.unsure}."
    warning = f"\n{one.torn}." if one.torn else ""
    return (
        "The table is of the equilibrium of most entropy, and among several with equally much the "
        f"best paid, found anew in each draw: mean ± standard deviation over {one.draws:,} "
        f"bootstrap draws of at least {one.game.fewest:,} deals a cell ({one.drawn_in_words}, "
        f"seed {one.drawn.seed}). What stands above it is of the mean payoffs.{warning}"
    )


def _recurring(recurrence: Recurrence | None) -> str:
    """How often an equilibrium is one of the draws too, and taken there."""
    if recurrence is None:
        return ""
    return f"; exists in {recurrence.exists:.1%} of draws, taken in {recurrence.chosen:.1%}"
