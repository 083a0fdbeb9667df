"""What people learn between games, what they answer afterwards, and whether it shows in play."""

from collections.abc import Iterator
from typing import Literal

import polars as pl
from scipy import stats

from cheaptalk.reports.figures import COLOURS, Panel, Trace
from cheaptalk.reports.recipes.cells import means, side_by_side
from cheaptalk.reports.recipes.chips.proposals import GAME
from cheaptalk.reports.recipes.chips.survey import OPTION, Survey, some_of, survey, title
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import (
    HIGH,
    LOW,
    Charts,
    Column,
    Lacking,
    Table,
    finite,
)
from cheaptalk.rules import SHARE
from cheaptalk.statistics import StatisticsError, correlation, mean_intervals, permutation_test

GROUP = ("match",)
"""People of one first game influence each other, and are one cluster."""
INTERVALS = "Intervals are at 95 %, with the people of one game as one cluster."


def figure_11(evidence: Evidence) -> Iterator[Charts | Table]:
    """The first and the second game of everybody who played two of one kind, in the order in which
    they ended: the surplus of the table over its bound, and what the person was paid. The
    difference is the second less the first. People of one first game are one cluster. p is of a
    paired permutation test, two-sided, with the means of these clusters as pairs.
    """
    found = survey(evidence)
    both = _two_games(found)
    if both.is_empty():
        raise Lacking("no participant of the survey has finished two games of one kind")
    values = ["first_ratio", "second_ratio", "learnt_ratio", "first_gain", "second_gain",
              "learnt_gain"]  # fmt: skip
    tested = [
        {"variant": one["variant"][0], "p": _p(one, evidence)}
        for one in both.partition_by("variant", maintain_order=True)
    ]
    frame = (
        means(both, values, ["variant"], cluster=GROUP)
        .join(both.group_by("variant").agg(pl.len().alias("people")), on="variant",
              maintain_order="left")
        .join(pl.DataFrame(tested), on="variant", maintain_order="left")
    )  # fmt: skip
    yield Charts(
        "learning", "Surplus over its bound in the first and the second game",
        [_learning(frame)], INTERVALS,
    )  # fmt: skip
    share = "share of the bound"
    yield Table(
        "learning", "First and second games", frame,
        (
            GAME,
            Column("people", "People", "", 0),
            Column("first_ratio", "First game", share, 3),
            Column("second_ratio", "Second game", share, 3),
            Column("learnt_ratio", "Difference", share, 3),
            Column("p", "p", "", 4),
            Column("first_gain", "Paid at first", "dollars", 2),
            Column("second_gain", "Paid then", "dollars", 2),
            Column("learnt_gain", "Difference", "dollars", 2),
        ),
        INTERVALS,
    )  # fmt: skip


def _two_games(found: Survey) -> pl.DataFrame:
    """One row a participant with two games of one variant, both with something to gain."""
    own = found.games.drop_nulls("ratio").with_columns(
        turn=pl.int_range(1, pl.len() + 1).over("participant", "variant")
    )
    first, second = (
        own.filter(turn=turn).select(
            "participant", "variant", "match",
            pl.col("ratio").alias(f"{name}_ratio"), pl.col("gain").alias(f"{name}_gain"),
        )
        for turn, name in ((1, "first"), (2, "second"))
    )  # fmt: skip
    return (
        first.join(second.drop("match"), on=["participant", "variant"], maintain_order="left")
        .with_columns(
            learnt_ratio=pl.col("second_ratio") - pl.col("first_ratio"),
            learnt_gain=pl.col("second_gain") - pl.col("first_gain"),
        )
        .sort("variant", "participant")
    )


def _p(both: pl.DataFrame, evidence: Evidence) -> float:
    groups = both.group_by(GROUP).agg(pl.col("first_ratio", "second_ratio").mean()).sort(GROUP)
    return permutation_test(
        groups["second_ratio"].to_numpy(), groups["first_ratio"].to_numpy(),
        paired=True, draws=evidence.draws, seed=evidence.seed,
    ).p  # fmt: skip


