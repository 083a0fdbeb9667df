"""Charts that several parts of the recipe draw: dots with whiskers, lines by round."""

from collections.abc import Sequence

from cheaptalk.reports.charts import kinds
from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Line, Mark
from cheaptalk.reports.charts.kinds import Row, ends
from cheaptalk.rules import counted
from cheaptalk.text import fixed


def mean_text(row: Row, value: str = "score", places: int = 1) -> str:
    """A mean as it is told where it stands: with its interval, spread and matches."""
    text, low, high = fixed(row[value], places), row[f"{value}.low"], row[f"{value}.high"]
    if low is not None:
        text += f", 95 % interval {fixed(low, places)} to {fixed(high, places)}"
    if row.get(f"{value}.spread") is not None:
        text += f"\ns.d. {fixed(row[f'{value}.spread'], places)}"
    return f"{text}\n{counted(row[f'{value}.n'], 'match')}"


def dots(title: str, unit: str, rows: Sequence[Row], order: Sequence[str]) -> Chart:
    """A dot a player with its interval, the players of these rows in this order from the top.

    Args:
        rows: each with ``player`` and ``score``, as :func:`.scores` makes them.
    """
    here = sorted(rows, key=lambda row: order.index(row["player"]))
    names = [row["player"] for row in here]
    percent = all(0 <= row["score"] <= 100 for row in rows)
    return kinds.dots(
        title, unit, names, here, "score", list(map(mean_text, here)),
        axis=Axis(ends=(0, 100)) if percent else Axis(),
    )  # fmt: skip


def line(
    name: str,
    rows: Sequence[Row],
    place: int,
    x: str = "round",
    value: str = "choice",
    places: int = 2,
    *,
    dash: str = "",
    at: str = "round ",
    whiskers: bool = False,
) -> Line:
    """Means joined by a line, in the colour of its place.

    Args:
        x: the column that runs along the axis.
        at: what stands before it where somebody points at it.
        whiskers: whether each has those of its interval.
    """
    marks = [
        Mark(row[x], row[value], f"{name}, {at}{row[x]}\n{mean_text(row, value, places)}",
             y_ends=ends(row, value) if whiskers else None)
        for row in rows
    ]  # fmt: skip
    return Line(marks, name, place, dash)


def marked_line(name: str, rows: Sequence[Row], place: int, x: str) -> Line:
    """Mean scores joined by a line, each with the whiskers of its interval."""
    dash = DASHES[place // SERIES % len(DASHES)]
    return line(name, rows, place, x, "score", 1, dash=dash, at="", whiskers=True)
