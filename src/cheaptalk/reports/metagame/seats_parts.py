"""The section on a game with two seats in a page on empirical games."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from cheaptalk.equilibrium.analysis.analysis import called, regret_text
from cheaptalk.equilibrium.analysis.two_seats import PAYOFF, Pair, SeatsAnalysis
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.metagame.figures import lead, payoff_maps
from cheaptalk.reports.metagame.parts import OF_DRAWS, instances_text, spread_out
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.parts import Answer, Charts, Shown
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import counted, game_title
from cheaptalk.text import capital, fixed, plain

STABLE = (
    "Whether the pair is a pure Nash equilibrium of the mean payoffs: neither side gains by a "
    "unilateral deviation. Differences below a billionth of the spread of payoffs are ignored."
)
SUPPORT = (
    "The share of bootstrap draws in which the pair is a pure equilibrium. Shares need not sum to "
    "100, because a draw can have several equilibria or none."
)
REGRET = (
    "The gain of a side from its best response to the other side's strategy. Both regrets are 0 at "
    "an equilibrium, up to rounding."
)
REPLY = (
    "The share of draws in which this seat's strategy is a best response to the other strategy of "
    "the pair, including ties."
)
WIDE = 10
"""The number of columns above which a map fills a row of the page."""


def seats_parts(analysis: SeatsAnalysis) -> Iterator[Shown]:
    """Yield the contents of the page on a game of two seats."""
    prefix, (first, second) = anchor(analysis.name), map(capital, analysis.seats)
    yield answer(analysis)
    yield Charts(
        f"{prefix}-maps",
        "Payoffs",
        payoff_maps(analysis),
        f"Rows are the strategies of {first}, columns those of {second}. A frame marks a best "
        f"reply to the other side's strategy: of {first} in its column, of {second} in its row. A "
        "thick frame is a pure equilibrium, in which both are best responses. "
        + _played_text(analysis),
        wide=len(analysis.labels[1]) > WIDE,
    )
    if analysis.likely_pairs:
        yield _likely_pairs(analysis, prefix)
    yield _pairs(analysis, prefix)
    yield _equilibria(analysis, prefix)


def answer(analysis: SeatsAnalysis) -> Answer:
    """Return a sentence with the pure equilibria of the mean payoffs and their uncertainty."""
    stable = [pair for pair in analysis.likely_pairs if pair.stable]
    caution = "".join(f" {sentence}." for sentence in analysis.cautions)
    if not stable:
        text = "The mean payoffs have no pure equilibrium."
        return Answer(f"{text}{caution}", "no pure equilibrium")
    pair_texts = []
    for pair in stable[:3]:
        players = zip((pair.row, pair.column), analysis.seats, strict=True)
        text = " with ".join(f"{called(label)} as {capital(seat)}" for label, seat in players)
        if pair.support is not None and not analysis.uncertain:
            text += f" (in {100 * pair.support:.0f} % of draws)"
        pair_texts.append(text)
    other_pairs = f", and from {len(stable) - 3} other pairs" if len(stable) > 3 else ""
    return Answer(
        f"By the mean payoffs, neither side gains by deviating from "
        f"{', nor from '.join(pair_texts)}{other_pairs}.{caution}",
        f"{stable[0].row} with {stable[0].column}",
    )


def _played_text(analysis: SeatsAnalysis) -> str:
    text = ""
    if analysis.selected:
        count = len(analysis.selected.configurations)
        alike = "treated as one game" if analysis.pooled else "with equal weights"
        several = f", {count} configurations {alike}" if count > 1 else ""
        text = (
            f"{game_title(analysis.selected.game_spec)}{several}: "
            f"{counted(analysis.matches, 'match')}, {instances_text(analysis.game)} per pair. "
        )
    (rows, columns), (first, second) = analysis.labels, map(capital, analysis.seats)
    units = " and ".join(dict.fromkeys(analysis.units))
    numbers = f"the metric {plain(analysis.payoff)}, in {units}"
    if analysis.payoff == PAYOFF:
        numbers = f"payoffs, {'in the unit of the game' if analysis.selected else 'as given'}"
    return (
        f"{text}{first} chooses among {len(rows):,}, {second} among {len(columns):,}. Numbers are "
        f"{numbers}."
    )


def _names(analysis: SeatsAnalysis) -> tuple[Header, Header]:
    first, second = map(capital, analysis.seats)
    return Header("row", first), Header("column", second)


def _payoff_headers(analysis: SeatsAnalysis) -> Iterator[Header]:
    for seat in analysis.seats:
        yield Header(f"gets.{seat}", f"{capital(seat)} gets", "", analysis.payoff_decimals)


def _row(analysis: SeatsAnalysis, pair: Pair) -> dict[str, Any]:
    return {
        "row": pair.row,
        "column": pair.column,
        "support": None if pair.support is None else 100 * pair.support,
        "stable": "an equilibrium" if pair.stable else "none",
        "matches": pair.matches,
        "instances": pair.instances,
    } | {
        name: value
        for seat, spread, regret, reply in zip(
            analysis.seats, pair.payoffs, pair.regrets, pair.replies, strict=True
        )
        for name, value in {
            **spread_out(f"gets.{seat}", spread),
            f"regrets.{seat}": _regret(analysis, regret),
            f"replies.{seat}": 100 * reply,
        }.items()
    }


def _regret(analysis: SeatsAnalysis, value: float) -> str:
    if value >= 0.5 / 10**analysis.payoff_decimals:
        return fixed(value, analysis.payoff_decimals)
    return regret_text(value, analysis.game.payoffs())


def _lead(analysis: SeatsAnalysis, row: Mapping[str, Any]) -> Lead | None:
    return lead(analysis, row["row"], row["column"])


def _likely_pairs(analysis: SeatsAnalysis, prefix: str) -> ReportTable:
    without = analysis.choice.without
    caption = "The pure equilibria of the mean payoffs."
    if analysis.draws:
        caption = (
            "The pure equilibria of the mean payoffs, and all pairs that are a pure equilibrium in "
            "at least 1 % of the draws. "
        ) + (
            f"{100 * without:.1f} % of the draws have no pure equilibrium."
            if without
            else "Every draw has a pure equilibrium."
        )
    support = [Header("support", "Support", OF_DRAWS, 1, SUPPORT)] if analysis.draws else []
    rows = [_row(analysis, pair) for pair in analysis.likely_pairs]
    columns = [
        *_names(analysis),
        *support,
        Header("stable", "Of the means", about=STABLE),
        *_payoff_headers(analysis),
        *(
            Header(f"regrets.{seat}", f"{capital(seat)} regrets", about=REGRET * (not index))
            for index, seat in enumerate(analysis.seats)
        ),
    ]
    return ReportTable.of(
        f"{prefix}-pure", "Pure equilibria", rows, columns, caption, leads=partial(_lead, analysis)
    )


def _pairs(analysis: SeatsAnalysis, prefix: str) -> ReportTable:
    behind = (Header("matches", "Matches", "", 0), Header("instances", "Instances", "", 0))
    unit = OF_DRAWS if analysis.draws else "100 for yes"
    caution = analysis.game.few_instances if analysis.selected else ""
    if analysis.no_draws_reason:
        caution = f"There are no intervals: {analysis.no_draws_reason}"
    rows = [_row(analysis, pair) for pair in analysis.pairs]
    columns = [
        *_names(analysis),
        *_payoff_headers(analysis),
        *(
            Header(
                f"replies.{seat}", f"Best response of {capital(seat)}", unit, 1, REPLY * (not index)
            )
            for index, seat in enumerate(analysis.seats)
        ),
        *(behind if analysis.selected else ()),
    ]
    notes, leads = (f"{caution}.",) * bool(caution), partial(_lead, analysis)
    return ReportTable.of(f"{prefix}-pairs", "Pairs", rows, columns, notes=notes, leads=leads)


def _equilibria(analysis: SeatsAnalysis, prefix: str) -> ReportTable:
    rows = []
    for equilibrium in analysis.solution.equilibria:
        extent = "a single point"
        if equilibrium.continuum is None:
            extent = "not known"
        elif equilibrium.continuum:
            extent = f"an extreme point of continuum {equilibrium.continuum}"
        row, column = equilibrium.in_words(analysis.labels)
        rows.append(
            {"row": row, "column": column, "extent": extent}
            | {
                f"gets.{seat}": value
                for seat, value in zip(analysis.seats, equilibrium.profile.payoffs, strict=True)
            }
            | {
                f"regrets.{seat}": _regret(analysis, value)
                for seat, value in zip(analysis.seats, equilibrium.profile.regrets, strict=True)
            }
        )
    columns = [
        *(name._replace(unit="chooses") for name in _names(analysis)),
        *_payoff_headers(analysis),
        *(Header(f"regrets.{seat}", f"{capital(seat)} regrets") for seat in analysis.seats),
        Header("extent", "Extent"),
    ]
    title, caption = "All equilibria of the mean payoffs", f"{analysis.solution.in_words}."
    return ReportTable.of(f"{prefix}-equilibria", title, rows, columns, caption)
