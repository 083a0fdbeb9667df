"""Answers that name the best player of each role, with its margin and significance."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from cheaptalk.reports.recipes.margins import (
    Margin,
    advice,
    caution,
    margins_over,
    planned_growth,
    tie_text,
)
from cheaptalk.reports.recipes.parts import Answer
from cheaptalk.reports.recipes.tables import estimate
from cheaptalk.reports.study import comparability
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


class _Sentence(NamedTuple):
    """A sentence about the best player in one role, with a short version without the role.

    If no player is clearly best, ``tell`` is the number of matches needed, if it can be estimated;
    otherwise ``caution`` states the limits of a significant lead.
    """

    text: str
    head: str
    role: str
    doubtful: bool = False
    tell: float | None = None
    caution: str = ""


def answer(game: GameScores) -> Answer:
    """Return a sentence with the best player in each role, or the number of matches needed."""
    sentences = [_of_role(game, role) for role in game.roles]
    groups: dict[tuple[str, float | None], list[_Sentence]] = {}
    for item in sentences:
        groups.setdefault((item.head, item.tell), []).append(item)
    parts = (_in_half_a_line(group, game.scored.height) for group in groups.values())
    following = [*(item.caution for item in sentences[1:]), ""]
    text = " ".join(
        item.text + item.caution * (item.caution != next_caution)
        for item, next_caution in zip(sentences, following, strict=True)
    )
    return Answer(text, "; ".join(parts))


def _in_half_a_line(sentences: Sequence[_Sentence], played: int) -> str:
    """Return a short sentence on a result that holds in several roles."""
    first = sentences[0]
    needed = f" ({played:,} matches played, about {first.tell:,.0f} needed)" if first.tell else ""
    doubt = ", not yet significantly" if first.doubtful else ""
    return first.head + " and".join(statement.role for statement in sentences) + doubt + needed


def margins(game: GameScores, role: str) -> Iterator[Margin]:
    """Yield the lead of the best player in a role over each other player."""
    score, who = game.gain(role), f"player_{role}"
    ranked = game.players[role].drop_nulls(score.key).select(who, score.key).rows()
    compared = sum(
        game.players[role].drop_nulls(game.gain(role).key).height > 1 for role in game.roles
    )
    yield from margins_over(
        game.seated(role, scored=True), who, score.key, ranked, score.bounds, max(1, compared)
    )


def _of_role(game: GameScores, role: str) -> _Sentence:
    score, role_text = game.gain(role), f" as {capital(role)}" if len(game.roles) > 1 else ""
    ranked = game.players[role].drop_nulls(score.key)
    if ranked.is_empty():
        text = f"No result{role_text}: no match has finished."
        return _Sentence(text, "no match has finished", role_text)
    met = _encounters(game, role)
    sets = comparability.comparable_sets(met)
    if len(sets) > 1:
        return _not_comparable(sets, role_text)
    decimals, row = game.decimals[score.key], ranked.row(0, named=True)
    best, value = row[f"player_{role}"], fixed(row[score.key], decimals)
    gain_text = f"{score.title} {value}"
    if len(ranked) == 1:
        spread = estimate(row, score.key).spread(decimals)
        spread_text = f" ({spread})" if spread else ""
        text = (
            f"{best}{role_text}: {gain_text}{spread_text}, with no other player to compare it with."
        )
        return _Sentence(text, f"only {best}", role_text)
    leads = list(margins(game, role))
    closest = min(leads, key=attrgetter("certainty"))
    digits = closest.decimals(decimals)
    ahead, within = fixed(closest.size, digits), closest.within(digits)
    is_next = len(ranked) > 2 and closest.behind == leads[0].behind
    lead = (
        f"{gain_text}, {ahead} more than{' the next,' if is_next else ''} {closest.behind}{within}"
    )
    if closest.significant:
        text = f"{best} did best{role_text}: {lead}.{comparability.head_to_head(met)}"
        return _Sentence(text, f"{best} did best", role_text, caution=caution(closest))
    if closest.size <= 0 and closest.matched:
        others = f"{fixed(-closest.size, decimals)} behind" if closest.size else "level with"
        return _Sentence(
            f"No player is clearly best{role_text}: {best} ({gain_text}) has the highest mean, but "
            f"is {others} {closest.behind}{within}.",
            f"{best} leads",
            role_text,
            True,
        )
    if tie := tie_text(best, leads, decimals):
        head, shows = tie
        return _Sentence(f"{head}{role_text}, {gain_text}, {shows}.", head, role_text)
    if closest.constant and closest.size > 0:
        instances = f"these {counted(closest.instances, 'instance')}"
        text = (
            f"On {instances}, {best} has the highest mean{role_text}: {lead}. This does not show "
            "that it is best: on other instances, the order may differ."
        )
        return _Sentence(text, f"{best} has the highest mean on {instances}", role_text)
    matches, growth = game.scored.height, planned_growth(closest)
    needed = None if isinstance(growth, str) else float(f"{growth * matches:.2g}")
    instead = f"{needed:,.0f} matches instead of {matches:,}" if needed else ""
    text = (
        f"No player is clearly best{role_text} yet: {best} ({gain_text}) is {ahead} ahead of "
        f"{closest.behind}{within}; {advice(closest, instead)}."
    )
    return _Sentence(text, f"{best} leads", role_text, True, needed)


def _encounters(game: GameScores, role: str) -> comparability.Encounters:
    column = f"player_{role}"
    rows = comparability.with_opponents(game.seated(role), role, game.roles)
    gain = game.gain(role).key
    met = comparability.encounters(rows, column, ["configuration"], gain)
    scored = game.players[role].drop_nulls(gain)[column]
    return {label: met[label] for label in scored}


def _not_comparable(sets: Sequence[Sequence[str]], role_text: str) -> _Sentence:
    several = [f"{{{', '.join(sorted(members))}}}" for members in sets if len(members) > 1]
    which = (
        f"Players are comparable only within a set: {' and '.join(several)}."
        if several
        else "No two of them are comparable."
    )
    text = (
        f"The players{role_text} are not ranked: they met different opponents or configurations. "
        f"{which}"
    )
    return _Sentence(text, "players met different opponents", role_text)
