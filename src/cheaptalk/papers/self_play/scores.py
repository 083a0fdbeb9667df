"""Scores, agreements and faults by iteration, how scores rise, and strict competition."""

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any

import polars as pl

from cheaptalk.games.deal_or_no_deal.rules import OBJECTIVES as WEIGHTS
from cheaptalk.papers.printed import as_printed, chosen
from cheaptalk.papers.self_play.charts import ShownNumber, panels
from cheaptalk.papers.self_play.stages import (
    HEAD,
    ITSELF,
    OBJECTIVES,
    ONE_ITERATION,
    OTHERS,
    OWN,
    PEOPLE,
    PERCENT,
    SERIES,
    THEIRS,
    WITH,
    Sides,
    cells,
    leads,
    ordered,
    place,
)
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.margins import FEW_DEALS, Margin, margins_over
from cheaptalk.reports.recipes.means import means, side_by_side
from cheaptalk.reports.recipes.parts import Answer, Charts, Lacking
from cheaptalk.reports.recipes.tables import BOLD, COUNT, Estimate, Header, ReportTable, estimate
from cheaptalk.rules import counted
from cheaptalk.statistics import DEALS, StatisticsError, correlation
from cheaptalk.statistics.intervals import BoundsColumns
from cheaptalk.text import capital, fixed

RATES = {"agreement": "Agreement", "pareto_optimality": "Pareto optimality"}
INVERTED = "inverted_proposals"
ENDS = ("before", "after", "change")
FAULT_RATES = {
    "erred": Header(
        "erred", "Errors", "% of matches", 1, "Matches in which an answer of the player's was not "
        "valid at the first try: it was asked again with the reason, or finally failed. In "
        "self-play an answer of either copy's counts.",
    ),
    "aborted": Header(
        "aborted", "Aborts", "% of matches", 1, "Matches that ended because a player, of either "
        "side, finally gave no valid answer; five tries are allowed unless a player sets others.",
    ),
}  # fmt: skip
GOT: dict[str, BoundsColumns] = {"own": OWN, "theirs": THEIRS}
"""The columns that tell what mean payoffs can be."""
PAPER = "self_play"
"""The folder with the printed values."""
GROUP = ("weight", "objective", "lineage", "partner")


def _risen(sides: Sides, frame: pl.DataFrame, number: ShownNumber) -> Answer:
    """What self-play did to scores; without iterations, who scores most with its copy."""
    alone = frame.filter(partner=ITSELF).drop_nulls(number.key)
    where = "Among people" if set(alone["player"]) <= sides.people else "In self-play"
    if sides.staged and (said := _changes(sides, alone, number)):
        return Answer(f"{where}, {said}.")
    best = [
        f"{names[0]}: {_highest(part, number)}"
        for names, part in alone.group_by("objective", maintain_order=True) if not sides.staged
    ]  # fmt: skip
    if not best:
        return Answer("What self-play does to scores cannot be told: nobody met its copy.")
    return Answer(f"{where}, {'; '.join(best)}.")


def _highest(players: pl.DataFrame, number: ShownNumber) -> str:
    best = players.sort(number.key, descending=True).row(0, named=True)
    within = estimate(best, number.key).within(number.places)
    return f"{best['player']} scores most, {fixed(best[number.key], number.places)}{within}"


def _changes(sides: Sides, cells: pl.DataFrame, number: ShownNumber) -> str:
    """How scores with a kind of partner changed by iteration; empty where there is one only."""
    told, fewest = [], FEW_DEALS
    for names, part in cells.group_by("objective", "lineage", maintain_order=True):
        rows = part.drop_nulls("iteration").sort("iteration").rows(named=True)
        if len(rows) > 1:
            met = sides.frame.filter(objective=names[0], partner=rows[0]["partner"])
            by = _difference(met, rows[0], rows[-1], number)
            of = f" of {names[1]}" if names[1] else ""
            told.append(f"{names[0]}{of} {_change(rows[0], rows[-1], by, number)}")
            fewest = min(fewest, by.deals)
    if not told:
        return ""
    stages = cells["iteration"].drop_nulls().to_list()
    few = f", all on only {counted(fewest, 'deal')}" if fewest < FEW_DEALS else ""
    return (
        f"from iteration {min(stages)} to {max(stages)} scores change with 95 % intervals: "
        f"{'; '.join(told)}{few}"
    )


