"""Outcomes of the games: the metrics of each family, also with reweighted configurations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

import polars as pl

from cheaptalk.frames.matches import read_matches
from cheaptalk.papers.glee.families import (
    GAINS,
    METRICS,
    ROLES,
    FamilyMatches,
    families,
    kinds,
    table,
)
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Answer, Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.reports.study import figures
from cheaptalk.reports.study.answers import answer
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.rules import WrongValue, game_title
from cheaptalk.statistics import INSTANCES, STRATA
from cheaptalk.statistics.columns import with_matching
from cheaptalk.statistics.limits import Bounds, BoundsColumns
from cheaptalk.text import capital

HIGH_INFLATION = 0.9
DISCOUNTS = ("game_discounts_alice", "game_discounts_bob")
ALL = "all"


def outcomes(evidence: Evidence) -> Iterator[Shown]:
    """Report the players' gains, and the means of all metrics by the kinds of both players.

    The metrics are defined in section 2 of the paper. Units are shares of the money in bargaining,
    multiples of M in negotiation, and shares of rounds and prices per round in persuasion. In
    persuasion, efficiency is undefined without good products, and fairness without bad products.
    """
    labels = evidence.once(kinds)
    games = [
        GameScores(game, evidence.frames[game], evidence.seats[game], gains=True)
        for game in (family.game for family in evidence.once(families))
    ]
    answers = {game_title(game.name): answer(game) for game in games}
    yield Answer(". ".join(f"{title}: {each.short}" for title, each in answers.items()) + ".")
    gains = [
        replace(panel, title=f"{game_title(game.name)}: {panel.title}")
        for game in games
        for panel in figures.gains(game)
    ]
    texts = " ".join(f"{title}: {each.text}" for title, each in answers.items())
    yield Charts(
        "gains", "Players' gains", gains, f"Whiskers are 95 % confidence intervals. {texts}"
    )
    parts = []
    for played in evidence.once(families):
        by_kind = played.frame.with_columns(
            pl.lit(capital(played.game)).alias("family"),
            *(pl.col(f"player_{role}").replace_strict(labels).alias(role) for role in ROLES),
        ).sort(*ROLES)
        pooled = by_kind.with_columns(pl.lit(ALL).alias(role) for role in ROLES)
        frames = [pooled] if by_kind.select(*ROLES).n_unique() == 1 else [pooled, by_kind]
        by, bounds = ["family", *ROLES], played.bounds
        parts += [means(rows, list(METRICS), by, bounds=bounds, strata=STRATA) for rows in frames]
    frame = pl.concat(parts)
    yield table(
        evidence,
        "outcomes",
        frame,
        leads=lambda row: Lead(row["family"].lower(), {"status": "finished"}),
    )


def definitions(evidence: Evidence) -> Iterator[ReportTable]:
    """Compare Bob's gain in persuasion by the paper's definition and by the released code.

    In the paper, Bob gains v - 1 prices for every good product that he buys, and loses 1 price for
    every bad product that he buys. In the released code, he loses 1 price for every bad product
    that he rejects (see the documentation's list of differences between paper and code). Means are
    over rounds, in prices. All other tables use the paper's definition or, with ``--as-published``,
    the code's.
    """
    families_played = evidence.once(families)
    played = next((family for family in families_played if family.game == "persuasion"), None)
    if played is None:
        raise NoData("no match of persuasion has finished; the preset glee has such matches")
    labels = evidence.once(kinds)
    frames = read_matches(
        evidence.store,
        evidence.study,
        only=["self_gain_bob"],
        games=["persuasion"],
        as_published=not evidence.as_published,
        workers=evidence.workers,
    )
    names = ("code", "paper") if evidence.as_published else ("paper", "code")
    gains = frames["persuasion"].select("match_id", pl.col("self_gain_bob").alias(names[1]))
    own = played.frame.with_columns(pl.col("self_gain_bob").alias(names[0]))
    frame = with_matching(own, gains, "match_id").with_columns(
        (pl.col("code") - pl.col("paper")).alias("difference"),
        *(pl.col(f"player_{role}").replace_strict(labels).alias(role) for role in ROLES),
    )
    gain = played.bounds["self_gain_bob"]
    bounds = {"paper": gain, "code": gain, "difference": (-1.0, 1.0)}
    rows = means(frame.sort(*ROLES), [*bounds], [*ROLES], bounds=bounds, strata=STRATA)
    lead = Lead("persuasion", {"status": "finished"})
    yield table(evidence, "bob-gain", rows, leads=lambda _: lead)


def distributions(evidence: Evidence) -> Iterator[ReportTable]:
    """Report how means depend on the distribution of configurations.

    Plain means weight each configuration by its number of matches; the second row gives all
    configurations equal weight. Bargaining also has the paper's example of high inflation (footnote
    11), in which money loses at least a tenth of its value per round. The second table shows
    players' gains, which are only comparable between players that met the same configurations.
    """
    played = evidence.once(families)
    rows = [row for family in played for row in _by_distribution(family)]
    yield table(
        evidence,
        "distributions",
        pl.concat(rows, how="diagonal"),
        leads=lambda row: Lead(row["family"].lower(), {"status": "finished"}),
    )
    yield table(
        evidence,
        "player-distributions",
        pl.concat([_by_player(family, role) for family in played for role in ROLES]),
        leads=lambda row: Lead(
            row["family"].lower(), {f"player_{row['role'].lower()}": row["player"]}
        ),
    )


def _by_distribution(played: FamilyMatches) -> Iterator[pl.DataFrame]:
    """Yield the means of a family's metrics, one row per distribution."""
    bounds, by, metrics = played.bounds, ["family", "weights"], list(METRICS)
    frame = played.frame.with_columns(
        family=pl.lit(capital(played.game)), weights=pl.lit("as played")
    )
    yield means(frame, metrics, by, bounds=bounds, strata=STRATA)
    groups = {"equal weights": frame["configuration"].unique(maintain_order=True)}
    if played.game == "bargaining":
        high = frame.filter(pl.max_horizontal(DISCOUNTS) <= HIGH_INFLATION)
        inflation = high["configuration"].unique(maintain_order=True)
        if 0 < len(inflation) < len(groups["equal weights"]):
            groups["high inflation"] = inflation
    for name, group in groups.items():
        named, weights = frame.with_columns(weights=pl.lit(name)), dict.fromkeys(group, 1.0)
        yield reweighted(named, metrics, by, weights, bounds=bounds)


