"""What came of the games: the four metrics of each family, also over other configurations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import polars as pl

from cheaptalk.papers.glee.families import GAINS, METRICS, ROLES, FamilyMatches, families, kinds
from cheaptalk.records import MatchRecord
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Answer, Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.reports.study import figures
from cheaptalk.reports.study.answers import answer
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.rules import game_box, game_title
from cheaptalk.statistics import DEALS, STRATA
from cheaptalk.statistics.intervals import Bounds, BoundsColumns
from cheaptalk.text import capital

INTERVALS = (
    "Intervals cover 95 % and are clustered by deal within configurations, which are taken as "
    "chosen, not drawn (CR1, Student's t)."
)
HIGH_INFLATION = 0.9
"""Discount factors up to which money loses much of its worth."""
DISCOUNTS = "game.discounts"
EVERYBODY = "everybody"


def outcomes(evidence: Evidence) -> Iterator[Answer | Charts | ReportTable]:
    """What players gained over all others, and the means of all metrics by who met.

    Efficiency, fairness and both gains are those of section 2 of the paper: shares of the money in
    bargaining, multiples of M in negotiation, shares of rounds and prices a round in persuasion.
    Persuasion without a good product has no efficiency, without a bad one no fairness.
    """
    labels = evidence.once(kinds)
    games = [
        GameScores(game, evidence.frames[game], evidence.places[game], gains=True)
        for game in (one.game for one in evidence.once(families))
    ]
    found = {game_title(game.name): answer(game) for game in games}
    yield Answer(". ".join(f"{title}: {one.short}" for title, one in found.items()) + ".")
    gains = [
        replace(panel, title=f"{game_title(game.name)}: {panel.title}")
        for game in games for panel in figures.gains(game)
    ]  # fmt: skip
    told = " ".join(f"{title}: {one.text}" for title, one in found.items())
    yield Charts("gains", "What players gained", gains, f"Whiskers are 95 % intervals. {told}")
    parts = []
    for played in evidence.once(families):
        met = played.frame.with_columns(
            pl.lit(capital(played.game)).alias("family"),
            *(pl.col(f"player.{role}").replace_strict(labels).alias(role) for role in ROLES),
        ).sort(*ROLES)
        whole = met.with_columns(pl.lit(EVERYBODY).alias(role) for role in ROLES)
        both = [whole] if met.select(*ROLES).n_unique() == 1 else [whole, met]
        by, bounds = ["family", *ROLES], played.bounds
        parts += [means(one, list(METRICS), by, bounds=bounds, strata=STRATA) for one in both]
    frame = pl.concat(parts)
    yield ReportTable(
        "outcomes", "Metrics by family", frame,
        (Header("family", "Family"),
         *(Header(role, f"{title} is") for role, title in ROLES.items()),
         *(Header(key, capital(title), "", 3) for key, title in METRICS.items())),
        INTERVALS,
        leads=lambda row: Lead(row["family"].lower(), {"status": "finished"}),
    )  # fmt: skip


def definitions(evidence: Evidence) -> Iterator[ReportTable]:
    """Bob's gain in persuasion by the paper's definition and by that of its released code.

    By the paper Bob gets v - 1 prices for every good product that he buys, and loses 1 for every
    bad one. The released code charges him for every bad one that he refuses instead, and nothing
    for those that he buys (our documentation lists where paper and code differ). Means are over
    rounds, in prices. All other tables have the paper's, or with ``--as-published`` the code's.
    """
    played = next((one for one in evidence.once(families) if one.game == "persuasion"), None)
    if played is None:
        raise Lacking("no match of persuasion has finished; run the preset glee")
    labels = evidence.once(kinds)
    both = _both(evidence, played.frame).with_columns(
        pl.col(f"player.{role}").replace_strict(labels).alias(role) for role in ROLES
    )
    gain = played.bounds["bob_gain"]
    bounds = {"paper": gain, "code": gain, "difference": (-1.0, 1.0)}
    found = means(both.sort(*ROLES), [*bounds], [*ROLES], bounds=bounds, strata=STRATA)
    yield ReportTable(
        "bob-gain", "Bob's gain in persuasion, by both definitions", found,
        (*(Header(role, f"{title} is") for role, title in ROLES.items()),
         Header("paper", "By the paper", "prices a round", 3),
         Header("code", "By the released code", "prices a round", 3),
         Header("difference", "Code less paper", "prices a round", 3)),
        INTERVALS,
        leads=lambda _: Lead("persuasion", {"status": "finished"}),
    )  # fmt: skip


@dataclass(frozen=True)
class BobGains:
    """Bob's gains in matches of persuasion, by both definitions.

    Attributes:
        gains: by the paper and by the code, by the match's id; none of matches that were played
            under other rules than those installed.
    """

    gains: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)

    def add(self, record: MatchRecord) -> None:
        """Compute both."""
        box = game_box(record.game)
        if record.game == "persuasion" and record.version == box.rules.version:
            result, gain = record.result(), box.measures["bob_gain"]
            paper, code = (gain.variant(as_published)(result) for as_published in (False, True))
            self.gains[record.id] = paper, code

    def join(self, later: "BobGains") -> None:
        """Take over another one's."""
        self.gains.update(later.gains)


