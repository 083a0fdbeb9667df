"""Who plays whom: Figures 1 and 21 to 23, and whether copies of a player fare otherwise."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import stdtr

from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.papers.glee.charts import heat
from cheaptalk.papers.glee.families import METRICS
from cheaptalk.papers.glee.regressions import (
    METHODS,
    PAIR,
    PLAYERS,
    Fit,
    Fits,
    columns,
    left_out,
    paired,
    under,
)
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import with_holm
from cheaptalk.reports.recipes.parts import Charts, Header, Lacking, Lead, ReportTable
from cheaptalk.statistics.design_matrix import level_texts
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


def _levels(fit: Fit) -> tuple[str, ...]:
    """The pairs that a metric is known of; none where that is one pair."""
    factors = fit.classical.design.factors
    return next((one.levels for one in factors if one.name == PAIR), ())


def pairs_of(evidence: Evidence) -> list[Pairs]:
    """The families in which several pairs met.

    Raises:
        Lacking: there is none.
    """
    made = []
    for one in evidence.once(paired):
        who = one.played.frame.group_by(PLAYERS).agg(pl.len().alias("matches")).sort(PLAYERS)
        if who.height > 1 and one.found:
            who = who.with_columns(level_texts(who, PLAYERS).alias("level"))
            made.append(Pairs(_complete(one, who.height), who))
    if not any(one.fits.found for one in made):
        raise Lacking("only one pair met; let every player meet every other in both roles")
    return made


def _complete(one: Fits, pairs: int) -> Fits:
    """Without the metrics of which some pairs have no value."""
    known = {metric: fit for metric, fit in one.found.items() if len(_levels(fit)) == pairs}
    why = [f"{one.played.game}: some pairs have no value of {METRICS[metric]}"
           for metric in one.found if metric not in known]  # fmt: skip
    return Fits(one.played, known, (*one.why, *why))


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
    error = row["given clustered.error"]
    freedom = fit.clustered.covariance.freedom
    return row | {"p": 2 * stdtr(freedom, -abs(row["given"]) / error) if error else None}
