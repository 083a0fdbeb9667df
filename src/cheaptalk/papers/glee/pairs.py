"""Who plays whom, and whom to send: Figures 1 and 21 to 23, footnote 13."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from cheaptalk.equilibrium import ModelChoice, model_choice
from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats
from cheaptalk.papers.glee.charts import heat
from cheaptalk.papers.glee.families import GAINS, METRICS
from cheaptalk.papers.glee.regressions import (
    CLUSTER,
    METHODS,
    PAIR,
    PLAYERS,
    POINTS,
    Fit,
    Fits,
    columns,
    left_out,
    paired,
    under,
)
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import with_holm
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.statistics.covariances import cluster_scores
from cheaptalk.statistics.design_matrix import level_texts, told_apart
from cheaptalk.text import capital

CONFOUNDED = 1e-9
"""How little may be left of "the same player" beyond who plays for it to have no effect."""


class Pairs(NamedTuple):
    """The pairs of a family whose effects are known.

    Attributes:
        fits: the regressions.
        who: a row a pair in the order of levels: ``Alice``, ``Bob`` and how many ``matches``.
    """

    fits: Fits
    who: pl.DataFrame

    @property
    def game(self) -> str:
        """The name of the game."""
        return self.fits.played.game

    def placed(self, fit: Fit) -> Floats:
        """Which coefficient is each pair's, shape (pairs, columns); the reference has none."""
        design = fit.classical.design
        others = next(one.others for one in design.factors if one.name == PAIR)
        weights = np.zeros((self.who.height, design.width))
        for level, column in zip(others, design.columns(PAIR), strict=True):
            weights[self.who["level"].index_of(level), column] = 1
        return weights


def pairs_of(evidence: Evidence) -> list[Pairs]:
    """The families in which several pairs met.

    Raises:
        Lacking: there is none.
    """
    made = []
    for one in evidence.once(paired):
        who = (
            one.played.frame.group_by(PLAYERS, maintain_order=True)
            .agg(pl.len().alias("matches"))
            .sort(PLAYERS)
        )
        if who.height > 1 and one.found:
            who = who.with_columns(level_texts(who, PLAYERS).alias("level"))
            known, why = dict(one.found), list(one.why)
            for metric, fit in one.found.items():
                factors = [of for of in fit.classical.design.factors if of.name == PAIR]
                if not factors or len(factors[0].levels) < who.height:
                    del known[metric]
                    why.append(f"{one.played.game}: some pairs have no value of {METRICS[metric]}")
                for mixed in fit.classical.design.confounded:
                    if PAIR in mixed:
                        del known[metric]
                        why.append(f"{one.played.game}: {told_apart(mixed)}")
            made.append(Pairs(Fits(one.played, known, tuple(dict.fromkeys(why))), who))
    if not any(one.fits.found for one in made):
        why = [note for one in made for note in one.fits.lacks]
        one_pair = "only one pair met; let every player meet every other in both roles"
        raise Lacking(" ".join(why) or one_pair)
    return made


