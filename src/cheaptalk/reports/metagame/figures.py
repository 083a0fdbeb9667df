"""Charts of empirical games: mixtures, regrets and payoffs."""

from collections.abc import Sequence
from typing import Any

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.two_seats import Pair, SeatsAnalysis
from cheaptalk.equilibrium.empirical.bootstrap import Spread
from cheaptalk.frames.reader import places_in
from cheaptalk.reports.charts.chart import Axis, Box, Boxes, Chart, Lead, Mark, Points, Tone
from cheaptalk.reports.charts.kinds import CELL, Cell, bars, cells
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


def mixture_bars(analysis: Analysis) -> Chart:
    """Chart each strategy's mean share at equilibrium as a bar with an interval."""
    shares = analysis.against("mixture")
    order = sorted(analysis.ranking, key=lambda index: -number(shares[index]))
    lengths = [(row, 0.0, number(shares[index]), "") for row, index in enumerate(order)]
    layers = (bars(lengths, tone="rule"), _along(analysis, shares, order, 3, "ink"))
    title = f"Equilibrium of {analysis.name}"
    return Chart(title, "probability", layers, Axis(ends=(0, 1)), _rows(analysis, order))


def regret_ranking(analysis: Analysis) -> Chart:
    """Chart each strategy's regret at equilibrium as dots with intervals, the lowest on top."""
    order, regrets = analysis.ranking, analysis.against("regret")
    points = [_along(analysis, regrets, order, analysis.payoff_decimals, 1)]
    axes = Axis(zero=True), _rows(analysis, order)
    return Chart("Regret at equilibrium", unit_of(analysis), points, *axes)


def payoff_map(analysis: Analysis) -> Chart:
    """Chart the mean payoff of each strategy (row) against each opposing strategy (column)."""
    labels, decimals = list(analysis.labels), analysis.payoff_decimals
    positions = {label: position for position, label in enumerate(labels)}
    counts, instances = analysis.game.counts(), analysis.game.instances()

    def cell(row: str, column: str) -> Cell:
        i, j = positions[row], positions[column]
        spread = analysis.payoffs[i][j]._replace(mean=analysis.payoffs[i][j].estimate)
        tooltip = f"{row} against {column}\n{_spread_text(spread, decimals)}"
        tooltip += _counts_text(counts[i, j], instances[i, j])
        return Cell(number(spread), tooltip, lead(analysis, row, column, status="finished"))

    titles = ("Payoff of", labels), ("Against", labels)
    return cells("Payoffs", unit_of(analysis), *titles, cell, decimals=decimals)


def unit_of(analysis: Analysis) -> str:
    """Return the unit of payoffs, or a placeholder for games from payoff files."""
    return analysis.selected.unit if analysis.selected else "in the game's unit"


def number(spread: Spread) -> float:
    """Return the mean over bootstrap draws or, without draws, the estimate; 0 if undefined."""
    return spread.mean if spread.mean is not None else spread.estimate or 0.0


def _rows(analysis: Analysis, order: Sequence[int]) -> Axis:
    return Axis(names=tuple(analysis.labels[index] for index in order))


def _along(
    analysis: Analysis, spreads: Sequence[Spread], order: Sequence[int], decimals: int, tone: Tone
) -> Points:
    return Points(
        [
            Mark(
                number(spreads[index]),
                analysis.labels[index],
                f"{analysis.labels[index]}\n{_spread_text(spreads[index], decimals)}",
                x_ends=_reach(spreads[index]),
            )
            for index in order
        ],
        tone=tone,
    )


def _reach(spread: Spread) -> tuple[float, float] | None:
    """Return the interval over the bootstrap draws, extended to include the mean."""
    if spread.low is None or spread.high is None:
        return None
    return min(spread.low, number(spread)), max(spread.high, number(spread))


def _spread_text(spread: Spread, decimals: int) -> str:
    if spread.low is None or spread.high is None:
        return fixed(number(spread), decimals)
    low, high = fixed(spread.low, decimals), fixed(spread.high, decimals)
    return f"{fixed(number(spread), decimals)}, 95 % of draws in {low} to {high}"


def _counts_text(matches: int, instances: int) -> str:
    if not matches:
        return ""
    return f"\n{counted(int(matches), 'match')} on {counted(int(instances), 'instance')}"


def lead(analysis: Analysis | SeatsAnalysis, row: str, column: str, **filters: str) -> Lead | None:
    """Return a link to the matches of two strategies; the strategy ``row`` is in the first seat."""
    if analysis.selected is None:
        return None
    first, second = (f"player_{seat}" for seat in places_in(analysis.selected.frame))
    query = {first: row, second: column} | analysis.selected.query | filters
    return Lead(analysis.selected.game_spec, query)


def payoff_maps(analysis: SeatsAnalysis) -> list[Chart]:
    """Chart each seat's payoff by strategy pair; frames mark best responses and equilibria."""
    return [_map(analysis, side) for side in (0, 1)]


def _map(analysis: SeatsAnalysis, side: int) -> Chart:
    rows, columns = map(list, analysis.labels)
    down, across = map(capital, analysis.seats)
    pairs = {(pair.row, pair.column): pair for pair in analysis.pairs}

    def cell(row: str, column: str) -> Cell:
        pair = pairs[row, column]
        text = _pair_text(pair, side, analysis.payoff_decimals)
        tooltip = f"{down} {row}, {across} {column}\n{text}"
        link = lead(analysis, row, column, status="finished")
        return Cell(number(pair.payoffs[side]), tooltip, link)

    frames_by_width = {
        width: [
            Box((j - CELL, j + CELL), (i - CELL, i + CELL))
            for i, row in enumerate(rows)
            for j, column in enumerate(columns)
            if (pair := pairs[row, column]).best[side] and pair.stable == (width > 2)
        ]
        for width in (1.5, 4)
    }
    frames = [
        Boxes(boxes, tone=1, frame=width) for width, boxes in frames_by_width.items() if boxes
    ]
    title, unit = f"Payoff of {capital(analysis.seats[side])}", analysis.units[side]
    options: dict[str, Any] = {"decimals": analysis.payoff_decimals, "frames": frames}
    return cells(title, unit, (down, rows), (across, columns), cell, **options)


def _pair_text(pair: Pair, side: int, decimals: int) -> str:
    parts = [_spread_text(pair.payoffs[side], decimals)]
    parts += ["best response"] * pair.best[side] + ["pure equilibrium"] * pair.stable
    if pair.support is not None:
        parts.append(f"an equilibrium in {pair.support:.1%} of draws")
    return "\n".join(parts) + _counts_text(pair.matches, pair.instances)
