"""How much of what can be gained is gained: turn after turn, and at the end."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from cheaptalk.papers.chips.games import Games, games
from cheaptalk.reports.figures import COLOURS, Panel, Trace, legend_above, short
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means, side_by_side
from cheaptalk.reports.recipes.parts import HIGH, LOW, Charts, Header, Lacking, ReportTable
from cheaptalk.rules import COUNT, SHARE, counted
from cheaptalk.text import fixed

LINES = 6
"""Populations that one panel shows."""
SHOWN = 6
"""Rounds that the table by round shows."""
INTERVALS = "Intervals are at 95 %, with games on the same deal as one cluster."
POPULATION = Header("population", "Table", about=(
    "Who sat at the table: one name for copies of one player, else all names."
))  # fmt: skip


def trajectories(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """The surplus is what all players' chips have gained in worth since the start, losses included.
    Each game's surplus after a turn is divided by its own bound, the most that could be gained
    with all values known and nobody losing (a linear programme, definition 1 of the paper); then
    the mean is taken. Games in which nothing can be gained have no ratio and are left out.
    """
    found = games(evidence)
    turns = found.turns.filter(pl.col("bound") > 0).with_columns(
        pl.col("surplus") / pl.col("bound")
    )
    if turns.is_empty():
        raise Lacking("nothing can be gained in any of these games: the bound of each is 0")
    shares = means(turns, ["surplus"], ["variant", "population", "turn"])
    yield Charts(
        "trajectories", "Surplus over its bound, turn by turn",
        [panel for one in found.variants for panel in _panels(found, shares, one.name)],
        f"The dotted line is the bound. Bands are intervals. {INTERVALS}",
    )  # fmt: skip
    yield _by_round(found, turns)


def _panels(found: Games, shares: pl.DataFrame, variant: str) -> Iterator[Panel]:
    own = shares.filter(variant=variant)
    here = [one for one in found.populations if one in set(own["population"])]
    groups = [here[start : start + LINES] for start in range(0, len(here), LINES)]
    for number, group in enumerate(groups, 1):
        data: list[Trace] = []
        for name in group:
            rows = own.filter(population=name).sort("turn").rows(named=True)
            data += _line(name, rows, COLOURS[group.index(name)])
        title = variant if len(groups) == 1 else f"{variant} ({number} of {len(groups)})"
        yield Panel(title, "share of the bound", 250 + 20 * len(group), data, _layout())


def _line(name: str, rows: Sequence[Mapping[str, Any]], colour: str) -> list[Trace]:
    """A population's mean after every turn from the start, over its band."""
    turns, values = [row["turn"] for row in rows], [row["surplus"] for row in rows]
    ends = [(row["surplus" + LOW], row["surplus" + HIGH]) for row in rows]
    low, high = ([value if end[side] is None else end[side] for value, end
                  in zip(values, ends, strict=True)] for side in (0, 1))  # fmt: skip
    return [
        {
            "type": "scatter", "mode": "lines", "x": [0, *turns, *turns[::-1], 0],
            "y": [0, *high, *low[::-1], 0], "fill": "toself", "fillcolor": f"{colour}26",
            "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False,
        },
        {
            "type": "scatter", "mode": "lines+markers", "name": short(name), "x": [0, *turns],
            "y": [0, *values], "line": {"color": colour, "width": 2},
            "marker": {"color": colour, "size": 5},
            "text": ["at the start", *map(_hover_text, rows)],
            "hovertemplate": f"{name}, turn %{{x}}<br>%{{text}}<extra></extra>",
        },
    ]  # fmt: skip


def _hover_text(row: Mapping[str, Any]) -> str:
    limits = ""
    if row["surplus" + LOW] is not None:
        low, high = fixed(100 * row["surplus" + LOW]), fixed(100 * row["surplus" + HIGH])
        limits = f", {low} to {high} %"
    return f"{fixed(100 * row['surplus'])} %{limits}<br>{counted(row['surplus.n'], 'game')}"


def _layout() -> dict[str, Any]:
    return {
        "xaxis": {"title": {"text": "turn"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "surplus over its bound"}, "tickformat": ".0%"},
        "shapes": [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1,
                    "line": {"dash": "dot", "width": 1, "color": "#888888"}}],
        **legend_above(),
    }  # fmt: skip


