"""Effects of player pairs, and a game of choosing players (Figures 1, 21 to 23, footnote 13)."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from cheaptalk.equilibrium import ModelChoice, model_choice
from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats
from cheaptalk.papers.glee.charts import heat
from cheaptalk.papers.glee.families import GAINS, METRICS, table
from cheaptalk.papers.glee.regressions import (
    CLUSTER,
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
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.statistics.covariances import cluster_scores
from cheaptalk.statistics.design_matrix import confounding_note, level_texts
from cheaptalk.text import capital

MAX_NARROW = 14
"""The maximum number of players in charts beside each other."""
CONFOUNDED = 1e-9
"""The minimum residual variation of "same player", controlling for both players."""


class Pairs(NamedTuple):
    """The pairs of players of a family, with their effects.

    ``who`` has one row per pair: ``Alice``, ``Bob``, the number of ``matches`` and the ``level``.
    """

    fits: Fits
    who: pl.DataFrame

    @property
    def game(self) -> str:
        return self.fits.played.game

    def selector(self, fit: Fit) -> Floats:
        """Return weights that select the coefficient of each pair, shape (pairs, columns)."""
        design = fit.classical.design
        levels = next(factor.effect_levels for factor in design.factors if factor.name == PAIR)
        rows = {level: row for row, level in enumerate(self.who["level"])}
        weights = np.zeros((self.who.height, design.width))
        weights[[rows[level] for level in levels], design.columns(PAIR)] = 1
        return weights


def pairs_of(evidence: Evidence) -> list[Pairs]:
    """Return the game families in which several pairs met; raise NoData if there are none."""
    families = []
    for fits in evidence.once(paired):
        groups = fits.played.frame.group_by(PLAYERS, maintain_order=True)
        who = groups.agg(pl.len().alias("matches")).sort(PLAYERS)
        if who.height > 1 and fits.found:
            who = who.with_columns(level_texts(who, PLAYERS).alias("level"))
            usable, problems = dict(fits.found), list(fits.why)
            for metric, fit in fits.found.items():
                factors = [each for each in fit.classical.design.factors if each.name == PAIR]
                if not factors or len(factors[0].levels) < who.height:
                    del usable[metric]
                    problems.append(
                        f"{fits.played.game}: some pairs have no value of {METRICS[metric]}"
                    )
                for mixed in fit.classical.design.confounded:
                    if PAIR in mixed:
                        del usable[metric]
                        problems.append(f"{fits.played.game}: {confounding_note(mixed)}")
            families.append(Pairs(Fits(fits.played, usable, tuple(dict.fromkeys(problems))), who))
    if not any(pairs.fits.found for pairs in families):
        problems = [note for pairs in families for note in pairs.fits.lacks]
        one_pair = "only one pair met; match every player with every other in both roles"
        raise NoData(" ".join(problems) or one_pair)
    return families


def pair_maps(evidence: Evidence) -> Iterator[Shown]:
    """Report how metrics depend on the pair of players, relative to the mean of all pairs.

    The regressions are those of the market's effects, with the pair of players as one factor (GLEE,
    footnote 20). A cell is the pair's effect minus the mean effect of all pairs with equal weights.
    Matches with people are excluded.
    """
    notes = left_out(evidence.once(paired))
    for pairs in evidence.once(pairs_of):
        frame = _relative(pairs)
        rows = frame.to_dicts()
        shown = {name: title for name, title in METRICS.items() if name in frame.columns}
        panels = [
            heat(capital(title), pairs.game, rows, under(name, "clustered"))
            for name, title in shown.items()
        ]
        title = f"{capital(pairs.game)}: effects of pairs"
        caption = "Rows are Alice, columns Bob; 0 is the mean of all pairs."
        wide = len(evidence.labels) > MAX_NARROW
        yield Charts(f"pairs-{pairs.game}-figures", title, panels, caption, wide)
        yield table(
            evidence,
            "pairs",
            frame,
            name=f"pairs-{pairs.game}",
            columns={"effects": columns(shown, frame)},
            facts={"title": title},
            notes=(*pairs.fits.notes, *notes),
            leads=partial(pair_lead, pairs.game),
        )


def pair_lead(game: str, row: Mapping[str, Any]) -> Lead:
    """Return a link to the matches of a pair."""
    return Lead(game, {"player_alice": row["Alice"], "player_bob": row["Bob"]})


def _relative(pairs: Pairs) -> pl.DataFrame:
    frame = pairs.who.select(PLAYERS)
    for metric, fit in pairs.fits.found.items():
        selector = pairs.selector(fit)
        sums = fit.sums(selector - selector.mean(axis=0), pairs.who["matches"].to_list())
        frame = frame.hstack(sums.rename({name: under(metric, name) for name in sums.columns}))
    return frame


def same_player(evidence: Evidence) -> Iterator[ReportTable]:
    """Compare pairs of copies of a player with pairs of different players.

    The first difference is the mean effect of pairs of copies minus the mean effect of all other
    pairs, as in Figures 21 to 23. The second difference controls for players: it is the coefficient
    of an indicator for copies in a least squares regression of the pairs' effects on Alice's player
    and Bob's player. The two-sided p-value of the second difference uses the clustered error; the
    corrected p-value accounts for all rows of the table (Holm 1979).
    """
    rows = [
        _row(pairs, metric, weights)
        for pairs in evidence.once(pairs_of)
        if (weights := _contrasts(pairs.who)) is not None
        for metric in pairs.fits.found
    ]
    if not rows:
        raise NoData("no player met both a copy of itself and others; use pairing: all")
    frame = with_holm(pl.DataFrame(rows, infer_schema_length=None), "corrected")
    titles = {"difference": "Difference", "given": "Controlling for players"}
    yield table(evidence, "same-player", frame, columns={"effects": columns(titles, frame)})


def _contrasts(who: pl.DataFrame) -> Floats | None:
    same = (who["Alice"] == who["Bob"]).to_numpy().astype(float)
    if same.all() or not same.any():
        return None
    sides = who.select(PLAYERS).to_dummies().to_numpy().astype(float)
    residual = same - sides @ np.linalg.lstsq(sides, same, rcond=None)[0]
    if residual @ residual < CONFOUNDED:
        return None
    return np.array(
        [same / same.sum() - (1 - same) / (1 - same).sum(), residual / (residual @ residual)]
    )


def _row(pairs: Pairs, metric: str, weights: Floats) -> dict[str, Any]:
    fit = pairs.fits.found[metric]
    sums = fit.sums(weights @ pairs.selector(fit), [fit.classical.rows] * 2)
    row: dict[str, Any] = {"family": capital(pairs.game), "metric": capital(METRICS[metric])}
    for name, values in zip(("difference", "given"), sums.iter_rows(named=True), strict=True):
        row |= {under(name, key): value for key, value in values.items()}
    p = fit.clustered.estimates(weights @ pairs.selector(fit))["p"][1]
    return row | {"p": p}


MIN_SUPPORT = 0.01
NUMBERS = ("gain_alice", "gain_bob", "regret_alice", "regret_bob", "support")


class PlayerChoice(NamedTuple):
    """A game in which Alice and Bob each choose a player.

    The ``payoffs`` of both are gains relative to the mean pair, in points, of shape (Alice's
    players, Bob's players). ``left_out`` are players that did not meet all others, with their
    roles.
    """

    pairs: Pairs
    payoffs: tuple[Floats, Floats]
    found: ModelChoice
    left_out: tuple[str, ...]


def choices(evidence: Evidence) -> Iterator[ReportTable]:
    """Report which players both sides would choose if they knew the mean gains of every pair.

    Alice and Bob each choose a player, knowing the family but not the parameters. Their payoffs are
    the gains in "Effects of pairs". The table lists pure Nash equilibria, from which neither side
    gains by switching unilaterally, and pairs that are an equilibrium in at least 1 % of draws. A
    draw resamples configurations with replacement (the score bootstrap of Kline and Santos 2012).
    Regret is a side's gain from the best switch.
    """
    found, problems = [], []
    for pairs in evidence.once(pairs_of):
        try:
            found.append(_choice(pairs, evidence))
        except NoData as error:
            problems.append(str(error))
    if not found:
        raise NoData("; ".join(problems))
    rows = [row for choice in found for row in _choice_rows(choice)]
    texts = dict.fromkeys(("family", *PLAYERS, "estimates"), pl.String)
    schema = texts | dict.fromkeys(NUMBERS, pl.Float64)
    yield table(
        evidence,
        "player-choice",
        pl.DataFrame(rows, schema=schema),
        notes=[*(note for choice in found for note in notes_of(choice)), *problems],
        leads=lambda row: pair_lead(row["family"].lower(), row),
    )


def _choice(pairs: Pairs, evidence: Evidence) -> PlayerChoice:
    """Solve the game in which Alice and Bob choose players; raise NoData if too few pairs met."""
    sides = [pairs.who[name].unique().sort().to_list() for name in PLAYERS]
    met = np.full((len(sides[0]), len(sides[1])), -1)
    for index, (alice, bob) in enumerate(pairs.who.select(PLAYERS).iter_rows()):
        met[sides[0].index(alice), sides[1].index(bob)] = index
    rows, across = _without_gaps(met >= 0)
    if rows.sum() * across.sum() < 2:
        raise NoData(f"{pairs.game}: no two players met the same others")
    cells = met[np.ix_(rows, across)]
    masks = zip(sides, (rows, across), strict=True)
    selected = [list(compress(side, mask)) for side, mask in masks]
    left_out = [
        f"{label} as {role}"
        for role, side, included in zip(PLAYERS, sides, selected, strict=True)
        for label in side
        if label not in included
    ]
    estimates, draw_gains = gains(pairs, evidence)
    payoffs = (estimates[0][cells], estimates[1][cells])
    draws = (draw_gains[0][:, cells], draw_gains[1][:, cells]) if draw_gains else None
    solution = model_choice(*payoffs, *selected, draws=draws)
    return PlayerChoice(pairs, payoffs, solution, tuple(left_out))


def _without_gaps(met: Flags) -> tuple[Flags, Flags]:
    """Drop players, those with the most missing opponents first, until all remaining pairs met."""
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
    """Return the gains of Alice and Bob for each pair of players, minus the mean gain, in points.

    Estimates have the shape (pairs,) and draws (draws, pairs); there are no draws with only one
    configuration.
    """
    frame = pairs.fits.played.frame
    codes = np.asarray(frame[CLUSTER[0]].rank("dense").to_numpy() - 1, dtype=np.int64)
    count = int(codes.max()) + 1
    chances = np.full(count, 1 / count)
    generator = np.random.default_rng(evidence.seed)
    times = generator.multinomial(count, chances, evidence.draws) - 1
    estimates, draws = [], []
    for name in GAINS.values():
        fit = pairs.fits.found[name]
        selector = pairs.selector(fit)
        weights = (selector - selector.mean(axis=0)) * POINTS
        design = fit.classical.design
        residuals = frame[name].to_numpy() - design.matrix @ fit.classical.coefficients
        influence = cluster_scores(design, residuals, codes) @ design.inverse
        shifts = times @ (influence @ weights.T)
        estimates.append(weights @ fit.classical.coefficients)
        draws.append(estimates[-1] + shifts)
    return estimates, draws if count > 1 else []


def _choice_rows(choice: PlayerChoice) -> Iterator[dict[str, Any]]:
    result = choice.found
    support = np.zeros(choice.payoffs[0].shape) if result.support is None else result.support
    stable = {(int(each.row.argmax()), int(each.column.argmax())) for each in result.equilibria}
    supported = {(int(i), int(j)) for i, j in np.argwhere(support >= MIN_SUPPORT)}
    a, b = choice.payoffs
    cells = sorted(stable | supported, key=lambda cell: (cell not in stable, -support[cell], cell))
    for i, j in cells:
        yield {
            "family": capital(choice.pairs.game),
            "Alice": result.rows[i],
            "Bob": result.columns[j],
            "estimates": "an equilibrium" if (i, j) in stable else "none",
            "gain_alice": a[i, j],
            "gain_bob": b[i, j],
            "regret_alice": a[:, j].max() - a[i, j],
            "regret_bob": b[i].max() - b[i, j],
            "support": None if result.support is None else 100 * support[i, j],
        }


def notes_of(choice: PlayerChoice) -> Iterator[str]:
    """Yield notes on equilibria and excluded players in the game of choosing players."""
    family = capital(choice.pairs.game)
    if choice.found.without:
        yield f"{family}: no pure equilibrium in {choice.found.without:.1%} of draws."
    if choice.found.support is None:
        yield f"{family}: no draws, because there is only one configuration."
    if not choice.found.equilibria:
        yield f"{family}: the estimates have no pure equilibrium."
    if choice.left_out:
        excluded = ", ".join(choice.left_out)
        yield f"{family}: excluded, because they did not meet all others: {excluded}."
