"""Results by iteration: scores, agreements, errors, correlations, competition and cross-play."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import Any

import polars as pl

from cheaptalk.games.deal_or_no_deal.rules import OBJECTIVES as WEIGHTS
from cheaptalk.papers.printed import Columns, position, printed_values, selected_labels
from cheaptalk.papers.self_play import stages
from cheaptalk.reports.charts.chart import Chart, Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW, Cell
from cheaptalk.reports.charts.kinds import cells as heat_map
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.margins import FEW_INSTANCES, Margin, margins_over
from cheaptalk.reports.recipes.means import means, side_by_side
from cheaptalk.reports.recipes.parts import Answer, Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import BOLD, COUNT, Estimate, Header, ReportTable, estimate
from cheaptalk.rules import counted
from cheaptalk.statistics import INSTANCES, StatisticsError, correlation
from cheaptalk.statistics.limits import Bounds, BoundsColumns
from cheaptalk.text import capital, fixed, uncapitalized

RATES = {"agreement": "Agreement", "pareto_optimality": "Pareto optimality"}
INVERTED = "inverted_proposals"
ENDS = ("before", "after", "change")
FAULTS = ("erred", "aborted")
PAYOFF_BOUNDS: dict[str, BoundsColumns] = {"own": stages.OWN, "theirs": stages.THEIRS}
GROUP = ("weight", "objective", "lineage", "partner")


def _first_answer(sides: stages.Sides, frame: pl.DataFrame, number: stages.ShownNumber) -> Answer:
    """The report's first sentence: how self-play scores changed, or the highest score."""
    rows = frame.filter(partner=stages.ITSELF).drop_nulls(number.key)
    play = "Among people" if set(rows["player"]) <= sides.people else "In self-play"
    if sides.staged and (changes := _changes(sides, rows, number)):
        return Answer(f"{play}, {changes}.")
    if sides.staged or rows.is_empty():
        return Answer("There are no scores in self-play: no player met its copy.")
    best = []
    for (objective,), part in rows.group_by("objective", maintain_order=True):
        first = part.sort(number.key, descending=True).row(0, named=True)
        within = estimate(first, number.key).within(number.decimals)
        score = fixed(first[number.key], number.decimals) + within
        best.append(f"{objective}: {first['player']} scores highest, {score}")
    return Answer(f"{play}, {'; '.join(best)}.")


def _changes(sides: stages.Sides, cells: pl.DataFrame, number: stages.ShownNumber) -> str:
    """How scores changed from the first to the last iteration; empty without changes."""
    changes, fewest = [], FEW_INSTANCES
    for names, part in cells.group_by("objective", "lineage", maintain_order=True):
        rows = part.drop_nulls("iteration").sort("iteration").rows(named=True)
        if len(rows) > 1:
            matches = sides.frame.filter(objective=names[0], partner=rows[0]["partner"])
            pairs = [(row["player"], row[number.key]) for row in (rows[-1], rows[0])]
            ranked = sorted(pairs, key=itemgetter(1), reverse=True)
            (margin,) = margins_over(matches, "player", number.key, ranked)
            lineage = f" of {names[1]}" if names[1] else ""
            changes.append(f"{names[0]}{lineage} {_change(rows[0], rows[-1], margin, number)}")
            fewest = min(fewest, margin.instances)
    if not changes:
        return ""
    iterations = cells["iteration"].drop_nulls().to_list()
    few = f" (based on {counted(fewest, 'instance')})" if fewest < FEW_INSTANCES else ""
    return (
        f"from iteration {min(iterations)} to {max(iterations)}, scores change as follows (95 % "
        f"intervals): {'; '.join(changes)}{few}"
    )


def _change(
    first: dict[str, Any], last: dict[str, Any], margin: Margin, number: stages.ShownNumber
) -> str:
    decimals = number.decimals
    ends = [fixed(row[number.key], decimals) for row in (first, last)]
    if margin.size == 0:
        return f"unchanged at {ends[0]}"
    within = Estimate(margin.size, margin.low, margin.high).within(decimals, "")
    size = fixed(margin.size, decimals) + within
    unsure = "" if margin.significant else ", not significant"
    direction = "up" if last[number.key] > first[number.key] else "down"
    return f"{direction} by {size} from {ends[0]} to {ends[1]}{unsure}"