def _learning(frame: pl.DataFrame) -> Panel:
    data: list[Trace] = []
    for name, label, colour in (
        ("first_ratio", "first game", COLOURS[5]), ("second_ratio", "second game", COLOURS[0])
    ):  # fmt: skip
        low, high = frame[name + LOW].fill_null(frame[name]), frame[name + HIGH]
        data.append(
            {
                "type": "bar", "name": label, "x": frame["variant"].to_list(),
                "y": frame[name].to_list(), "marker": {"color": colour},
                "error_y": {"type": "data", "symmetric": False, "width": 0, "thickness": 1.5,
                            "array": (high.fill_null(frame[name]) - frame[name]).to_list(),
                            "arrayminus": (frame[name] - low).to_list()},
                "hovertemplate": f"{label}, %{{x}}: %{{y:.1%}}<extra></extra>",
            }
        )  # fmt: skip
    layout = {
        "barmode": "group", "xaxis": {"type": "category"},
        "yaxis": {"tickformat": ".0%", "title": {"text": "surplus over its bound"}},
        "showlegend": True, "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    }  # fmt: skip
    return Panel("First and second game", "", 300, data, layout)


def table_1(evidence: Evidence) -> Iterator[Table]:
    """Means of the scales that people answered after their games, with standard errors that take
    the people of one game as one cluster. Whether answers differ between games of different size
    is tested by ranks (Kruskal and Wallis 1952), which takes people as independent.
    """
    found = survey(evidence)
    scales = some_of(found.scales, "column of numbers, which a scale is", evidence.options[OPTION])
    parts = {
        "answer": "mean",
        "answer.error": "error",
        "answer.n": "n",
        "answer.clusters": "clusters",
    }
    cells = mean_intervals(found.people, scales, ["variant"], cluster=GROUP).sort("variant")
    wide = side_by_side(cells.select("measure", "variant", **parts), "answer", "variant")
    tests = [(name, title(name), _kruskal(found.people, name)) for name in scales]
    schema = {"measure": pl.String, "scale": pl.String, "p": pl.Float64}
    frame = (
        pl.DataFrame(tests, schema=schema, orient="row")
        .join(wide, on="measure", maintain_order="left")
        .drop("measure")
    )
    yield Table(
        "survey", "Answers on scales", frame,
        (
            Column("scale", "Scale"),
            *(Column(name, name, "", 2) for name in cells["variant"].unique(maintain_order=True)),
            Column("p", "p", "of no difference", 4),
        ),
        "In parentheses: standard errors.",
    )  # fmt: skip


def _kruskal(people: pl.DataFrame, scale: str) -> float | None:
    """p of no difference between variants; None with one variant, or where all answer alike."""
    answered = people.drop_nulls(scale)
    groups = [one[scale].to_numpy() for one in answered.partition_by("variant")]
    if len(groups) < 2 or answered[scale].n_unique() < 2:
        return None
    return finite(float(stats.kruskal(*groups).pvalue))


def figure_9(evidence: Evidence) -> Iterator[Charts | Table]:
    """How many people spoke of a theme when asked for their strategy. One answer can have several
    themes, so that shares can add up to more than one.
    """
    found = survey(evidence)
    themes = some_of(
        found.themes,
        "coded theme; code free answers with a judge, or by hand, into columns theme.NAME",
        evidence.options[OPTION],
    )
    everybody = found.people.with_columns(variant=pl.lit("all"))
    people = pl.concat([everybody, found.people.sort("variant")])
    cells = means(people, themes, ["variant"], cluster=GROUP,
                  bounds=dict.fromkeys(themes, SHARE))  # fmt: skip
    counts = people.group_by("variant", maintain_order=True).agg(
        pl.len().alias("people"), *(pl.col(one).sum().cast(pl.Int64).alias(f"{one} people")
                                    for one in themes)
    )  # fmt: skip
    frame = counts.join(cells, on="variant", maintain_order="left")
    first = frame.row(0, named=True)
    order = sorted(themes, key=lambda one: first[f"{one} people"])
    data: Trace = {
        "type": "bar", "orientation": "h", "y": [title(one) for one in order],
        "x": [first[f"{one} people"] for one in order], "marker": {"color": COLOURS[0]},
        "text": [f"{first[one]:.0%} of {first['people']} people" for one in order],
        "textposition": "none", "hovertemplate": "%{y}: %{x}, %{text}<extra></extra>",
    }  # fmt: skip
    layout = {"xaxis": {"title": {"text": "people"}}, "yaxis": {"type": "category"}}
    yield Charts(
        "themes", "People by theme",
        [Panel("People who spoke of a theme", "", 90 + 34 * len(order), [data], layout)],
    )  # fmt: skip
    yield Table(
        "themes", "Themes of free answers", frame,
        (
            GAME, Column("people", "People", "", 0),
            *(column for one in order[::-1] for column in (
                Column(f"{one} people", title(one), "people", 0),
                Column(one, title(one), "share", 3),
            )),
        ),
        INTERVALS,
    )  # fmt: skip


def performance(evidence: Evidence) -> Iterator[Table]:
    """Whether answers go with success: correlations over people of each scale (by ranks) and theme
    (Pearson's, of yes as 1 and no as 0) with what the person was paid over the bound of the table,
    the mean over the person's games. Intervals are bootstrapped over first games.
    """
    found = survey(evidence)
    kinds: dict[str, Literal["pearson", "spearman"]] = {
        **dict.fromkeys(found.scales, "spearman"),
        **dict.fromkeys(found.themes, "pearson"),
    }
    some_of([*kinds], "scale and no theme", evidence.options[OPTION])
    rows, notes = [], []
    for name, method in kinds.items():
        try:
            one = correlation(
                found.people, name, "share", method=method, cluster=GROUP,
                draws=evidence.draws, seed=evidence.seed,
            )  # fmt: skip
        except StatisticsError as error:
            notes.append(f"{title(name)}: {error}.")
            continue
        rows.append((title(name), method.capitalize(), one.estimate, one.low, one.high, one.n))
        notes += [f"{title(name)}: {note}." for note in one.notes]
    schema = {
        "answer": pl.String, "method": pl.String, "correlation": pl.Float64,
        "correlation.low": pl.Float64, "correlation.high": pl.Float64, "correlation.n": pl.Int64,
    }  # fmt: skip
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if frame.is_empty():
        raise Lacking(" ".join(notes))
    yield Table(
        "answers-and-success", "Answers and success", frame,
        (
            Column("answer", "Answer"),
            Column("method", "Correlation"),
            Column("correlation", "With the share of the bound", "", 3),
        ),
        "Intervals are at 95 %, bootstrapped over the people's first games.", tuple(notes),
    )  # fmt: skip
