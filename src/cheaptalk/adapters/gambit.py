"""Export of small games to files for Gambit's solvers and graphical interface (.efg).

Source: Gambit documentation, File formats, The extensive game (.efg) file format. For strategic
games (.nfg), use :func:`~cheaptalk.equilibrium.write_payoffs`.
"""

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from cheaptalk.atomic_files import whole_file
from cheaptalk.equilibrium.solvers.payoff_files import written
from cheaptalk.learning.tabular import Tree
from cheaptalk.rules import CheaptalkError, Instance

FINEST = 10**9
"""Maximum denominator of a probability."""


def write_efg(tree: Tree, path: Path | str, title: str = "") -> None:
    """Write a game's full tree to a Gambit file.

    Chance moves first and draws the instance, which names its branch, with everything drawn during
    play. Actions have their numbers in the array game. Nodes that a player can't distinguish form
    an information set, named ``LEVEL/DECISION`` after its position in a policy of the tree.

    Args:
        path: an existing file is replaced.
        title: the game's title in printable ASCII; by default its name.

    Raises:
        CheaptalkError: the file can't be written.
    """
    try:
        with whole_file(Path(path)) as file:
            file.writelines(f"{line}\n" for line in efg_lines(tree, title))
    except OSError as error:
        raise CheaptalkError(f"{path} cannot be written: {error.strerror or error}") from error


def efg_lines(tree: Tree, title: str = "") -> Iterator[str]:
    """Return the lines of a Gambit file, with nodes in depth-first order."""
    players = " ".join(map(_quoted, tree.game.players))
    yield f"EFG 2 R {_quoted(title or tree.game.rules.name)} {{ {players} }}"
    yield '""'
    yield ""
    instances = zip(tree.instances, _exact(tree.chances.tolist()), strict=True)
    branches = " ".join(f"{_quoted(_label(instance))} {chance}" for instance, chance in instances)
    yield f'c "" 1 "" {{ {branches} }} 0'
    numbers = _information_sets(tree)
    children = [
        np.searchsorted(level.parent, np.arange(len(level.over) + 1)) for level in tree.levels
    ]
    ended = 0
    ahead = [(0, node) for node in reversed(range(len(tree.instances)))]
    while ahead:
        depth, node = ahead.pop()
        level, (first, last) = tree.levels[depth], children[depth][node : node + 2].tolist()
        if level.over[node]:
            ended += 1
            gets = ", ".join(str(written(float(payoff))) for payoff in level.returns[node])
            yield f't "" {ended} "" {{ {gets} }}'
            continue
        decision, player = int(level.decision[node]), int(level.player[node])
        actions = " ".join(f'"{action}"' for action in level.action[first:last].tolist())
        number = numbers[depth, decision]
        yield f'p "" {player + 1} {number} "{depth}/{decision}" {{ {actions} }} 0'
        ahead += [(depth + 1, child) for child in reversed(range(first, last))]


def _information_sets(tree: Tree) -> dict[tuple[int, int], int]:
    """Number each player's information sets from 1; return the numbers by (level, decision)."""
    counts = [0] * len(tree.game.players)
    numbers = {}
    for depth, level in enumerate(tree.levels):
        decisions, nodes = np.unique(level.decision, return_index=True)
        for decision, node in zip(decisions.tolist(), nodes.tolist(), strict=True):
            if decision >= 0:
                player = int(level.player[node])
                counts[player] += 1
                numbers[depth, decision] = counts[player]
    return numbers


def _exact(chances: Sequence[float]) -> list[Fraction]:
    """Return probabilities as fractions that sum to 1, as Gambit requires.

    >>> _exact([1 / 3, 1 / 6, 1 / 2])
    [Fraction(1, 3), Fraction(1, 6), Fraction(1, 2)]
    """
    ratios = [Fraction(chance).limit_denominator(FINEST) for chance in chances]
    total = sum(ratios)
    return [ratio / total for ratio in ratios]


def _label(instance: Instance) -> str:
    text = json.dumps(instance.model_dump(mode="json"), separators=(",", ":"))
    return text.replace("  ", "\\u0020 ")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