def scores(evidence: Evidence) -> Iterator[Shown]:
    """Report players' mean scores in self-play, with people, and with other players.

    The score of a match without an agreement is 0. In self-play, the score is the mean of both
    copies. In other matches, the partner's score is shown separately. 95 % confidence intervals are
    clustered by instance and participant.
    """
    sides = evidence.once(stages.Sides)
    frame = stages.cells(sides, sides.frame, ["own", "theirs"], PAYOFF_BOUNDS)
    frame = frame.with_columns(
        pl.when(pl.col("partner") != stages.ITSELF).then(pl.col(name)).alias(name)
        for name in frame.columns
        if name.startswith("theirs")
    )
    number = stages.ShownNumber("own", "mean score, points", 2)
    yield _first_answer(sides, frame, number)
    with_others = frame.filter(partner=stages.OTHERS).drop_nulls(number.key)
    caption = "Whiskers are 95 % confidence intervals clustered by instance and participant."
    if sides.staged:
        caption += " Dashed lines are players that are not iterations."
        if changes := _changes(sides, with_others, number):
            caption += f" With other players, {changes}."
    title = "Score by iteration" if sides.staged else "Score by player"
    yield sides.figure("scores-figure", title, frame, number, caption)
    yield stages.table(evidence, "scores", frame, leads=stages.leads(sides.frame))


def agreements(evidence: Evidence) -> Iterator[Shown]:
    """Report the shares of matches with an agreement, and with a Pareto-optimal agreement.

    Matches without an agreement count as not optimal. A division is Pareto-optimal if no other
    division gives one player more and the other player at least as much. 95 % confidence intervals
    are clustered by instance and participant.
    """
    sides = evidence.once(stages.Sides)
    rates = list(RATES)
    frame = stages.cells(sides, sides.frame, rates, dict.fromkeys(rates, stages.PERCENT))
    for key, title in RATES.items():
        number = stages.ShownNumber(key, f"{title}, % of matches")
        yield sides.figure(f"{key}-figure", title, frame, number)
    yield stages.table(evidence, "agreements", frame, leads=stages.leads(sides.frame))


def before_and_after(evidence: Evidence) -> Iterator[ReportTable]:
    """Compare agreement and Pareto optimality of the first and the last iteration.

    The change is the share of the last iteration minus that of the first iteration. 95 % confidence
    intervals are clustered by instance and participant; that of the change accounts for shared
    instances and participants.
    """
    sides = evidence.once(stages.Sides)
    cell = ["lineage", "weight", "partner"]
    iteration = pl.col("iteration")
    ends = sides.frame.drop_nulls("iteration").filter(
        pl.col("partner").is_in([stages.ITSELF, stages.PEOPLE]), iteration.n_unique().over(cell) > 1
    )
    if ends.is_empty():
        raise NoData(f"in self-play or with people, {stages.ONE_ITERATION}")
    weight, partner = position("weight", stages.OBJECTIVES), position("partner", stages.WITH)
    order = [weight, "weight", "lineage", partner]
    ends = (
        ends.sort(order, maintain_order=True)
        .with_columns(
            end=pl.when(iteration == iteration.min().over(cell))
            .then(pl.lit(ENDS[0]))
            .when(iteration == iteration.max().over(cell))
            .then(pl.lit(ENDS[1]))
        )
        .drop_nulls("end")
    )
    long = pl.concat([_ends(ends, key, title) for key, title in RATES.items()])
    wide = side_by_side(long, "share", "end")
    spans = [
        f"{stages.WITH[str(partner)]}, iterations {min(numbers)} and {max(numbers)}"
        for (partner,), part in ends.group_by("partner", maintain_order=True)
        for numbers in [part["iteration"]]
    ]
    columns: dict[str, Columns] = {} if wide["lineage"].n_unique() > 1 else {"lineage": ()}
    yield stages.table(
        evidence, "before-after", wide, columns=columns, facts={"spans": "; ".join(spans)}
    )
    yield from _rate_table(evidence, ends, long.filter(pl.col("end") != ENDS[2]))


