"""Small games as Gambit's trees (.efg), for its solvers and its graphical interface.

Gambit documentation, File formats, The extensive game (.efg) file format. Strategic games (.nfg)
are written by :func:`~cheaptalk.equilibrium.write_payoffs`.
"""

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from cheaptalk.equilibrium.solvers.payoff_files import written
from cheaptalk.learning.tabular import Tree
from cheaptalk.rules import CheaptalkError, Deal
from cheaptalk.whole_files import whole_file

FINEST = 10**9
"""The largest denominator that a probability is taken to have."""


def write_efg(tree: Tree, path: Path | str, title: str = "") -> None:
    """Write all that can happen in a game to a file that Gambit reads.

    Chance moves first and makes the deal, which names its branch, with all that is drawn in play.
    Actions have the numbers that the array game gives them. Nodes among which a player cannot tell
    are one information set, named ``LEVEL/DECISION`` after its place in a policy of the tree.

    Args:
        path: a file that is there is replaced.
        title: of the game; its name by default. In printable ASCII, as all that Gambit reads.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    try:
        with whole_file(Path(path)) as file:
            file.writelines(f"{line}\n" for line in efg_lines(tree, title))
    except OSError as error:
        raise CheaptalkError(f"{path} cannot be written: {error.strerror or error}") from error


def efg_lines(tree: Tree, title: str = "") -> Iterator[str]:
    """The lines of such a file, node by node from the first to the last, depth first."""
    players = " ".join(map(_quoted, tree.game.players))
    yield f"EFG 2 R {_quoted(title or tree.game.rules.name)} {{ {players} }}"
    yield '""'
    yield ""
    deals = zip(tree.deals, _exact(tree.chances.tolist()), strict=True)
    branches = " ".join(f"{_quoted(_label(deal))} {chance}" for deal, chance in deals)
    yield f'c "" 1 "" {{ {branches} }} 0'
    numbers = _information_sets(tree)
    children = [
        np.searchsorted(level.parent, np.arange(len(level.over) + 1)) for level in tree.levels
    ]
    ended = 0
    ahead = [(0, node) for node in reversed(range(len(tree.deals)))]
    while ahead:
        at, node = ahead.pop()
        level, (first, last) = tree.levels[at], children[at][node : node + 2].tolist()
        if level.over[node]:
            ended += 1
            gets = ", ".join(str(written(float(one))) for one in level.returns[node])
            yield f't "" {ended} "" {{ {gets} }}'
            continue
        decision, player = int(level.decision[node]), int(level.player[node])
        actions = " ".join(f'"{action}"' for action in level.action[first:last].tolist())
        number = numbers[at, decision]
        yield f'p "" {player + 1} {number} "{at}/{decision}" {{ {actions} }} 0'
        ahead += [(at + 1, child) for child in reversed(range(first, last))]


def _information_sets(tree: Tree) -> dict[tuple[int, int], int]:
    """The number of each decision of the tree's levels, counted for each player from 1."""
    counts = [0] * len(tree.game.players)
    found = {}
    for at, level in enumerate(tree.levels):
        decisions, nodes = np.unique(level.decision, return_index=True)
        for decision, node in zip(decisions.tolist(), nodes.tolist(), strict=True):
            if decision >= 0:
                player = int(level.player[node])
                counts[player] += 1
                found[at, decision] = counts[player]
    return found


def _exact(chances: Sequence[float]) -> list[Fraction]:
    """Probabilities as ratios whose sum is 1, as Gambit demands.

    >>> _exact([1 / 3, 1 / 6, 1 / 2])
    [Fraction(1, 3), Fraction(1, 6), Fraction(1, 2)]
    """
    ratios = [Fraction(one).limit_denominator(FINEST) for one in chances]
    whole = sum(ratios)
    return [one / whole for one in ratios]


def _label(deal: Deal) -> str:
    """A deal as JSON in the characters that Gambit has in labels: ASCII, and no two spaces."""
    text = json.dumps(deal.model_dump(mode="json"), separators=(",", ":"))
    return text.replace("  ", "\\u0020 ")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
