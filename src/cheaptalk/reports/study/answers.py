"""Who did best in a game, by how much, and whether that can be told."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from cheaptalk.reports.recipes.margins import (
    Margin,
    caution,
    margins_over,
    planned_growth,
    tie_text,
)
from cheaptalk.reports.recipes.parts import Answer
from cheaptalk.reports.recipes.tables import estimate
from cheaptalk.reports.study.comparability import (
    Encounters,
    comparable_sets,
    encounters,
    head_to_head,
    with_opponents,
)
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


class _Sentence(NamedTuple):
    """What is said of one role.

    Attributes:
        head: the same in half a line, without the role.
        doubtful: whether who did best cannot be told yet.
        tell: how many matches would tell, where that cannot be told yet and can be said.
    """

    text: str
    head: str
    role: str
    doubtful: bool = False
    tell: float | None = None


def answer(game: GameScores) -> Answer:
    """Who did best in each role, by how much, or how many matches would tell."""
    found = [_of_role(game, role) for role in game.roles]
    alike: dict[tuple[str, float | None], list[_Sentence]] = {}
    for one in found:
        alike.setdefault((one.head, one.tell), []).append(one)
    said = (_in_half_a_line(group, game.scored.height) for group in alike.values())
    short = "; ".join(said)
    return Answer(" ".join(one.text for one in found), short)


def _in_half_a_line(said: Sequence[_Sentence], played: int) -> str:
    """What is said alike of several roles, with the matches that would tell it of each."""
    first = said[0]
    told = (
        f" ({played:,} matches were played, about {first.tell:,.0f} would tell)"
        if first.tell else ""
    )  # fmt: skip
    doubt = ", not yet beyond doubt" if first.doubtful else ""
    return first.head + " and".join(one.role for one in said) + doubt + told


def margins(game: GameScores, role: str) -> Iterator[Margin]:
    """How far who gained most in a role is ahead of each other player."""
    score, who = game.gain(role), f"player.{role}"
    ranked = game.players[role].drop_nulls(score.key).select(who, score.key).rows()
    compared = sum(
        game.players[each].drop_nulls(game.gain(each).key).height > 1 for each in game.roles
    )
    yield from margins_over(
        game.seated(role, scored=True), who, score.key, ranked, score.bounds, max(1, compared)
    )


def _of_role(game: GameScores, role: str) -> _Sentence:
    """The sentence of one role."""
    score, where = game.gain(role), f" as {capital(role)}" if len(game.roles) > 1 else ""
    ranked = game.players[role].drop_nulls(score.key)
    if ranked.is_empty():
        said = f"What came out{where} cannot be told: no match has finished."
        return _Sentence(said, "no match has finished", where)
    met = _encounters(game, role)
    sets = comparable_sets(met)
    if len(sets) > 1:
        return _not_comparable(sets, where)
    places, row = game.decimals[score.key], ranked.row(0, named=True)
    best, value = row[f"player.{role}"], fixed(row[score.key], places)
    what = f"{score.title} {value}"
    if len(ranked) == 1:
        spread = estimate(row, score.key).spread(places)
        behind = f" ({spread})" if spread else ""
        said = f"{best}{where}: {what}{behind}, with nobody to compare it with."
        return _Sentence(said, f"{best} alone", where)
    found = list(margins(game, role))
    closest = min(found, key=attrgetter("certainty"))
    shown = closest.places(places)
    ahead, within = fixed(closest.size, shown), closest.within(shown)
    is_next = len(ranked) > 2 and closest.behind == found[0].behind
    lead = f"{what}, {ahead} more than{' the next,' if is_next else ''} {closest.behind}{within}"
    if closest.told:
        more = f"{caution(closest)}{head_to_head(met)}"
        return _Sentence(f"{best} did best{where}: {lead}.{more}", f"{best} did best", where)
    if closest.size <= 0 and closest.matched:
        others = f"{fixed(-closest.size, places)} behind" if closest.size else "level with"
        return _Sentence(
            f"Who does best{where} cannot be told: {best} ({what}) has the highest mean, but is "
            f"{others} {closest.behind}{within}.",
            f"{best} leads", where, True,
        )  # fmt: skip
    if tie := tie_text(best, found, places):
        head, shows = tie
        return _Sentence(f"{head}{where}, {what}, {shows}.", head, where)
    if closest.constant and closest.size > 0:
        deals = f"these {counted(closest.deals, 'deal')}"
        said = (
            f"On {deals} {best} got most{where}: {lead}. That does not show that it does best on "
            "other deals."
        )
        return _Sentence(said, f"{best} got most on {deals}", where)
    return _Sentence(
        f"Who does best{where} cannot be told yet: {best} ({what}) is {ahead} ahead of "
        f"{closest.behind}{within}; {_would_tell(closest, game.scored.height)}.",
        f"{best} leads", where, True, _matches_to_tell(closest, game.scored.height),
    )  # fmt: skip


def _encounters(game: GameScores, role: str) -> Encounters:
    """What each scored player of a role met, the best player first."""
    own = f"player.{role}"
    rows = with_opponents(game.seated(role), role, game.roles)
    gain = game.gain(role).key
    met = encounters(rows, own, ["configuration"], gain)
    scored = game.players[role].drop_nulls(gain)[own]
    return {label: met[label] for label in scored}


def _not_comparable(sets: Sequence[Sequence[str]], where: str) -> _Sentence:
    """Return the sentence that names the sets of players who can be compared."""
    several = [f"{{{', '.join(sorted(members))}}}" for members in sets if len(members) > 1]
    which = (
        f"Only players of one set are comparable: {' and '.join(several)}." if several
        else "No two of them are comparable."
    )  # fmt: skip
    text = (
        f"The players{where} are not ranked: they met different opponents or configurations. "
        f"{which}"
    )
    return _Sentence(text, "players met different opponents", where)


def _would_tell(one: Margin, matches: int) -> str:
    """How many matches would tell, in words."""
    growth = planned_growth(one)
    if isinstance(growth, str):
        return growth
    return (
        f"about {_two_digits(growth * matches):,.0f} matches like these {matches:,} would tell in "
        "4 of 5 studies if the differences are what they seem; look again only then, as every look "
        "adds false winners"
    )


def _matches_to_tell(one: Margin, matches: int) -> float | None:
    """How many matches would tell, to two digits; None if that cannot be said."""
    growth = planned_growth(one)
    return None if isinstance(growth, str) else _two_digits(growth * matches)


def _two_digits(number: float) -> float:
    return float(f"{number:.2g}")