PRINTED_RATES = {"Agreement": "Agreement", "Pareto optimality": "Pareto-Optimality"}
PRINTED_OBJECTIVES = {"semi-competitive": "Semi-Competitive", "cooperative": "Cooperative"}
PRINTED_PLAY = {stages.WITH[stages.ITSELF]: "Self-Play", stages.WITH[stages.PEOPLE]: "Human"}


def _rate_table(
    evidence: Evidence, ends: pl.DataFrame, shares: pl.DataFrame
) -> Iterator[ReportTable]:
    """Yield Table 2, with a row before and a row after the training of each lineage."""
    shown = selected_labels(evidence, ends["player"].unique().sort().to_list())
    hidden = ends.filter(~pl.col("player").is_in(shown))["lineage"].unique().to_list()
    selected = shares.filter(
        pl.col("objective").is_in(list(PRINTED_OBJECTIVES)), ~pl.col("lineage").is_in(hidden)
    )
    if selected.is_empty():
        return
    title = pl.col("end").str.to_titlecase()
    if selected["lineage"].n_unique() > 1:
        title = pl.format("{}, {}", "lineage", "end")
    kind = ["rate", "objective", "series"]
    keys = {" ".join(row): row for row in selected.select(kind).unique(maintain_order=True).rows()}
    rows = selected.sort("lineage", pl.col("end") != ENDS[0], maintain_order=True).select(
        title.alias("row"),
        "lineage",
        pl.concat_str(kind, separator=" ").alias("kind"),
        pl.col("^share.*$"),
    )
    wide = side_by_side(rows, "share", "kind").with_columns(
        (pl.col(key) == pl.col(key).max().over("lineage")).alias(key + BOLD) for key in keys
    )
    if printed_values("self_play", evidence, "table-2") is not None:
        every = product(PRINTED_RATES, PRINTED_OBJECTIVES, PRINTED_PLAY)
        absent = {" ".join(row): row for row in every if " ".join(row) not in keys}
        wide = wide.with_columns(pl.lit(None, pl.Float64).alias(key) for key in absent)
        keys |= absent
    headers = []
    for key, (rate, objective, play) in keys.items():
        name, group = f"{PRINTED_OBJECTIVES[objective]} {PRINTED_PLAY[play]}", PRINTED_RATES[rate]
        headers.append(Header(key, name, "", 1, "% of matches", group, spread=False))
    yield stages.table(evidence, "table-2", wide.drop("lineage"), columns={"rates": headers})


def _ends(ends: pl.DataFrame, key: str, title: str) -> pl.DataFrame:
    cell = ["rate", "objective", "series", "lineage"]
    play = pl.col("partner").replace(list(stages.WITH), list(stages.WITH.values()))
    ends = ends.drop_nulls(key).with_columns(rate=pl.lit(title), series=play, share=pl.col(key))
    pairs = ends.filter(pl.col("end").n_unique().over(cell) == 2)
    levels = means(ends, ["share"], [*cell, "end"], bounds={"share": stages.PERCENT})
    changes = means(_influence(pairs, cell), ["share"], [*cell, "end"])
    within = pl.col("share.low", "share.high").clip(-stages.PERCENT[1], stages.PERCENT[1])
    return pl.concat([levels, changes.with_columns(within)])


def _influence(pairs: pl.DataFrame, cell: list[str]) -> pl.DataFrame:
    """Return influence values, whose mean and clustered standard error are those of the change.

    With m and n the mean and number of matches of a row's end, and N the number of matches of both
    ends, a row's value x becomes change +/- N / n (x - m).
    """
    after = pl.col("end") == ENDS[1]
    share = pl.col("share")
    change = (share.filter(after).mean() - share.filter(~after).mean()).over(cell)
    weight = pl.len().over(cell) / pl.len().over([*cell, "end"])
    deviation = (share - share.mean().over([*cell, "end"])) * weight
    return pairs.with_columns(
        share=change + pl.when(after).then(deviation).otherwise(-deviation), end=pl.lit(ENDS[2])
    )