def pair_maps(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """How metrics depend on who plays whom, relative to the mean of all pairs.

    The regression of the market's effects takes one factor, the pair, in place of both players
    (GLEE, footnote 20). A cell is the pair's effect less the mean effect of all pairs that met,
    each pair weighing alike. Matches with people are left out.
    """
    others = left_out(evidence.once(paired))
    for one in evidence.once(pairs_of):
        frame = _relative(one)
        rows = frame.to_dicts()
        shown = {name: title for name, title in METRICS.items() if name in frame.columns}
        panels = [heat(capital(title), one.game, rows, under(name, "clustered"))
                  for name, title in shown.items()]  # fmt: skip
        title = f"{capital(one.game)}: who plays whom"
        caption = "Rows are Alice, columns Bob; 0 is the mean of all pairs."
        yield Charts(f"pairs-{one.game}-figures", title, panels, caption)
        yield ReportTable(
            f"pairs-{one.game}", f"{title}, in numbers", frame,
            (*(Header(name, name) for name in PLAYERS), *columns(shown, frame)),
            METHODS, (*one.fits.notes, *others),
            leads=partial(pair_lead, one.game),
        )  # fmt: skip


def pair_lead(game: str, row: Mapping[str, Any]) -> Lead:
    """The matches of the pair in a row."""
    return Lead(game, {"player.alice": row["Alice"], "player.bob": row["Bob"]})


def _relative(one: Pairs) -> pl.DataFrame:
    """Each pair's effects less the mean of all pairs."""
    frame = one.who.select(PLAYERS)
    for metric, fit in one.fits.found.items():
        placed = one.placed(fit)
        sums = fit.sums(placed - placed.mean(axis=0), one.who["matches"].to_list())
        frame = frame.hstack(sums.rename({name: under(metric, name) for name in sums.columns}))
    return frame


def same_player(evidence: Evidence) -> Iterator[ReportTable]:
    """Whether a player that meets a copy of itself fares otherwise than one that meets others.

    The first difference is the mean effect of pairs of copies less that of all other pairs, as
    figures 21 to 23 let one read it off. The second allows for who plays: it is the coefficient of
    "both are the same player" in a least squares regression of the pairs' effects on Alice's
    player, Bob's player and that. Its p is two-sided, of no difference, from the clustered
    interval; the corrected one allows for all rows of the table (Holm 1979).
    """
    rows = [
        _row(one, metric, weights)
        for one in evidence.once(pairs_of)
        if (weights := _contrasts(one.who)) is not None
        for metric in one.fits.found
    ]
    if not rows:
        raise Lacking("no player met both a copy of itself and others; set the pairing to all")
    frame = with_holm(pl.DataFrame(rows, infer_schema_length=None), "corrected")
    titles = {"difference": "Difference", "given": "Given who plays"}
    yield ReportTable(
        "same-player", "Copies of a player less different players", frame,
        (Header("family", "Family"), Header("metric", "Metric"), *columns(titles, frame),
         Header("p", "p", "two-sided", 3), Header("corrected", "p corrected", "Holm's rule", 3)),
        METHODS,
    )  # fmt: skip


def _contrasts(who: pl.DataFrame) -> Floats | None:
    """How pairs weigh in the two differences, shape (2, pairs); None where either is undefined."""
    same = (who["Alice"] == who["Bob"]).to_numpy().astype(float)
    if same.all() or not same.any():
        return None
    sides = who.select(PLAYERS).to_dummies().to_numpy().astype(float)
    left = same - sides @ np.linalg.lstsq(sides, same, rcond=None)[0]
    if left @ left < CONFOUNDED:
        return None
    return np.array([same / same.sum() - (1 - same) / (1 - same).sum(), left / (left @ left)])


def _row(one: Pairs, metric: str, weights: Floats) -> dict[str, Any]:
    fit = one.fits.found[metric]
    sums = fit.sums(weights @ one.placed(fit), [fit.classical.rows] * 2)
    row: dict[str, Any] = {"family": capital(one.game), "metric": capital(METRICS[metric])}
    for name, values in zip(("difference", "given"), sums.iter_rows(named=True), strict=True):
        row |= {under(name, key): value for key, value in values.items()}
    p = fit.clustered.estimates(weights @ one.placed(fit))["p"][1]
    return row | {"p": p}


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
    rows = [row for one in made for row in _choice_rows(one)]
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
    rows, across = _without_gaps(met >= 0)
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


def _without_gaps(met: Flags) -> tuple[Flags, Flags]:
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
        design = fit.classical.design
        residuals = frame[name].to_numpy() - design.matrix @ fit.classical.coefficients
        influence = cluster_scores(design, residuals, codes) @ design.inverse
        moved = times @ (influence @ weights.T)
        estimates.append(weights @ fit.classical.coefficients)
        drawn.append(estimates[-1] + moved)
    return estimates, drawn if count > 1 else []


def _choice_rows(one: PlayerChoice) -> Iterator[dict[str, Any]]:
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