def _by_round(found: Games, turns: pl.DataFrame) -> ReportTable:
    """The means after rounds: of more than a few, so many from the first to the last."""
    size = found.matches.select("match", "players")
    rounds = (
        turns.join(size, on="match", maintain_order="left")
        .filter(pl.col("turn") % pl.col("players") == 0)
        .with_columns(round=pl.col("turn") // pl.col("players"))
    )
    last = rounds["round"].max()
    assert isinstance(last, int)
    kept = sorted({round(1 + (last - 1) * one / (SHOWN - 1)) for one in range(SHOWN)})
    cells = means(
        rounds.filter(pl.col("round").is_in(kept)).sort("round"),
        ["surplus"], ["variant", "population", "round"],
    )  # fmt: skip
    named = cells.with_columns(pl.format("round {}", "round").alias("round"))
    frame = ordered(found, side_by_side(named, "surplus", "round"))
    shown = [name for name in frame.columns if name.startswith("round ") and "." not in name]
    return ReportTable(
        "surplus-by-round", "Surplus over its bound after rounds", frame,
        (POPULATION, Header("variant", "Game"), *(
            Header(name, f"After {name}", "share of the bound", 3) for name in shown
        )),
        INTERVALS,
        leads=lambda row: found.lead(row["variant"], table=row["population"]),
    )  # fmt: skip


def table_3(evidence: Evidence) -> Iterator[ReportTable]:
    """Final surplus over its bound: the mean of the games' ratios, with its standard error, which
    takes games on the same deal as one cluster; with one game a deal it is the usual s / sqrt(n).

    The second table has what the ratio is made of, in dollars. The ratio of means, all surplus over
    all that could be gained, gives games with little to gain less weight.
    """
    found = games(evidence)
    ratios = means(found.matches, ["ratio"], ["variant", "population"])
    parts = [name for name in ratios.columns if not name.endswith((LOW, HIGH))]
    frame = side_by_side(ordered(found, ratios.select(parts)), "ratio", "variant")
    yield ReportTable(
        "final-surplus", "Final surplus over its bound", frame,
        (POPULATION, *(Header(one.name, one.name, "share of the bound", 2)
                       for one in found.variants)),
        "In parentheses: standard errors.",
        leads=lambda row: found.lead(table=row["population"]),
    )  # fmt: skip
    yield _dollars(found)


def _dollars(found: Games) -> ReportTable:
    by = ["variant", "population"]
    frame = means(found.matches, ["surplus", "bound"], by, bounds={"bound": COUNT}).join(
        found.matches.group_by(by).agg(
            pl.len().alias("games"),
            (pl.col("bound") == 0).sum().alias("nothing"),
            pl.when(pl.col("bound").sum() > 0)
            .then(pl.col("surplus").sum() / pl.col("bound").sum())
            .alias("share"),
        ),
        on=by, maintain_order="left",
    ).join(means(found.turns.with_columns(pl.col("accepted").cast(pl.Float64)), ["accepted"], by,
                 bounds={"accepted": SHARE}), on=by, maintain_order="left")  # fmt: skip
    return ReportTable(
        "surplus-in-dollars", "Surplus, its bound and trades", ordered(found, frame),
        (
            POPULATION,
            Header("variant", "Game"),
            Header("games", "Games", "", 0),
            Header("surplus", "Surplus", "dollars a game", 2),
            Header("bound", "Bound", "dollars a game", 2, "The most that all could gain together."),
            Header("share", "Ratio of means", "share of the bound", 3),
            Header("nothing", "Nothing to gain", "games", 0, "Games whose bound is 0."),
            Header("accepted", "Accepted", "share of proposals", 3),
        ),
        INTERVALS,
        leads=lambda row: found.lead(row["variant"], table=row["population"]),
    )  # fmt: skip


def ordered(found: Games, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows by variant, then by population, in the order in which all tables have them."""
    variants = [one.name for one in found.variants]
    return frame.sort(
        pl.col("variant").cast(pl.Enum(variants)),
        pl.col("population").cast(pl.Enum(found.populations)),
        maintain_order=True,
    ).select("population", pl.exclude("population"))