def faults(evidence: Evidence) -> Iterator[Shown]:
    """Report the shares of matches with an invalid answer, and of matches aborted by one.

    Scripted negotiators make no such errors. Figures without errors are omitted. 95 % confidence
    intervals are clustered by instance and participant.
    """
    sides = evidence.once(stages.Sides)
    frame = stages.cells(sides, sides.frame, FAULTS, dict.fromkeys(FAULTS, stages.PERCENT))
    shown = stages.table(evidence, "errors-aborts", frame, leads=stages.leads(sides.frame))
    for column in shown.columns:
        if column.key in FAULTS and frame[column.key].sum():
            number = stages.ShownNumber(column.key, f"{uncapitalized(column.title)}, {column.unit}")
            yield sides.figure(f"{column.key}-figure", column.title, frame, number)
    yield shown


def rises(evidence: Evidence) -> Iterator[ReportTable]:
    """Report Pearson's correlation between iteration and score of a match.

    The correlation is reported for all matches, and for matches with an agreement. If the second
    correlation is near 0, scores increase because more matches end in an agreement, not because
    agreements improve. The score is the mean of both copies in self-play, and the player's own
    score otherwise. 95 % confidence intervals are bootstrap percentiles over instances.
    """
    sides = evidence.once(stages.Sides)
    frame = sides.frame.drop_nulls("iteration").with_columns(score=pl.col("own"))
    frame = frame.filter(pl.col("iteration").n_unique().over(GROUP) > 1)
    if frame.is_empty():
        raise NoData(stages.ONE_ITERATION)
    notes: list[str] = []
    rows = [
        dict(zip(GROUP, key, strict=True)) | _correlations(part, evidence, notes)
        for key, part in frame.group_by(GROUP, maintain_order=True)
    ]
    fitted = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.lit(0).alias("iteration"),
        pl.lit("").alias("player"),
        pl.col("^(all|agreed)(\\.low|\\.high)?$").cast(pl.Float64),
    )
    frame = stages.ordered(sides, fitted).drop("iteration", "player")
    yield stages.table(evidence, "correlations", frame, notes=notes)


def _correlations(part: pl.DataFrame, evidence: Evidence, notes: list[str]) -> dict[str, Any]:
    """The correlations over all matches and over agreements; append failures to notes."""
    result: dict[str, Any] = {}
    groups = {"all": part, "agreed": part.filter(pl.col("agreement") == 100)}
    for key, rows in groups.items():
        result |= {key: None, key + LOW: None, key + HIGH: None, key + COUNT: rows.height}
        values, draws = rows.select("iteration", "score", *INSTANCES), evidence.draws
        try:
            fit = correlation(values, "iteration", "score", draws=draws, seed=evidence.seed)
        except StatisticsError as error:
            matches = "all matches" if key == "all" else "agreements"
            play = stages.WITH[part["partner"][0]]
            notes.append(f"{capital(part['objective'][0])}, {play}, {matches}: {error}.")
        else:
            result |= {key: fit.estimate, key + LOW: fit.low, key + HIGH: fit.high}
    return result


SCORED = stages.ShownNumber("own", "mean score, points", 2)
FIGURES = (
    ("competition-score-figure", "Score against others", SCORED),
    ("competition-agreement-figure", "Agreements", stages.ShownNumber("agreement", "% of matches")),
    ("inverted-figure", "Inverted proposals", stages.ShownNumber(INVERTED, "% of proposals")),
)


def _competition_charts(
    name: str, title: str, frame: pl.DataFrame, number: stages.ShownNumber, sides: stages.Sides
) -> Iterator[Charts]:
    """Yield a chart or, for several lineages, charts with a line per lineage."""
    several = sides.staged and frame.drop_nulls("iteration")["lineage"].n_unique() > 1
    if several:
        frame = frame.with_columns(
            series="lineage",
            against=pl.col("against").replace(stages.ITSELF, stages.WITH[stages.ITSELF]),
        )
    charts = stages.panels(
        frame, number, staged=sides.staged, by="against" if several else "objective"
    )
    if charts:
        if not several:
            charts = [replace(chart, title="") for chart in charts]
        yield Charts(name, title, charts)