def _difference(
    matches: pl.DataFrame, first: dict[str, Any], last: dict[str, Any], number: ShownNumber
) -> Margin:
    """How far the higher of two iterations is above the lower."""
    ranked = sorted(
        ((one["player"], one[number.key]) for one in (last, first)), key=itemgetter(1), reverse=True
    )
    (found,) = margins_over(matches, "player", number.key, ranked)
    return found


def _change(first: dict[str, Any], last: dict[str, Any], by: Margin, number: ShownNumber) -> str:
    places, ends = number.places, [fixed(one[number.key], number.places) for one in (first, last)]
    if by.size == 0:
        return f"by nothing, {ends[0]}"
    size = fixed(by.size, places) + Estimate(by.size, by.low, by.high).within(places, "")
    unsure = "" if by.told else ", which may be none"
    way = "up" if last[number.key] > first[number.key] else "down"
    return f"{way} by {size} from {ends[0]} to {ends[1]}{unsure}"


def scores(evidence: Evidence) -> Iterator[Answer | ReportTable | Charts]:
    """What a player scores on average: in self-play with its copy, with people, with others.

    A match counts 0 without an agreement. In self-play both players' scores are averaged; in other
    matches a score is the player's own, and its partner's stands beside it. Intervals are 95 %
    intervals clustered by deal.
    """
    sides = evidence.once(Sides)
    frame = cells(sides, sides.frame, ["own", "theirs"], GOT)
    frame = frame.with_columns(
        pl.when(pl.col("partner") != ITSELF).then(pl.col(name)).alias(name)
        for name in frame.columns if name.startswith("theirs")
    )  # fmt: skip
    number = ShownNumber("own", "mean score, points", 2)
    yield _risen(sides, frame, number)
    others = frame.filter(partner=OTHERS).drop_nulls(number.key)
    caption = "Whiskers are 95 % intervals clustered by deal."
    if sides.staged:
        met = f" With other players, {said}." if (said := _changes(sides, others, number)) else ""
        caption += f" A dashed line is a player that is no iteration.{met}"
    title = "Score by iteration" if sides.staged else "Score by player"
    drawn = panels(frame, number, staged=sides.staged)
    yield Charts("scores-figure", title, drawn, caption)
    columns = (
        *HEAD, SERIES,
        Header("own", "Score", "points", 2, "The mean payoff: own points plus lambda times the "
               "partner's, 0 without an agreement."),
        Header("theirs", "Partner's score", "points", 2, "What the partner got; in self-play it is "
               "part of the score."),
        Header("own.n", "Matches", "", 0),
    )  # fmt: skip
    yield ReportTable("scores", "Mean scores", frame, columns, leads=leads(sides.frame))