def _both(evidence: Evidence, frame: pl.DataFrame) -> pl.DataFrame:
    """Matches of persuasion with Bob's gain by ``paper`` and ``code``, and their difference."""
    gains = evidence.observed(BobGains).gains
    found = [gains.get(match, (None, None)) for match in frame["match"]]
    both = pl.DataFrame(found, {"paper": pl.Float64, "code": pl.Float64}, orient="row")
    return pl.concat([frame, both], how="horizontal").with_columns(
        difference=pl.col("code") - pl.col("paper")
    )


def distributions(evidence: Evidence) -> Iterator[ReportTable]:
    """How means depend on which configurations are counted, and how much.

    Plain means give each configuration the share of matches that it happened to have. The second
    lets all configurations weigh alike; for bargaining there is also the world of high inflation
    that the paper names as an example (footnote 11), in which money of both loses a tenth or more
    of its worth each round. Players' gains stand in a table of their own: a player that met other
    configurations than the rest is compared fairly only where it met them all.
    """
    made = evidence.once(families)
    whole = pl.concat([row for one in made for row in _by_distribution(one)], how="diagonal")
    yield ReportTable(
        "distributions", "Metrics under other distributions of configurations", whole,
        (Header("family", "Family"), Header("weights", "Configurations"),
         *(Header(key, capital(title), "", 3) for key, title in METRICS.items())),
        INTERVALS,
        leads=lambda row: Lead(row["family"].lower(), {"status": "finished"}),
    )  # fmt: skip
    gains = pl.concat([_by_player(one, role) for one in made for role in ROLES])
    yield ReportTable(
        "player-distributions", "Players' gains, plainly and with all configurations alike", gains,
        (Header("player", "Player"), Header("family", "Family"), Header("role", "Role"),
         Header("plain", "Plain mean", "", 3), Header("alike", "All alike", "", 3),
         Header("alike.covered", "Configurations met", "share", 2)),
        INTERVALS,
        leads=lambda row: Lead(row["family"].lower(),
                               {f"player.{row['role'].lower()}": row["player"]}),
    )  # fmt: skip


def _by_distribution(played: FamilyMatches) -> Iterator[pl.DataFrame]:
    """The means of a family's metrics, a row a distribution."""
    family = capital(played.game)
    frame = played.frame.with_columns(family=pl.lit(family))
    bounds = played.bounds
    yield means(
        frame.with_columns(weights=pl.lit("as played")), list(METRICS), ["family", "weights"],
        bounds=bounds, strata=STRATA,
    )  # fmt: skip
    groups = {"all alike": frame["configuration"].unique(maintain_order=True)}
    if DISCOUNTS in frame.columns:
        rates = pl.col(DISCOUNTS).str.json_decode(pl.List(pl.Float64))
        some = frame.filter(rates.list.max() <= HIGH_INFLATION)["configuration"].unique(
            maintain_order=True
        )
        if 0 < len(some) < len(groups["all alike"]):
            groups["high inflation"] = some
    for name, group in groups.items():
        named, weights = frame.with_columns(weights=pl.lit(name)), dict.fromkeys(group, 1.0)
        yield reweighted(named, list(METRICS), ["family", "weights"], weights, bounds=bounds)