def competition(evidence: Evidence) -> Iterator[Shown]:
    """Report play with the strictly competitive objective: own points minus the opponent's points.

    The score is 0 without an agreement. In self-play the mean score is always 0, so only agreements
    show whether play improves. Against other players, the score shows improvement. Self-play can
    teach inverted proposals: claims to exactly what the last offer leaves to the partner. Copies
    agree with inverted proposals, but other players don't. 95 % confidence intervals are clustered
    by instance.
    """
    sides = evidence.once(stages.Sides)
    frame = sides.frame.filter(pl.col("weight") == WEIGHTS["comp"])
    if frame.is_empty():
        raise NoData(
            "no match with the strictly competitive objective has finished; add objective: comp"
        )
    against = pl.when(pl.col("partner") != stages.ITSELF).then(pl.format("against {}", "opponent"))
    frame = frame.with_columns(against=against.otherwise(pl.lit(stages.ITSELF)))
    bounds = PAYOFF_BOUNDS | {"agreement": stages.PERCENT, INVERTED: stages.PERCENT}
    averages = stages.cells(sides, frame, ["own", "agreement", INVERTED], bounds, by="against")
    others = averages.filter(pl.col("against") != stages.ITSELF)
    for name, title, number in FIGURES:
        if number.key != INVERTED or averages[INVERTED].sum():
            part = others if number == SCORED else averages
            yield from _competition_charts(name, title, part, number, sides)
    yield stages.table(evidence, "competition", averages, leads=stages.leads(frame, "against"))


MET = ("objective", "weight", "lineage", "iteration", "player", "family", "met", "opponent")


def cross_play(evidence: Evidence) -> Iterator[Shown]:
    """Report each iteration's score and share of agreements with other iterations.

    A lineage that develops its own language agrees with itself, but less with earlier iterations or
    with a lineage of another seed. The score is that of the row's player, with 0 for matches
    without an agreement. 95 % confidence intervals are clustered by instance and
    participant.
    """
    sides = evidence.once(stages.Sides)
    if sides.kin.is_empty():
        raise NoData("no two iterations met; add pairings such as [iteration-0, iteration-5]")
    limits: dict[str, Bounds | BoundsColumns] = {"own": stages.OWN, "agreement": stages.PERCENT}
    frame = means(sides.kin, ["own", "agreement"], MET, bounds=limits)
    frame = stages.ordered(sides, frame.with_columns(partner=pl.lit("")))
    frame = frame.sort("weight", "lineage", "iteration", "family", "met", maintain_order=True)
    panels = []
    within = frame.filter(pl.col("family") == pl.col("lineage")).filter(
        (pl.col("met") != pl.col("iteration")).any().over("objective", "lineage")
    )
    for (objective, lineage), part in within.group_by("objective", "lineage", maintain_order=True):
        title = ", ".join(filter(None, (capital(str(objective)), str(lineage))))
        panels.append(_map(title, part))
    if panels:
        yield Charts("cross-play-figure", "Agreements between iterations, % of matches", panels)
    yield stages.table(evidence, "cross-play", frame, leads=_cross_lead)


def _map(title: str, frame: pl.DataFrame) -> Chart:
    rows = {(str(row["iteration"]), str(row["met"])): row for row in frame.iter_rows(named=True)}
    names = [str(number) for number in sorted({*frame["iteration"], *frame["met"]})]

    def cell(iteration: str, opponent: str) -> Cell | None:
        row = rows.get((iteration, opponent))
        if row is None:
            return None
        agreement, score = estimate(row, "agreement"), estimate(row, "own")
        text = (
            f"iteration {iteration} with {opponent}\n{fixed(row['agreement'], 1)} % agree"
            f"{agreement.within(1)}\nscore {fixed(row['own'], 2)}{score.within(2)}\n"
            f"{counted(row['own.n'], 'match')}"
        )
        return Cell(row["agreement"], text, _cross_lead(row))

    return heat_map(title, "", ("iteration", names), ("opponent", names), cell, decimals=0)


def _cross_lead(row: Mapping[str, Any]) -> Lead:
    query = {"status": "finished", "player": row["player"]}
    return Lead(stages.GAME, query | {"player_player": row["opponent"]})
