"""Games of two seats in plain text, as the command prints them and ``print`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cheaptalk.reports.metagame.texts import aligned, called, mixed, plus_minus, regret_text
from cheaptalk.reports.pages import fixed
from cheaptalk.rules import counted

if TYPE_CHECKING:
    from cheaptalk.reports.metagame.seats import SeatsAnalysis

SHOWN = 10
"""Equilibria, and pairs, that are told."""


def seats_text(one: SeatsAnalysis, usual: str) -> str:
    """A game's equilibria by seat, and the pairs from which neither side would switch.

    Args:
        usual: what sides want where there is no need to say it.
    """
    lines = [_heading(one, usual), one.solved.in_words]
    for found in one.solved.found[:SHOWN]:
        sides = zip(one.seats, one.labels, found.supports, found.mixtures, strict=True)
        chosen = "; ".join(
            f"{seat} {called(labels[used[0]]) if len(used) == 1 else mixed(labels, used, shares)}"
            for seat, labels, used, shares in sides
        )
        numbers = " and ".join(fixed(payoff, one.places) for payoff in found.profile.payoffs)
        payoffs = one.game.payoffs()
        regrets = " and ".join(regret_text(value, payoffs) for value in found.profile.regrets)
        extent = f", of continuum {found.continuum}" if found.continuum else ""
        lines.append(f"  {chosen}: payoffs {numbers}, regrets {regrets}{extent}")
    if len(one.solved.found) > SHOWN:
        lines.append(f"  and {len(one.solved.found) - SHOWN} more")
    return "\n".join([*lines, *(_pairs(one) if one.draws else [f"No intervals: {one.unsure}."])])


def _heading(one: SeatsAnalysis, usual: str) -> str:
    sizes = " x ".join(str(len(labels)) for labels in one.labels)
    played = f", {counted(one.matches, 'match')}" if one.selected else ""
    wanted = "" if one.payoff == usual else f", by {one.payoff}"
    return f"{one.name}: {one.seats[0]} x {one.seats[1]}, {sizes} strategies{played}{wanted}"


def _pairs(one: SeatsAnalysis) -> list[str]:
    """The pairs, what the draws say of them, and how these were made."""
    head = [*one.seats, "Of draws", *(f"{seat} gets" for seat in one.seats)]
    rows = [
        [pair.row, pair.column, f"{pair.support:.1%}{'*' if pair.stable else ' '}",
         *(plus_minus(got, one.places) for got in pair.gets)]
        for pair in one.standing[:SHOWN]
    ]  # fmt: skip
    more = len(one.standing) - SHOWN
    rest = [f"and {counted(more, 'pair')} more"] if more > 0 else []
    deals = "the same deals in all cells" if one.paired else "deals drawn for each cell"
    made = (
        f"Of draws: how many have the pair as a pure equilibrium; * marks those of the mean "
        f"payoffs. {one.choice.without:.1%} of draws have none. ±: standard deviation over "
        f"{one.draws:,} bootstrap draws of at least {one.game.fewest:,} deals a cell "
        f"({deals}, seed {one.seed})."
    )
    return [*aligned(head, rows, 2), *rest, made]