def _by_player(played: FamilyMatches, role: str) -> pl.DataFrame:
    """A role's gain by who played it."""
    gain, who = GAINS[role], ROLES[role]
    all_ = dict.fromkeys(played.frame["configuration"].unique(maintain_order=True), 1.0)
    bounds = played.bounds
    frame = played.frame.sort(who)
    plain = means(frame, [gain], [who], bounds=bounds, strata=STRATA)
    alike = reweighted(frame, [gain], [who], all_, bounds=bounds)
    left, right = (one.rename({key: key.replace(gain, to) for key in one.columns})
                   for one, to in ((plain, "plain"), (alike, "alike")))  # fmt: skip
    return left.join(right, on=who, maintain_order="left", validate="1:1").select(
        pl.col(who).alias("player"), pl.lit(capital(played.game)).alias("family"),
        pl.lit(who).alias("role"), pl.exclude(who),
    )  # fmt: skip


def reweighted(
    frame: pl.DataFrame,
    values: Sequence[str],
    by: Sequence[str],
    weights: Mapping[str, float],
    *,
    bounds: Mapping[str, Bounds | BoundsColumns] | None = None,
) -> pl.DataFrame:
    """Means as they would be if configurations had other shares (GLEE, footnote 11).

    With w_c the weight of configuration c, m_c the mean of a cell's matches in it, and C the
    configurations that the cell met, the mean is

        sum over c in C of w_c m_c / sum over c in C of w_c.

    Its interval takes the weights as given and clusters by deal within configurations, as
    :func:`.mean_intervals` does with strata.

    Args:
        frame: one row a match, with the columns ``configuration`` and ``deal``.
        values: the columns to take means of; a match where one is missing does not count for it.
        by: the columns whose combinations are the cells, one at least.
        weights: how much each configuration counts, by its digest, >= 0; others count nothing.
        bounds: the least and the most that values can be, as :func:`.mean_intervals` takes them; no
            interval leaves their weighted means.

    Returns:
        One row a cell: the columns of ``by``, then for each value ``x`` its mean ``x``, ``x.low``,
        ``x.high``, ``x.error``, ``x.n``, ``x.clusters`` and ``x.covered``, the share of the weight
        that lies on configurations the cell met.

    Raises:
        ValueError: no weight is positive, or one is negative.

    >>> played = pl.DataFrame({"who": ["x"] * 4, "configuration": ["a", "a", "a", "b"],
    ...                        "deal": ["1", "2", "3", "1"], "gain": [0.0, 0.3, 0.6, 0.9]})
    >>> reweighted(played, ["gain"], ["who"], {"a": 1, "b": 1})["gain"].round(3).item()
    0.6
    """
    if min(weights.values(), default=0) < 0 or not sum(weights.values()) > 0:
        raise ValueError("weights of configurations are >= 0, and one at least is more")
    given = pl.DataFrame(
        {"configuration": list(weights), "weight": list(weights.values())},
        schema_overrides={"weight": pl.Float64},
    )
    known = frame.join(
        given.filter(pl.col("weight") > 0),
        on="configuration",
        validate="m:1",
        maintain_order="left",
    )
    whole = known.select(by).unique(maintain_order=True)
    for value in values:
        least, most = (bounds or {}).get(value, (-inf, inf))
        ends = [end for end in (least, most) if isinstance(end, str)]
        own = _scaled(known.drop_nulls(value), [value, *ends], by)
        found = means(own, [value], by, cluster=DEALS, strata=STRATA)
        if ends:
            cells = own.group_by(by, maintain_order=True).agg(pl.col(ends).mean())
            found = found.join(
                cells, on=by, how="left", nulls_equal=True, maintain_order="left", validate="1:1"
            )
        found = found.with_columns(pl.col(value + LOW, value + HIGH).clip(least, most)).drop(ends)
        covered = own.group_by(by, maintain_order=True).agg(
            (pl.col("met").first() / given["weight"].sum()).alias(f"{value}.covered")
        )
        for part in (found, covered):
            whole = whole.join(
                part, on=by, how="left", nulls_equal=True, maintain_order="left", validate="1:1"
            )
    return whole


def _scaled(frame: pl.DataFrame, values: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """Values such that their plain mean is the weighted one: x w_c / W * N / n_c in each cell."""
    inner = [*by, "configuration"]
    each = pl.col("weight") / pl.len().over(inner)
    return frame.with_columns(met=each.sum().over(by)).with_columns(
        pl.col(values) * each / pl.col("met") * pl.len().over(by)
    )
