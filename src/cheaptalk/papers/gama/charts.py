"""Charts of mean scores: dots with confidence intervals, and lines."""

from collections.abc import Sequence

from cheaptalk.reports.charts import kinds
from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Line, Mark
from cheaptalk.reports.charts.kinds import Row, ends
from cheaptalk.rules import counted
from cheaptalk.text import fixed


def mean_text(row: Row, value: str = "score", decimals: int = 1) -> str:
    """Format a mean with its confidence interval, spread and number of matches."""
    text, low, high = fixed(row[value], decimals), row[f"{value}.low"], row[f"{value}.high"]
    if low is not None:
        text += f", 95 % interval {fixed(low, decimals)} to {fixed(high, decimals)}"
    if row.get(f"{value}.spread") is not None:
        text += f"\ns.d. {fixed(row[f'{value}.spread'], decimals)}"
    return f"{text}\n{counted(row[f'{value}.n'], 'match')}"


def dots(title: str, unit: str, rows: Sequence[Row], order: Sequence[str]) -> Chart:
    """Plot the mean scores of players, in the given order from the top."""
    sorted_rows = sorted(rows, key=lambda row: order.index(row["player"]))
    names = [row["player"] for row in sorted_rows]
    percent = all(0 <= row["score"] <= 100 for row in rows)
    return kinds.dots(
        title,
        unit,
        names,
        sorted_rows,
        "score",
        list(map(mean_text, sorted_rows)),
        axis=Axis(ends=(0, 100)) if percent else Axis(),
    )


def line(
    name: str,
    rows: Sequence[Row],
    index: int,
    x: str = "round",
    value: str = "choice",
    decimals: int = 2,
    *,
    dash: str = "",
    prefix: str = "round ",
    whiskers: bool = False,
) -> Line:
    """Return a line through the means of ``value`` by ``x``, with intervals if ``whiskers`` is set."""
    marks = [
        Mark(
            row[x],
            row[value],
            f"{name}, {prefix}{row[x]}\n{mean_text(row, value, decimals)}",
            y_ends=ends(row, value) if whiskers else None,
        )
        for row in rows
    ]
    return Line(marks, name, index, dash)


def marked_line(name: str, rows: Sequence[Row], index: int, x: str) -> Line:
    """Return a line through mean scores, with confidence intervals."""
    dash = DASHES[index // SERIES % len(DASHES)]
    return line(name, rows, index, x, "score", 1, dash=dash, prefix="", whiskers=True)