def agreements(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """How many matches end in an agreement, and how many in one that is Pareto-optimal.

    Both are shares of all matches: one without an agreement counts as not optimal. A division is
    Pareto-optimal if no other pays one player more and none less. Intervals are 95 % intervals
    clustered by deal.
    """
    sides = evidence.once(Sides)
    rates = list(RATES)
    frame = cells(sides, sides.frame, rates, dict.fromkeys(rates, PERCENT))
    for key, title in RATES.items():
        shown = panels(frame, ShownNumber(key, f"{title}, % of matches"), staged=sides.staged)
        yield Charts(f"{key}-figure", title, shown)
    columns = tuple(Header(key, title, "% of matches", 1) for key, title in RATES.items())
    shown_columns = (*HEAD, SERIES, *columns, Header("agreement.n", "Matches", "", 0))
    yield ReportTable("agreements", "Agreement and Pareto optimality", frame, shown_columns,
                leads=leads(sides.frame))  # fmt: skip


def before_and_after(evidence: Evidence) -> Iterator[ReportTable]:
    """Agreement and Pareto optimality of the first and the last iteration.

    The change is the share of the last iteration less that of the first. 95 % intervals are
    clustered by deal; that of the change allows for both meeting the same deals, where they did.
    """
    sides = evidence.once(Sides)
    cell = ["lineage", "weight", "partner"]
    at = pl.col("iteration")
    ends = sides.frame.drop_nulls("iteration").filter(
        pl.col("partner").is_in([ITSELF, PEOPLE]), at.n_unique().over(cell) > 1
    )
    if ends.is_empty():
        raise Lacking(f"in self-play or with people, {ONE_ITERATION}")
    order = [place("weight", OBJECTIVES), "weight", place("partner", WITH)]
    ends = ends.sort(order, maintain_order=True).with_columns(
        end=pl.when(at == at.min().over(cell)).then(pl.lit(ENDS[0]))
        .when(at == at.max().over(cell)).then(pl.lit(ENDS[1]))
    ).drop_nulls("end")  # fmt: skip
    long = pl.concat([_ends(ends, key, title) for key, title in RATES.items()])
    wide = side_by_side(long, "share", "end")
    rows = (Header("rate", "Rate"), *HEAD[1:], SERIES)
    lineage = (Header("lineage", "Lineage"),) if wide["lineage"].n_unique() > 1 else ()
    spans = [
        f"{WITH[str(partner)]}, iterations {min(of)} and {max(of)}"
        for (partner,), part in ends.group_by("partner", maintain_order=True)
        for of in [part["iteration"]]
    ]
    numbers = [Header(end, end.capitalize(), "% of matches", 1) for end in ENDS]
    yield ReportTable(
        "before-after", "Before training and after the last iteration", wide,
        (*rows, *lineage, *numbers), f"Compared are: {'; '.join(spans)}.",
    )  # fmt: skip
    yield from _rate_table(evidence, ends, long.filter(pl.col("end") != ENDS[2]))


PRINTED_RATES = {"Agreement": "Agreement", "Pareto optimality": "Pareto-Optimality"}
PRINTED_OBJECTIVES = {"semi-competitive": "Semi-Competitive", "cooperative": "Cooperative"}
PRINTED_PLAY = {WITH[ITSELF]: "Self-Play", WITH[PEOPLE]: "Human"}


def _rate_table(
    evidence: Evidence, ends: pl.DataFrame, shares: pl.DataFrame
) -> Iterator[ReportTable]:
    """Table 2: a row for each end of a lineage, unless nobody who is asked for played.

    Args:
        evidence: what is asked for besides.
        ends: the matches of both ends.
        shares: a row a rate, objective, kind of play, lineage and end.
    """
    shown = chosen(evidence, ends["player"].unique().sort().to_list())
    others = ends.filter(~pl.col("player").is_in(shown))["lineage"].unique().to_list()
    kept = shares.filter(
        pl.col("objective").is_in(list(PRINTED_OBJECTIVES)), ~pl.col("lineage").is_in(others)
    )
    if kept.is_empty():
        return
    row = pl.col("end").str.to_titlecase()
    if kept["lineage"].n_unique() > 1:
        row = pl.format("{}, {}", "lineage", "end")
    kind = ["rate", "objective", "series"]
    keys = {" ".join(one): one for one in kept.select(kind).unique(maintain_order=True).rows()}
    rows = kept.sort("lineage", pl.col("end") != ENDS[0], maintain_order=True).select(
        row.alias("row"), "lineage", pl.concat_str(kind, separator=" ").alias("kind"),
        pl.col("^share.*$"),
    )  # fmt: skip
    wide = side_by_side(rows, "share", "kind").with_columns(
        (pl.col(key) == pl.col(key).max().over("lineage")).alias(key + BOLD) for key in keys
    )
    columns = [
        Header(key, f"{PRINTED_OBJECTIVES[objective]} {PRINTED_PLAY[play]}", "", 1,
               "% of matches", PRINTED_RATES[rate], spread=False)
        for key, (rate, objective, play) in keys.items()
    ]  # fmt: skip
    table = ReportTable(
        "table-2", "Agreement and Pareto optimality before and after finetuning",
        wide.drop("lineage"), (Header("row", "Finetuning"), *columns),
        "In % of matches; bold is the higher of before and after.", printed="Table 2",
    )  # fmt: skip
    yield as_printed(evidence, PAPER, table)


def _ends(ends: pl.DataFrame, key: str, title: str) -> pl.DataFrame:
    """A rate before and after, and its change, a row each."""
    cell = ["rate", "objective", "series", "lineage"]
    play = pl.col("partner").replace(list(WITH), list(WITH.values()))
    ends = ends.drop_nulls(key).with_columns(rate=pl.lit(title), series=play, share=pl.col(key))
    both = ends.filter(pl.col("end").n_unique().over(cell) == 2)
    levels = means(ends, ["share"], [*cell, "end"], bounds={"share": PERCENT})
    changes = means(_influence(both, cell), ["share"], [*cell, "end"])
    within = pl.col("share.low", "share.high").clip(-PERCENT[1], PERCENT[1])
    return pl.concat([levels, changes.with_columns(within)])


def _influence(both: pl.DataFrame, cell: list[str]) -> pl.DataFrame:
    """Rows of which the mean is the change, and the spread that of the change.

    With m and n the mean and number of matches of a row's end and N those of both ends, a row's
    value x becomes change +/- N / n (x - m): their mean is the change, and the interval of their
    mean by :func:`.mean_intervals` that of the difference of two means with clusters in common.
    """
    after = pl.col("end") == ENDS[1]
    share = pl.col("share")
    change = (share.filter(after).mean() - share.filter(~after).mean()).over(cell)
    weight = pl.len().over(cell) / pl.len().over([*cell, "end"])
    off = (share - share.mean().over([*cell, "end"])) * weight
    return both.with_columns(
        share=change + pl.when(after).then(off).otherwise(-off), end=pl.lit(ENDS[2])
    )


def faults(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """How many matches have an answer that is no legal move, and how many end for want of one.

    Hand-written negotiators make no such errors; what never happened is not drawn. Intervals are
    95 % intervals clustered by deal.
    """
    sides = evidence.once(Sides)
    frame = cells(sides, sides.frame, list(FAULT_RATES), dict.fromkeys(FAULT_RATES, PERCENT))
    for key, column in FAULT_RATES.items():
        shown = ShownNumber(key, f"{column.title.lower()}, {column.unit}")
        if frame[key].sum():
            yield Charts(f"{key}-figure", column.title, panels(frame, shown, staged=sides.staged))
    columns = (*HEAD, SERIES, *FAULT_RATES.values(), Header("aborted.n", "Matches", "", 0))
    yield ReportTable(
        "errors-aborts", "Errors and aborts", frame, columns, leads=leads(sides.frame)
    )


def rises(evidence: Evidence) -> Iterator[ReportTable]:
    """Pearson's correlation of the iteration with the score of a match.

    Over all matches, and over those with an agreement only: where the second is near 0, scores rise
    because more matches end in an agreement, not because agreements get better. The score is the
    mean of both players' in self-play, the player's own elsewhere. 95 % intervals are percentiles
    of bootstrap draws of whole deals.
    """
    sides = evidence.once(Sides)
    frame = sides.frame.drop_nulls("iteration").with_columns(score=pl.col("own"))
    frame = frame.filter(pl.col("iteration").n_unique().over(GROUP) > 1)
    if frame.is_empty():
        raise Lacking(ONE_ITERATION)
    notes: list[str] = []
    rows = [
        dict(zip(GROUP, key, strict=True)) | _correlations(part, evidence, notes)
        for key, part in frame.group_by(GROUP, maintain_order=True)
    ]
    made = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.lit(0).alias("iteration"), pl.lit("").alias("player"),
        pl.col("^(all|agreed)(\\.low|\\.high)?$").cast(pl.Float64),
    )  # fmt: skip
    columns = (
        Header("objective", "Objective"), SERIES,
        Header("all", "All matches", "r", 2), Header("all.n", "Matches", "", 0),
        Header("agreed", "Agreements only", "r", 2), Header("agreed.n", "Agreements", "", 0),
    )  # fmt: skip
    yield ReportTable(
        "correlations", "Correlation of iteration and score",
        ordered(sides, made).drop("iteration", "player"), columns, notes=tuple(notes),
    )  # fmt: skip


def _correlations(part: pl.DataFrame, evidence: Evidence, notes: list[str]) -> dict[str, Any]:
    """The correlation over all matches and over those with an agreement; why there is none."""
    found: dict[str, Any] = {}
    groups = {"all": part, "agreed": part.filter(pl.col("agreement") == 100)}
    for key, rows in groups.items():
        found |= {key: None, key + LOW: None, key + HIGH: None, key + COUNT: rows.height}
        try:
            one = correlation(
                rows.select("iteration", "score", *DEALS), "iteration", "score",
                draws=evidence.draws, seed=evidence.seed,
            )  # fmt: skip
        except StatisticsError as error:
            which = "all matches" if key == "all" else "agreements"
            play = WITH[part["partner"][0]]
            notes.append(f"{capital(part['objective'][0])}, {play}, {which}: {error}.")
        else:
            found |= {key: one.estimate, key + LOW: one.low, key + HIGH: one.high}
    return found


SCORED = ShownNumber("own", "mean score, points", 2)
AGREED = ShownNumber("agreement", "% of matches")
PROPOSED = ShownNumber(INVERTED, "% of proposals")


def _competition_charts(
    name: str, title: str, frame: pl.DataFrame, number: ShownNumber, sides: Sides
) -> Iterator[Charts]:
    """One chart; one for each opponent, with a line for each lineage, where there are several."""
    several = sides.staged and frame.drop_nulls("iteration")["lineage"].n_unique() > 1
    told = frame
    if several:
        told = frame.with_columns(
            series="lineage", against=pl.col("against").replace(ITSELF, WITH[ITSELF])
        )
    drawn = panels(told, number, staged=sides.staged, by="against" if several else "objective")
    if drawn:
        yield Charts(name, title, drawn if several else [replace(one, title="") for one in drawn])


def competition(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """How players fare where one wins what the other loses.

    In self-play the mean score is 0 by the rules, so that only agreements show whether play
    improves; against an opponent the score shows it. The score is the player's own points less the
    opponent's, 0 without an agreement. Self-play was found to teach inverted proposals here: claims
    to just what the last offer leaves to the partner, with which two copies agree and nobody else
    does. Intervals are 95 % intervals clustered by deal.
    """
    sides = evidence.once(Sides)
    frame = sides.frame.filter(pl.col("weight") == WEIGHTS["comp"])
    if frame.is_empty():
        raise Lacking(
            "no match under the strictly competitive objective has finished; add objective: comp"
        )
    against = pl.when(pl.col("partner") != ITSELF).then(pl.format("against {}", "opponent"))
    frame = frame.with_columns(against=against.otherwise(pl.lit(ITSELF)))
    bounds = GOT | {"agreement": PERCENT, INVERTED: PERCENT}
    made = cells(sides, frame, ["own", "agreement", INVERTED], bounds, by="against")
    met = made.filter(pl.col("against") != ITSELF)
    yield from _competition_charts(
        "competition-score-figure", "Score against others", met, SCORED, sides
    )
    yield from _competition_charts(
        "competition-agreement-figure", "Agreements", made, AGREED, sides
    )
    if made[INVERTED].sum():
        yield from _competition_charts(
            "inverted-figure", "Inverted proposals", made, PROPOSED, sides
        )
    columns = (
        HEAD[0], Header("series", "Play"), Header("own", "Score", "points", 2),
        Header("agreement", "Agreement", "% of matches", 1),
        Header(INVERTED, "Inverted", "% of proposals", 1, "Proposals that claim just what the last "
               "offer leaves to the partner, of those that follow an offer; the mean of matches."),
        Header("own.n", "Matches", "", 0),
    )  # fmt: skip
    yield ReportTable(
        "competition", "Strict competition", made, columns, leads=leads(frame, "against")
    )
