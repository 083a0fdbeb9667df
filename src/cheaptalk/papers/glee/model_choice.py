"""Whom to send: pure equilibria of the game of choosing a player (footnote 13)."""

from collections.abc import Iterator
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from cheaptalk.equilibrium import ModelChoice, model_choice
from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats
from cheaptalk.papers.glee.families import GAINS
from cheaptalk.papers.glee.pairs import Pairs, pair_lead, pairs_of
from cheaptalk.papers.glee.regressions import CLUSTER, PLAYERS, POINTS, Fit
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Header, Lacking, ReportTable
from cheaptalk.statistics.design_matrix import one_hot
from cheaptalk.text import capital

SEEN = 0.01
"""Pairs that are an equilibrium in fewer draws are not listed."""
NUMBERS = ("alice_gain", "bob_gain", "alice_regret", "bob_regret", "support")
COLUMNS = (
    Header("family", "Family"),
    *(Header(name, name) for name in PLAYERS),
    Header("estimates", "By the estimates"),
    Header("support", "Equilibrium in", "% of draws", 1),
    Header("alice_gain", "Alice's gain", "points", 1),
    Header("bob_gain", "Bob's gain", "points", 1),
    Header("alice_regret", "Alice's regret", "points", 1),
    Header("bob_regret", "Bob's regret", "points", 1),
)


class PlayerChoice(NamedTuple):
    """A family's game of choosing players.

    Attributes:
        pairs: the pairs that met.
        payoffs: what Alice's and Bob's players gain over the mean pair, in points, each of shape
            (Alice's players, Bob's players).
        found: its pure equilibria.
        left_out: players that did not meet all others, with their roles.
    """

    pairs: Pairs
    payoffs: tuple[Floats, Floats]
    found: ModelChoice
    left_out: tuple[str, ...]


def choices(evidence: Evidence) -> Iterator[ReportTable]:
    """Which players both sides would send, if either knew what every pair gains on average.

    Alice and Bob each choose a player, knowing the family and not its parameters, and get what
    the pair of players gains, its effect in "who plays whom". Listed are the pairs from which
    neither side gains by switching alone (pure Nash equilibria), and those that are one in at
    least 1 % of draws. A draw takes the configurations again, with replacement, and moves the
    effects by their influence on the estimates (the score bootstrap of Kline and Santos 2012).
    Regret is what a side would gain by its best switch.
    """
    made, why = [], []
    for pairs in evidence.once(pairs_of):
        try:
            made.append(_choice(pairs, evidence))
        except Lacking as error:
            why.append(str(error))
    if not made:
        raise Lacking("; ".join(why))
    rows = [row for one in made for row in _rows(one)]
    texts = dict.fromkeys(("family", *PLAYERS, "estimates"), pl.String)
    schema = texts | dict.fromkeys(NUMBERS, pl.Float64)
    yield ReportTable(
        "player-choice", "Pairs that neither side would leave alone",
        pl.DataFrame(rows, schema=schema),
        COLUMNS, "Gains and regrets are in points; gains are relative to the mean of all pairs.",
        tuple(note for one in made for note in notes_of(one)) + tuple(why),
        leads=lambda row: pair_lead(row["family"].lower(), row),
    )  # fmt: skip


def _choice(pairs: Pairs, evidence: Evidence) -> PlayerChoice:
    """The game of one family.

    Raises:
        Lacking: too few players met the same others.
    """
    sides = [pairs.who[name].unique().sort().to_list() for name in PLAYERS]
    met = np.full((len(sides[0]), len(sides[1])), -1)
    for at, (alice, bob) in enumerate(pairs.who.select(PLAYERS).iter_rows()):
        met[sides[0].index(alice), sides[1].index(bob)] = at
    rows, across = _complete(met >= 0)
    if rows.sum() * across.sum() < 2:
        raise Lacking(f"{pairs.game}: no two players met the same others")
    cells = met[np.ix_(rows, across)]
    kept = [list(compress(side, flags)) for side, flags in zip(sides, (rows, across), strict=True)]
    left_out = [
        f"{who} as {role}"
        for role, side, stays in zip(PLAYERS, sides, kept, strict=True)
        for who in side if who not in stays
    ]  # fmt: skip
    estimates, drawn = gains(pairs, evidence)
    payoffs = (estimates[0][cells], estimates[1][cells])
    draws = (drawn[0][:, cells], drawn[1][:, cells]) if drawn else None
    return PlayerChoice(pairs, payoffs, model_choice(*payoffs, *kept, draws=draws), tuple(left_out))


