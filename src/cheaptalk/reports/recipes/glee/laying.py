"""A study's matches of GLEE's families, laid out for regressions: factors and reference levels."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.glee.families import (
    FAMILIES,
    GAINS,
    REFERENCE,
    ROLES,
    Family,
    level,
)
from cheaptalk.reports.recipes.parts import Lacking, Lead
from cheaptalk.rules import CheaptalkError, suggest

CHOSEN = "reference"
"""The option that names another one."""
NAMES = "names"
"""The parameter with what players are called."""
LINKED = 600
"""Configurations up to which an address can name them."""


@dataclass(frozen=True, eq=False)
class Played:
    """The matches of a family that count, with the levels of its parameters.

    Attributes:
        family: which one.
        frame: one row a match, as :func:`.match_frames` makes it, but that configurations which
            differ in what players are called are one, under ``digest`` what tells them apart.
            Besides, a column for each term that varies with the names of its levels, and the
            players as ``Alice`` and ``Bob``.
        levels: of each term that varies, in order.
        constant: the level of each term that does not.
        references: the level that others are compared with, of each term and role that varies.
        uncontrolled: parameters that vary and are none of the terms.
    """

    family: Family
    frame: pl.DataFrame
    levels: Mapping[str, tuple[str, ...]]
    constant: Mapping[str, str]
    references: Mapping[str, str]
    uncontrolled: tuple[str, ...]

    @property
    def game(self) -> str:
        """The name of the game."""
        return self.family.game

    @property
    def market(self) -> tuple[str, ...]:
        """The names of those terms that make a market and vary."""
        return tuple(term.name for term in self.family.market if term.name in self.levels)

    @property
    def others(self) -> tuple[str, ...]:
        """The names of all other terms that vary."""
        return tuple(name for name in self.levels if name not in self.market)

    def without(self, players: Collection[str]) -> "Played | None":
        """The same without the matches of these players; None where none are left."""
        if not players:
            return self
        theirs = [pl.col(title).is_in(list(players)) for title in ROLES.values()]
        rest = self.frame.filter(~pl.any_horizontal(theirs)).select(
            pl.exclude("configuration", *self.levels, *ROLES.values())
        ).rename({"digest": "configuration"})  # fmt: skip
        return next(iter(laid_out({self.game: rest}, self.references["Alice"])), None)

    def lead(self, *where: pl.Expr) -> Lead | None:
        """The matches of the configurations that meet these conditions."""
        found = sorted(self.frame.filter(*where)["digest"].unique())
        fits = len(found) <= LINKED
        return Lead(self.game, {"configuration": ",".join(found)}) if found and fits else None


def families(evidence: Evidence) -> list[Played]:
    """The families that were played, each with all its matches that count.

    Raises:
        Lacking: none was.
    """
    found = evidence.once(_families)
    if not found:
        raise Lacking(
            "no match of bargaining, negotiation or persuasion has finished; run the preset glee, "
            "or import games of GLEE"
        )
    return found


def _families(evidence: Evidence) -> list[Played]:
    frames = {family.game: evidence.scored(family.game) for family in FAMILIES}
    chosen = evidence.options.get(CHOSEN)
    if chosen is not None and chosen not in evidence.labels:
        raise CheaptalkError(f"no player {suggest(chosen, evidence.labels)} in {evidence.study}")
    return laid_out(frames, chosen or REFERENCE)


def laid_out(frames: Mapping[str, pl.DataFrame], reference: str) -> list[Played]:
    """Matches by game with the levels of their parameters; those that have a payoff.

    Args:
        reference: the player that others are compared with wherever it played.
    """
    measured = {
        game: frame.drop_nulls([*GAINS.values()])
        for game, frame in frames.items()
        if not frame.is_empty()
    }
    kept = {game: frame for game, frame in measured.items() if not frame.is_empty()}
    ranking = _ranking(list(kept.values()), reference)
    return [_laid(one, kept[one.game], ranking) for one in FAMILIES if one.game in kept]


def _ranking(frames: Sequence[pl.DataFrame], first: str) -> list[str]:
    """Players in the order in which they are taken as the reference.

    After the one that is wanted come those who play most of the roles of all families, then those
    with most matches.
    """
    roles: Counter[str] = Counter()
    matches: Counter[str] = Counter()
    for frame in frames:
        for role in ROLES:
            counts = dict(frame.group_by(f"player.{role}").len().iter_rows())
            roles.update(counts.keys())
            matches.update(counts)
    return sorted(roles, key=lambda who: (who != first, -roles[who], -matches[who], who))


def _laid(family: Family, frame: pl.DataFrame, ranking: Sequence[str]) -> Played:
    """Matches with the levels of their parameters."""
    parameters = [name for name in frame.columns if name.startswith("game.")]
    made = frame.group_by("configuration", maintain_order=True).agg(
        pl.col(parameters).first(), pl.len().alias("matches")
    )
    configurations = [
        {name.removeprefix("game."): _plain(row[name]) for name in parameters}
        for row in made.iter_rows(named=True)
    ]
    levels: dict[str, tuple[str, ...]] = {}
    constant, references, columns = {}, {}, {}
    for term in family.terms:
        values = [term.read(one[term.parameter]) for one in configurations]
        distinct = sorted(set(values))
        if len(distinct) == 1:
            constant[term.name] = level(distinct[0])
            continue
        levels[term.name] = tuple(map(level, distinct))
        references[term.name] = level(_reference(term.default, values, made["matches"]))
        columns[term.name] = list(map(level, values))
    digests = made["configuration"].to_list()
    placed = pl.DataFrame({"digest": digests, "configuration": _shared(digests, configurations)})
    placed = placed.with_columns(
        pl.Series(name, of, dtype=pl.Enum(levels[name])) for name, of in columns.items()
    )
    players = [pl.col(f"player.{role}").alias(title) for role, title in ROLES.items()]
    named = frame.rename({"configuration": "digest"}).with_columns(players)
    whole = named.join(placed, on="digest", maintain_order="left")
    for title in ROLES.values():
        seen = set(whole[title])
        references[title] = next(who for who in ranking if who in seen)
    strange = _uncontrolled(family, configurations)
    return Played(family, whole, levels, constant, references, strange)


def _shared(digests: Sequence[str], configurations: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each configuration the first that differs from it in nothing but players' names."""
    first: dict[str, str] = {}
    keys = [json.dumps({name: of for name, of in one.items() if name != NAMES})
            for one in configurations]  # fmt: skip
    return [first.setdefault(key, digest) for key, digest in zip(keys, digests, strict=True)]


def _plain(value: Any) -> Any:
    """A parameter out of a frame, where what is no number, truth or text stands as JSON."""
    return json.loads(value) if isinstance(value, str) and value[:1] in "[{" else value


def _reference(default: Any, values: Sequence[Any], matches: Iterable[int]) -> Any:
    """The paper's reference level if there is one, else the level with most matches."""
    if default in values:
        return default
    tally: Counter[Any] = Counter()
    for value, number in zip(values, matches, strict=True):
        tally[value] += number
    return max(sorted(tally), key=lambda value: tally[value])


def _uncontrolled(family: Family, configurations: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Parameters that vary and that no term is read off; what players are called is none."""
    known = {NAMES, *(term.parameter for term in family.terms)}
    return tuple(
        name
        for name in configurations[0]
        if name not in known and len({json.dumps(one[name]) for one in configurations}) > 1
    )
