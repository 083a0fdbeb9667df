"""The part of a meta-game's page on a game of two seats: from which pairs neither would switch."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from cheaptalk.equilibrium.analysis.analysis import called, regret_text
from cheaptalk.equilibrium.analysis.two_seats import PAYOFF, Pair, SeatsAnalysis
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.metagame.figures import payoff_maps
from cheaptalk.reports.metagame.parts import OF_DRAWS, spread_out
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.parts import Answer, Charts, Shown
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import counted, game_title
from cheaptalk.text import capital, fixed, plain

STABLE = (
    "Whether the pair is a pure Nash equilibrium of the mean payoffs: neither side gains by "
    "choosing another strategy alone. Differences below a billionth of the spread of payoffs count "
    "as none."
)
SUPPORT = (
    "In what share of the bootstrap draws the pair is a pure equilibrium. Shares need not sum to "
    "100: a draw can have several or none."
)
REGRET = (
    "How much a side would gain by its best reply to what the other side does. Both are 0 at an "
    "equilibrium, up to rounding; of a pair that is none, they say how far it is from being one."
)
REPLY = (
    "In what share of the draws the strategy of this seat is a best reply to the other one of the "
    "pair, ties included."
)
WIDE = 10
"""Columns of a map from which it takes a row of its own."""


def seats_parts(one: SeatsAnalysis) -> Iterator[Shown]:
    """All that a page shows of a game of two seats."""
    prefix, (first, second) = anchor(one.name), map(capital, one.seats)
    yield answer(one)
    yield Charts(
        f"{prefix}-maps", "What either side gets", payoff_maps(one),
        f"{first} is the strategy on the left, {second} the one on top. A frame marks a best reply "
        f"to what the other side chooses: of {first} in its column, of {second} in its row. A "
        "thick frame is a pure equilibrium, since both are best replies there. "
        + _played_text(one),
        wide=len(one.labels[1]) > WIDE,
    )  # fmt: skip
    if one.standing:
        yield _standing(one, prefix)
    yield _pairs(one, prefix)
    yield _equilibria(one, prefix)


def answer(one: SeatsAnalysis) -> Answer:
    """From which pairs neither side would switch, and how sure that is."""
    stable = sorted(
        (pair for pair in one.standing if pair.stable), key=lambda pair: -(pair.support or 0.0)
    )
    caution = "".join(f" {sentence}." for sentence in one.cautions)
    if not stable:
        said = "From every pair one side would switch: there is no pure equilibrium of the means."
        return Answer(f"{said}{caution}", "no pure equilibrium")
    named = [
        f"{called(pair.row)} as {capital(one.seats[0])} with {called(pair.column)} as "
        f"{capital(one.seats[1])}"
        + (
            f" (so in {100 * pair.support:.0f} % of draws)"
            if pair.support is not None and not one.uncertain
            else ""
        )
        for pair in stable[:3]
    ]
    more = f", and from {len(stable) - 3} other pairs" if len(stable) > 3 else ""
    first = f"{stable[0].row} with {stable[0].column}"
    return Answer(
        f"By the mean payoffs, neither side would switch from {', nor from '.join(named)}{more}."
        f"{caution}", first,
    )  # fmt: skip


def _played_text(one: SeatsAnalysis) -> str:
    """How many matches there are, who chooses among how many, and what numbers are."""
    said = ""
    if one.selected:
        count = len(one.selected.configurations)
        alike = "taken for one game" if one.pooled else "weighing alike"
        several = f", {count} configurations {alike}" if count > 1 else ""
        upto = f" to {one.game.most:,}" if one.game.most > one.game.fewest else ""
        said = (
            f"{game_title(one.selected.box)}{several}: {counted(one.matches, 'match')}, from "
            f"{counted(one.game.fewest, 'deal')} a pair{upto}. "
        )
    (rows, columns), (first, second) = one.labels, map(capital, one.seats)
    units = " and ".join(dict.fromkeys(one.units))
    numbers = f"the measure {plain(one.payoff)}, in {units}"
    if one.payoff == PAYOFF:
        numbers = f"payoffs, {'in the unit of the game' if one.selected else 'as given'}"
    return (
        f"{said}{first} chooses among {len(rows):,}, {second} among {len(columns):,}. Numbers are "
        f"{numbers}."
    )


def _names(one: SeatsAnalysis) -> tuple[Header, Header]:
    first, second = map(capital, one.seats)
    return Header("row", first), Header("column", second)


def _gets(one: SeatsAnalysis) -> Iterator[Header]:
    for seat in one.seats:
        yield Header(f"gets.{seat}", f"{capital(seat)} gets", "", one.places)


def _row(one: SeatsAnalysis, pair: Pair) -> dict[str, Any]:
    """A pair as a row of a table."""
    return {
        "row": pair.row, "column": pair.column,
        "support": None if pair.support is None else 100 * pair.support,
        "stable": "an equilibrium" if pair.stable else "none",
        "matches": pair.matches, "deals": pair.deals,
    } | {
        name: value
        for seat, gets, regret, reply in zip(
            one.seats, pair.gets, pair.regrets, pair.replies, strict=True
        )
        for name, value in {
            **spread_out(f"gets.{seat}", gets), f"regrets.{seat}": _regret(one, regret),
            f"replies.{seat}": 100 * reply,
        }.items()
    }  # fmt: skip


def _regret(one: SeatsAnalysis, value: float) -> str:
    if value >= 0.5 / 10**one.places:
        return fixed(value, one.places)
    return regret_text(value, one.game.payoffs())


def _lead(one: SeatsAnalysis, row: Mapping[str, Any]) -> Lead | None:
    """The matches of a pair."""
    if one.selected is None:
        return None
    first, second = (f"player.{seat}" for seat in one.seats)
    asked = {first: row["row"], second: row["column"]} | one.selected.query
    return Lead(one.selected.box, asked)


def _standing(one: SeatsAnalysis, prefix: str) -> ReportTable:
    without = one.choice.without
    caption = "The pure equilibria of the mean payoffs."
    if one.draws:
        caption = (
            "The pure equilibria of the mean payoffs, and all pairs that are one in at least a "
            "hundredth of the draws. "
        ) + (
            f"{100 * without:.1f} % of the draws have no pure equilibrium." if without
            else "Every draw has a pure equilibrium."
        )  # fmt: skip
    support = [Header("support", "Support", OF_DRAWS, 1, SUPPORT)] if one.draws else []
    return ReportTable(
        f"{prefix}-pure", "From which pairs neither side would switch",
        pl.DataFrame([_row(one, pair) for pair in one.standing], infer_schema_length=None),
        (
            *_names(one), *support, Header("stable", "Of the means", about=STABLE),
            *_gets(one),
            *(Header(f"regrets.{seat}", f"{capital(seat)} regrets", about=REGRET * (not at))
              for at, seat in enumerate(one.seats)),
        ),
        caption, leads=partial(_lead, one),
    )  # fmt: skip


def _pairs(one: SeatsAnalysis, prefix: str) -> ReportTable:
    behind = (Header("matches", "Matches", "", 0), Header("deals", "Deals", "", 0))
    unit = OF_DRAWS if one.draws else "100 if so"
    few = one.game.few if one.selected and not one.unsure else ""
    notes = (f"There are no intervals: {one.unsure}.",) if one.unsure else (f"{few}.",) * bool(few)
    return ReportTable(
        f"{prefix}-pairs", "All pairs",
        pl.DataFrame([_row(one, pair) for pair in one.pairs], infer_schema_length=None),
        (
            *_names(one),
            *_gets(one),
            *(Header(f"replies.{seat}", f"{capital(seat)} replies best", unit, 1, REPLY * (not at))
              for at, seat in enumerate(one.seats)),
            *(behind if one.selected else ()),
        ),
        notes=notes, leads=partial(_lead, one),
    )  # fmt: skip


def _equilibria(one: SeatsAnalysis, prefix: str) -> ReportTable:
    rows = []
    for found in one.solved.found:
        extent = "a single point"
        if found.continuum is None:
            extent = "not known"
        elif found.continuum:
            extent = f"an extreme point of continuum {found.continuum}"
        row = {"extent": extent}
        for key, labels, shares, used in zip(
            ("row", "column"), one.labels, found.mixtures, found.supports, strict=True
        ):
            row[key] = ", ".join(
                called(labels[at]) + (f" {shares[at]:.3f}" if len(used) > 1 else "") for at in used
            )
        rows.append(
            row
            | {f"gets.{seat}": value
               for seat, value in zip(one.seats, found.profile.payoffs, strict=True)}
            | {f"regrets.{seat}": _regret(one, value)
               for seat, value in zip(one.seats, found.profile.regrets, strict=True)}
        )  # fmt: skip
    return ReportTable(
        f"{prefix}-equilibria", "All equilibria of the mean payoffs",
        pl.DataFrame(rows, infer_schema_length=None),
        (
            *(name._replace(unit="chooses") for name in _names(one)),
            *_gets(one),
            *(Header(f"regrets.{seat}", f"{capital(seat)} regrets") for seat in one.seats),
            Header("extent", "Extent"),
        ),
        f"{one.solved.in_words}.",
    )  # fmt: skip