def _complete(met: Flags) -> tuple[Flags, Flags]:
    """Rows and columns that are left when those with most gaps are taken out one by one."""
    rows, across = np.ones(met.shape[0], dtype=bool), np.ones(met.shape[1], dtype=bool)
    while not met[np.ix_(rows, across)].all():
        gaps = ~met & rows[:, None] & across
        down, right = gaps.sum(axis=1), gaps.sum(axis=0)
        if down.max() / across.sum() >= right.max() / rows.sum():
            rows[down.argmax()] = False
        else:
            across[right.argmax()] = False
    return rows, across


def gains(pairs: Pairs, evidence: Evidence) -> tuple[list[Floats], list[Floats]]:
    """What Alice's and Bob's players gain in every pair over the mean pair, in points.

    Returns:
        The estimates, each of shape (pairs,), and their draws, each of shape (draws, pairs); no
        draws where there is one configuration.
    """
    frame = pairs.fits.played.frame
    codes = np.asarray(frame[CLUSTER[0]].rank("dense").to_numpy() - 1, dtype=np.int64)
    count = int(codes.max()) + 1
    chances = np.full(count, 1 / count)
    generator = np.random.default_rng(evidence.seed)
    times = generator.multinomial(count, chances, evidence.draws) - 1
    estimates, drawn = [], []
    for name in GAINS.values():
        fit = pairs.fits.found[name]
        placed = pairs.placed(fit)
        weights = (placed - placed.mean(axis=0)) * POINTS
        moved = times @ (_influence(fit, frame[name].to_numpy(), codes) @ weights.T)
        estimates.append(weights @ fit.classical.coefficients)
        drawn.append(estimates[-1] + moved)
    return estimates, drawn if count > 1 else []


def _influence(fit: Fit, outcome: Floats, codes: Any) -> Floats:
    """How much each cluster moves each coefficient, shape (clusters, columns)."""
    matrix = fit.classical.design.matrix()
    residuals = outcome - matrix @ fit.classical.coefficients
    scores = one_hot(codes, int(codes.max()) + 1).T @ (matrix * residuals[:, None])
    crossed = (matrix.T @ matrix).toarray()
    return np.asarray(np.linalg.solve(crossed, scores.toarray().T).T)


def _rows(one: PlayerChoice) -> Iterator[dict[str, Any]]:
    """Equilibria of the estimates, then other pairs by how often they are one."""
    found = one.found
    support = np.zeros(one.payoffs[0].shape) if found.support is None else found.support
    stable = {(int(each.row.argmax()), int(each.column.argmax())) for each in found.equilibria}
    seen = {(int(i), int(j)) for i, j in np.argwhere(support >= SEEN)}
    a, b = one.payoffs
    for i, j in sorted(stable | seen, key=lambda at: (at not in stable, -support[at], at)):
        yield {
            "family": capital(one.pairs.game), "Alice": found.rows[i], "Bob": found.columns[j],
            "estimates": "an equilibrium" if (i, j) in stable else "none",
            "alice_gain": a[i, j], "bob_gain": b[i, j],
            "alice_regret": a[:, j].max() - a[i, j], "bob_regret": b[i].max() - b[i, j],
            "support": None if found.support is None else 100 * support[i, j],
        }  # fmt: skip


def notes_of(one: PlayerChoice) -> Iterator[str]:
    """What a reader of the table must know of a family's game."""
    family = capital(one.pairs.game)
    if one.found.without:
        yield f"{family}: no pure equilibrium in {one.found.without:.1%} of draws."
    if one.found.support is None:
        yield f"{family}: one configuration leaves nothing to draw from."
    if not one.found.equilibria:
        yield f"{family}: the estimates have no pure equilibrium."
    if one.left_out:
        yield f"{family}: left out, for not having met all others: {', '.join(one.left_out)}."
