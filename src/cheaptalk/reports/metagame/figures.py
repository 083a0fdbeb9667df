"""Charts of empirical games: mixtures, regrets and payoffs."""

from collections.abc import Sequence

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.two_seats import Pair, SeatsAnalysis
from cheaptalk.equilibrium.empirical.bootstrap import Spread
from cheaptalk.frames.reader import places_in
from cheaptalk.reports.charts.chart import Axis, Box, Boxes, Chart, Lead, Mark, Points, Tone
from cheaptalk.reports.charts.kinds import CELL, Cell, bars, cells
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


def mixture_bars(analysis: Analysis) -> Chart:
    """The share of each strategy at equilibrium, the mean over draws, as bars with intervals."""
    shares = analysis.against("mixture")
    order = sorted(analysis.ranking, key=lambda one: -number(shares[one]))
    lengths = [(row, 0.0, number(shares[one]), "") for row, one in enumerate(order)]
    layers: list[Points | Boxes] = [
        bars(lengths, tone="rule"),
        _along(analysis, shares, order, 3, "ink"),
    ]
    title = f"Equilibrium of {analysis.name}"
    return _rows(title, "probability", analysis, order, layers, Axis(ends=(0, 1)))


def regret_ranking(analysis: Analysis) -> Chart:
    """The regret of each strategy at equilibrium, the least on top, as dots with intervals."""
    found = _along(analysis, analysis.against("regret"), analysis.ranking, analysis.places, 1)
    unit = unit_of(analysis)
    return _rows("Regret at equilibrium", unit, analysis, analysis.ranking, [found],
                 Axis(zero=True))  # fmt: skip


def payoff_map(analysis: Analysis) -> Chart:
    """What each strategy, down, gets against each, across, on the mean of all matches."""
    labels, places = list(analysis.labels), analysis.places
    at = {label: place for place, label in enumerate(labels)}
    counts, deals = analysis.game.counts(), analysis.game.deals()

    def cell(row: str, column: str) -> Cell:
        i, j = at[row], at[column]
        one = analysis.payoffs[i][j]._replace(mean=analysis.payoffs[i][j].estimate)
        said = (
            f"{row} against {column}\n{_spread_text(one, places)}{_of(counts[i, j], deals[i, j])}"
        )
        return Cell(number(one), said, lead(analysis, row, column))

    return cells(
        "Payoffs", unit_of(analysis), ("Gets the payoff", labels), ("Against", labels), cell,
        places=places,
    )  # fmt: skip


def unit_of(analysis: Analysis) -> str:
    """What payoffs are counted in; of games that are read from files nobody says."""
    return analysis.selected.unit if analysis.selected else "in the game's unit"


def number(one: Spread) -> float:
    """The mean over draws, or where there are none the estimate; 0 where it is undefined."""
    return one.mean if one.mean is not None else one.estimate or 0.0


def _rows(
    title: str, unit: str, analysis: Analysis, order: Sequence[int],
    layers: Sequence[Points | Boxes], across: Axis,
) -> Chart:  # fmt: skip
    labels = tuple(analysis.labels[one] for one in order)
    return Chart(title, unit, layers, across, Axis(names=labels))


def _along(
    analysis: Analysis, spreads: Sequence[Spread], order: Sequence[int], places: int, tone: Tone
) -> Points:
    """Numbers by strategy, along a line each, with their intervals."""
    return Points(
        [
            Mark(
                number(spreads[one]), analysis.labels[one],
                f"{analysis.labels[one]}\n{_spread_text(spreads[one], places)}",
                x_ends=_reach(spreads[one]),
            )
            for one in order
        ],
        tone=tone,
    )  # fmt: skip


def _reach(one: Spread) -> tuple[float, float] | None:
    """The interval of the draws, the mean within it: where draws disagree, it can lie outside."""
    if one.low is None or one.high is None:
        return None
    return min(one.low, number(one)), max(one.high, number(one))


def _spread_text(one: Spread, places: int) -> str:
    if one.low is None or one.high is None:
        return fixed(number(one), places)
    low, high = fixed(one.low, places), fixed(one.high, places)
    return f"{fixed(number(one), places)}, 95 % of draws in {low} to {high}"


def _of(matches: int, deals: int) -> str:
    if not matches:
        return ""
    return f"\n{counted(int(matches), 'match')} on {counted(int(deals), 'deal')}"


def lead(analysis: Analysis, row: str, column: str) -> Lead | None:
    """The matches of a cell in which the row sits first."""
    if analysis.selected is None:
        return None
    first, second = (f"player.{place}" for place in places_in(analysis.selected.frame))
    found = {first: row, second: column} | analysis.selected.query
    return Lead(analysis.selected.box, found | {"status": "finished"})


def payoff_maps(one: SeatsAnalysis) -> list[Chart]:
    """What either seat gets in every pair; frames are best replies, thick ones equilibria."""
    return [_map(one, side) for side in (0, 1)]


def _map(one: SeatsAnalysis, side: int) -> Chart:
    rows, columns = map(list, one.labels)
    down, across = map(capital, one.seats)
    pairs = {(pair.row, pair.column): pair for pair in one.pairs}

    def cell(row: str, column: str) -> Cell:
        pair = pairs[row, column]
        asked = query(one, pair)
        found = None
        if asked is not None and one.selected is not None:
            found = Lead(one.selected.box, asked | {"status": "finished"})
        said = f"{down} {row}, {across} {column}\n{_pair_text(pair, side, one.places)}"
        return Cell(number(pair.gets[side]), said, found)

    best = {
        width: [
            Box((j - CELL, j + CELL), (i - CELL, i + CELL))
            for i, row in enumerate(rows) for j, column in enumerate(columns)
            if (pair := pairs[row, column]).best[side] and pair.stable == (width > 2)
        ]
        for width in (1.5, 4)
    }  # fmt: skip
    return cells(
        f"What {capital(one.seats[side])} gets", one.units[side], (down, rows), (across, columns),
        cell, places=one.places,
        frames=[Boxes(boxes, tone=1, frame=width) for width, boxes in best.items() if boxes],
    )  # fmt: skip


def query(one: SeatsAnalysis, pair: Pair) -> dict[str, str] | None:
    """What picks a pair's matches out in the viewer; None where there are none."""
    if one.selected is None:
        return None
    first, second = (f"player.{seat}" for seat in one.seats)
    return {first: pair.row, second: pair.column} | one.selected.query


def _pair_text(pair: Pair, side: int, places: int) -> str:
    parts = [_spread_text(pair.gets[side], places)]
    parts += ["best reply"] * pair.best[side] + ["pure equilibrium"] * pair.stable
    if pair.support is not None:
        parts.append(f"an equilibrium in {pair.support:.1%} of draws")
    return "\n".join(parts) + _of(pair.matches, pair.deals)