def _by_player(played: FamilyMatches, role: str) -> pl.DataFrame:
    gain, title = GAINS[role], ROLES[role]
    weights = dict.fromkeys(played.frame["configuration"].unique(maintain_order=True), 1.0)
    bounds = played.bounds
    frame = played.frame.sort(title)
    plain = means(frame, [gain], [title], bounds=bounds, strata=STRATA)
    alike = reweighted(frame, [gain], [title], weights, bounds=bounds)
    plain, alike = (
        rows.rename({key: key.replace(gain, name) for key in rows.columns})
        for rows, name in ((plain, "plain"), (alike, "alike"))
    )
    return plain.join(alike, on=title, maintain_order="left", validate="1:1").select(
        pl.col(title).alias("player"),
        pl.lit(capital(played.game)).alias("family"),
        pl.lit(title).alias("role"),
        pl.exclude(title),
    )


def reweighted(
    frame: pl.DataFrame,
    values: Sequence[str],
    by: Sequence[str],
    weights: Mapping[str, float],
    *,
    bounds: Mapping[str, Bounds | BoundsColumns] | None = None,
) -> pl.DataFrame:
    """Return means in which configurations have the given weights (GLEE, footnote 11).

    With w_c the weight of configuration c, m_c the mean of a cell's matches in c, and C the
    configurations that the cell met, the mean is

        sum over c in C of w_c m_c / sum over c in C of w_c.

    The interval treats the weights as fixed and is clustered by instance within configurations,
    like :func:`.mean_intervals` with strata.

    Args:
        frame: one row per match, with the columns ``configuration`` and ``instance``.
        values: the columns to average; matches without a value are excluded.
        by: the columns that identify cells.
        weights: the weights of configurations by digest, >= 0; 0 if missing.
        bounds: the bounds of values, as in :func:`.mean_intervals`.

    Returns:
        One row per cell: the columns of ``by``, then for each value ``x`` its mean ``x``,
            ``x.low``, ``x.high``, ``x.error``, ``x.n``, ``x.clusters`` and ``x.covered``, the share
            of the weight on configurations that the cell met.

    Raises:
        WrongValue: no weight is positive, or one is negative.

    >>> played = pl.DataFrame({"who": ["x"] * 4, "configuration": ["a", "a", "a", "b"],
    ...                        "instance": ["1", "2", "3", "1"], "gain": [0.0, 0.3, 0.6, 0.9]})
    >>> reweighted(played, ["gain"], ["who"], {"a": 1, "b": 1})["gain"].round(3).item()
    0.6
    """
    if min(weights.values(), default=0) < 0 or not sum(weights.values()) > 0:
        raise WrongValue("weights of configurations must be >= 0, and at least one must be > 0")
    weight_frame = pl.DataFrame(
        {"configuration": list(weights), "weight": list(weights.values())},
        schema_overrides={"weight": pl.Float64},
    )
    positive = weight_frame.filter(pl.col("weight") > 0)
    weighted = frame.join(positive, on="configuration", validate="m:1", maintain_order="left")
    result = weighted.select(by).unique(maintain_order=True)
    for value in values:
        minimum, maximum = (bounds or {}).get(value, (-inf, inf))
        ends = [end for end in (minimum, maximum) if isinstance(end, str)]
        weight = pl.col("weight") / pl.len().over(*by, "configuration")
        scaled = weighted.drop_nulls(value).with_columns(met=weight.sum().over(by))
        scaled = scaled.with_columns(  # so that plain means equal weighted means
            pl.col(value, *ends) * weight / pl.col("met") * pl.len().over(by)
        )
        averages = means(scaled, [value], by, cluster=INSTANCES, strata=STRATA)
        if ends:
            cells = scaled.group_by(by, maintain_order=True).agg(pl.col(ends).mean())
            averages = with_matching(averages, cells, by)
        limits = pl.col(value + LOW, value + HIGH).clip(minimum, maximum)
        averages = averages.with_columns(limits).drop(ends)
        met = pl.col("met").first() / weight_frame["weight"].sum()
        covered = scaled.group_by(by, maintain_order=True).agg(met.alias(f"{value}.covered"))
        result = with_matching(with_matching(result, averages, by), covered, by)
    return result
