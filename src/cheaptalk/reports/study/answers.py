"""Who did best in a game, by how much, and whether that can be told."""

from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import NamedTuple

import polars as pl
from scipy.special import ndtri, stdtrit

from cheaptalk.reports.recipes.parts import Answer
from cheaptalk.reports.recipes.tables import estimate
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.rules import counted
from cheaptalk.statistics import STRATA, mean_intervals
from cheaptalk.statistics.intervals import without_rounding
from cheaptalk.text import capital, fixed

ALPHA, POWER = 0.05, 0.8
"""How often the best is named wrongly at most, and how often so many matches would tell."""
FEW_DEALS = 10
"""Deals below which a sentence says how few they are, and not how many matches would tell."""


class Margin(NamedTuple):
    """How far one player is ahead of another.

    Attributes:
        behind: the other one.
        size: the difference of their means.
        low, high: its interval, at a level that allows for all rivals; None where there is none.
        deals: those it rests on.
        more: how many times as many deals would tell, if the difference is what it seems; None
            where none would.
    """

    behind: str
    size: float
    low: float | None
    high: float | None
    deals: int
    more: float | None

    @property
    def told(self) -> bool:
        """Whether the one ahead is so beyond doubt."""
        return (
            self.size > 0 and (self.size if self.low is None else self.low) > 0 and self.deals > 1
        )


class _Sentence(NamedTuple):
    """What is said of one role.

    Attributes:
        head: the same in half a line, without the role.
        tell: how many matches would tell, where that cannot be told yet and can be said.
    """

    text: str
    head: str
    role: str
    tell: float | None = None


def answer(game: GameScores) -> Answer:
    """Who did best in each role, by how much, or how many matches would tell."""
    found = [_of_role(game, role) for role in game.roles]
    heads: dict[str, list[_Sentence]] = {}
    for one in found:
        heads.setdefault(one.head, []).append(one)
    short = "; ".join(starmap(_in_half_a_line, heads.items()))
    return Answer(" ".join(one.text for one in found), short)


def _in_half_a_line(head: str, said: Sequence[_Sentence]) -> str:
    """What is said alike of several roles, with the matches that would tell it of all."""
    tell = max(one.tell or 0 for one in said)
    told = f" (about {tell:,.0f} matches would tell)" if tell else ""
    return head + " and".join(one.role for one in said) + told


def margins(game: GameScores, role: str) -> Iterator[Margin]:
    """How far who gained most in a role is ahead of each other player.

    The difference of two means is clustered by deal within configurations. Its interval is
    Student's t at the level of 95 % for all rivals at once (Bonferroni), so that whoever is ahead
    of all is wrongly so in at most one of twenty studies.
    """
    key, who = game.gain(role).key, f"player.{role}"
    ranked = game.players[role].drop_nulls(key)
    first, *rest = ranked.select(who, key).iter_rows()
    rows = game.seated(role, scored=True).drop_nulls(key)
    for label, mean in rest:
        ours, theirs = pl.col(who) == first[0], pl.col(who) == label
        pair = rows.filter(ours | theirs)
        value = pl.col(key).cast(pl.Float64)
        off = without_rounding(value - value.mean().over(who), value.abs().max())
        signed = pl.when(ours).then(off / ours.sum()).otherwise(-off / theirs.sum()) * pl.len()
        found = mean_intervals(pair.with_columns(off=signed), ["off"], strata=STRATA)
        error, freedom, deals = found.select("error", "freedom", "clusters").row(0)
        yield _margin(label, first[1] - mean, error, freedom, deals, len(rest))


def _margin(
    label: str, size: float, error: float | None, freedom: float, deals: int, rivals: int
) -> Margin:
    if not error:
        return Margin(label, size, None, None, deals, None)
    level = 1 - ALPHA / 2 / rivals
    width = float(stdtrit(max(freedom, 1.0), level)) * error
    wanted = float(ndtri(level) + ndtri(POWER)) * error
    return Margin(
        label, size, size - width, size + width, deals, (wanted / size) ** 2 if size else None
    )


def _of_role(game: GameScores, role: str) -> _Sentence:
    """The sentence of one role."""
    score, where = game.gain(role), f" as {capital(role)}" if len(game.roles) > 1 else ""
    ranked = game.players[role].drop_nulls(score.key)
    if ranked.is_empty():
        said = f"What came out{where} cannot be told: no match has finished."
        return _Sentence(said, "no match has finished", where)
    places, row = game.decimals[score.key], ranked.row(0, named=True)
    best, value = row[f"player.{role}"], fixed(row[score.key], places)
    what = f"{score.title} {value}"
    if len(ranked) == 1:
        spread = estimate(row, score.key).spread(places)
        behind = f" ({spread})" if spread else ""
        said = f"{best}{where}: {what}{behind}, with nobody to compare it with."
        return _Sentence(said, f"{best} alone", where)
    found = list(margins(game, role))
    closest = min(found, key=_certainty)
    ahead, within = fixed(closest.size, places), _within(closest, places)
    if closest.told:
        others = "" if len(ranked) == 2 else " the next,"
        said = (
            f"{best} did best{where}: {what}, {ahead} more than{others} {closest.behind}{within}."
        )
        return _Sentence(said, f"{best} did best", where)
    if closest.size == 0:
        equal = [best, *(one.behind for one in found if one.size == 0)]
        who = f"All {len(equal)} players" if 2 < len(equal) == len(ranked) else (
            f"{', '.join(equal[:-1])} and {equal[-1]}"
        )  # fmt: skip
        head = f"{who} did equally well"
        return _Sentence(f"{head}{where}: {what}.", head, where)
    return _Sentence(
        f"Who does best{where} cannot be told yet: {best} ({what}) is {ahead} ahead of "
        f"{closest.behind}{within}; {_would_tell(closest, game.scored.height)}.",
        "it cannot be told yet who does best", where, _matches_to_tell(closest, game.scored.height),
    )  # fmt: skip


def _certainty(one: Margin) -> tuple[float, float]:
    """How sure a margin is: the lower the end of its interval, the less."""
    return (one.size if one.low is None else one.low, one.size)


def _within(one: Margin, places: int) -> str:
    few = f", on only {counted(one.deals, 'deal')}" if one.deals < FEW_DEALS else ""
    if one.low is None or one.high is None:
        return " (one deal)" if one.deals == 1 else f" (the same on every deal{few})"
    return f" (95 % interval {fixed(one.low, places)} to {fixed(one.high, places)}{few})"


def _would_tell(one: Margin, matches: int) -> str:
    """How many matches would tell, in words."""
    if one.more is None:
        return "more deals may tell"
    if one.deals < FEW_DEALS:
        return "how many matches would tell cannot be said of so few"
    needed = _matches_to_tell(one, matches)
    if needed is None:
        return "the two are as good as equal"
    return f"about {needed:,.0f} matches like these {matches:,} would tell"


def _matches_to_tell(one: Margin, matches: int) -> float | None:
    """How many matches would tell, to two digits; None where that cannot be said, or none would."""
    if one.more is None or one.deals < FEW_DEALS:
        return None
    needed = matches * max(one.more, 1.2)
    return None if needed > 1e7 else float(f"{needed:.2g}")
