"""A study's matches of GLEE's families, with players' kinds, factors and reference levels."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.bounds import with_bounds
from cheaptalk.frames.reader import parameters_in, varying
from cheaptalk.records.store.reader import specs_of
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Lacking
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.statistics.intervals import Bounds, BoundsColumns
from cheaptalk.text import capital, plain, readable

PERSON, MODEL, SCRIPT = "person", "model", "script"
METRICS = {
    "efficiency": "efficiency",
    "fairness": "fairness",
    "alice_gain": "Alice's gain",
    "bob_gain": "Bob's gain",
}
"""The four metrics of each family (GLEE section 2), by measure."""
ROLES = {"alice": "Alice", "bob": "Bob"}
REFERENCE = "gemini-1.5-flash"
"""The player that others are compared with in the paper."""
GAINS = {"alice": "alice_gain", "bob": "bob_gain"}
"""The metric that is a role's own."""
CHOSEN = "reference"
"""The option that names another one."""
COMPOSITE = "composite"
"""The option that takes all terms of a parameter for one."""
NAMES = "names"
"""The parameter with what players are called."""
LINKED = 600
"""Configurations up to which an address can name them."""


def kind_of(spec: Mapping[str, object]) -> str:
    """What kind of player settings make.

    >>> kind_of({"imported": "glee", "person": True}), kind_of({"model": "openai/gpt-4o"})
    ('person', 'model')
    """
    return next((kind for kind in (PERSON, MODEL) if spec.get(kind)), SCRIPT)


def kinds(evidence: Evidence) -> dict[str, str]:
    """The kind of each player by label."""
    found = specs_of(evidence.store, evidence.study)
    return {label: kind_of(specs[0]) for label, specs in found.items()}


def people(evidence: Evidence) -> frozenset[str]:
    """The labels of people."""
    return frozenset(label for label, kind in evidence.once(kinds).items() if kind == PERSON)


class Term(NamedTuple):
    """A parameter of a family as a factor.

    Attributes:
        name: its short name in the paper, and the column of its levels.
        title: what it is.
        parameter: the game's parameter that it is read off.
        default: the reference level of the paper (Table 8).
        market: whether it is one of those that the paper joins into the factor "market".
        read: its value, given the parameter's.
    """

    name: str
    title: str
    parameter: str
    default: Any
    market: bool = False
    read: Callable[[Any], Any] = lambda value: value


def _told(horizon: Mapping[str, Any]) -> float:
    return inf if horizon["hidden"] else horizon["rounds"]


def _informed(parameter: str) -> Term:
    return Term("CI", "complete information", parameter, True, market=True)


def _ends(default: float, *, market: bool = True) -> Term:
    title = "rounds, as far as players know"
    return Term("T", title, "horizon", default, market, _told)


SPOKEN = Term("MA", "messages allowed", "messages", False, market=True)


FAMILIES = {
    "bargaining": (
        _informed("complete_information"),
        SPOKEN,
        _ends(inf),
        Term("δ_A", "Alice's discount factor", "discounts", 0.9, read=itemgetter(0)),
        Term("δ_B", "Bob's discount factor", "discounts", 0.9, read=itemgetter(1)),
        Term("M", "money to divide, in dollars", "money", 10_000),
    ),
    "negotiation": (
        _informed("complete_information"),
        SPOKEN,
        _ends(1),
        Term("F_A", "worth to the seller, in multiples of M", "seller_factor", 1),
        Term("F_B", "worth to the buyer, in multiples of M", "buyer_factor", 1),
        Term("M", "scale of values and prices, in dollars", "scale", 10_000),
    ),
    "persuasion": (
        _informed("seller_knows_values"),
        Term("MT", "what Alice sends", "signal", "binary", market=True),
        Term("MY", "myopic buyers", "myopic", False, market=True),
        Term("p", "share of good products", "prior", 0.5, read=partial(round, ndigits=3)),
        Term("v", "worth of a good product, in prices", "value", 1.25),
        Term("M", "price, in dollars", "price", 10_000),
        _ends(20, market=False),
        Term("p known", "whether buyers know p", "buyer_knows_prior", True),
        Term("buyer speaks", "whether buyers can send words", "buyer_messages", False),
    ),
}
"""Parameters as in Table 1 of the paper; of persuasion also two that its older data vary."""


def level(value: Any) -> str:
    """A parameter's value as a level is called.

    >>> level(inf), level(True), level(1e6), level("text")
    ('∞', 'yes', '1,000,000', 'text')
    """
    if isinstance(value, tuple):
        return ", ".join(map(level, value))
    return "∞" if value == inf else readable(value)


@dataclass(frozen=True, eq=False)
class FamilyMatches:
    """The matches of a family that count, with the levels of its parameters.

    Attributes:
        game: the name of the family's game.
        frame: one row a match, as :func:`.match_frames` makes it, but that configurations which
            differ in what players are called are one, under ``digest`` what tells them apart.
            Besides, a column for each term that varies with the names of its levels, and the
            players as ``Alice`` and ``Bob``.
        levels: of each term that varies, in order.
        constant: the level of each term that does not.
        references: the level that others are compared with, of each term and role that varies.
        uncontrolled: parameters that vary and are none of the terms.
        bounds: the least and the most that measures can be, as :func:`.mean_intervals` takes them.
        terms: the family's parameters as factors.
    """

    game: str
    frame: pl.DataFrame
    levels: Mapping[str, tuple[str, ...]]
    constant: Mapping[str, str]
    references: Mapping[str, str]
    uncontrolled: tuple[str, ...]
    bounds: Mapping[str, Bounds | BoundsColumns]
    terms: tuple[Term, ...]

    @property
    def notes(self) -> list[str]:
        """A warning where parameters varied that are not controlled for."""
        strange, game = ", ".join(map(plain, self.uncontrolled)), capital(self.game)
        return [f"{game}: {strange} varied and is not controlled for."] if strange else []

    @property
    def market(self) -> tuple[str, ...]:
        """The names of those terms that make a market and vary."""
        return tuple(one.name for one in self.terms if one.market and one.name in self.levels)

    @property
    def others(self) -> tuple[str, ...]:
        """The names of all other terms that vary."""
        return tuple(name for name in self.levels if name not in self.market)

    def without(self, players: Collection[str]) -> "FamilyMatches | None":
        """The same without the matches of these players; None where none are left."""
        if not players:
            return self
        theirs = [pl.col(title).is_in(list(players)) for title in ROLES.values()]
        rest = self.frame.filter(~pl.any_horizontal(theirs)).select(
            pl.exclude("configuration", *self.levels, *ROLES.values())
        ).rename({"digest": "configuration"})  # fmt: skip
        terms = {self.game: self.terms}
        return next(iter(family_matches({self.game: rest}, self.references["Alice"], terms)), None)

    def lead(self, *where: pl.Expr) -> Lead | None:
        """The matches of the configurations that meet these conditions."""
        found = sorted(self.frame.filter(*where)["digest"].unique())
        fits = len(found) <= LINKED
        return Lead(self.game, {"configuration": ",".join(found)}) if found and fits else None


def families(evidence: Evidence) -> list[FamilyMatches]:
    """The families that were played, each with all its matches that count; parts read them once.

    Raises:
        Lacking: none was.
        CheaptalkError: nobody is called as the player that others are to be compared with, or no
            parameter of two terms is called as the composite.
    """
    frames = {game: evidence.scored(game) for game in FAMILIES}
    chosen = evidence.options.get(CHOSEN)
    if chosen is not None and chosen not in evidence.labels:
        raise CheaptalkError(f"no player {suggest(chosen, evidence.labels)} in {evidence.study}")
    found = family_matches(frames, chosen or REFERENCE, _terms(evidence.options.get(COMPOSITE)))
    if not found:
        raise Lacking(
            "no match of bargaining, negotiation or persuasion has finished; run the preset glee, "
            "or import games of GLEE"
        )
    return found


def _terms(composite: str | None) -> dict[str, tuple[Term, ...]]:
    """The terms of each family, those of one parameter joined where it is to be a composite.

    Raises:
        CheaptalkError: there is no such parameter of two terms.
    """
    if composite is None:
        return FAMILIES
    counts = Counter((game, one.parameter) for game, terms in FAMILIES.items() for one in terms)
    joint = [name for (_, name), count in counts.items() if count > 1]
    if composite not in joint:
        raise CheaptalkError(f"no parameter of two terms is called {suggest(composite, joint)}")
    return {game: _joined(terms, composite) for game, terms in FAMILIES.items()}


def _joined(terms: Sequence[Term], parameter: str) -> tuple[Term, ...]:
    """Terms in which those of a parameter are one, whose levels are their combinations."""
    parts = [one for one in terms if one.parameter == parameter]
    if not parts:
        return tuple(terms)
    whole = Term(
        " and ".join(one.name for one in parts), " and ".join(one.title for one in parts),
        parameter, tuple(one.default for one in parts),
        read=lambda value: tuple(one.read(value) for one in parts),
    )  # fmt: skip
    kept = [whole if one is parts[0] else one for one in terms if one not in parts[1:]]
    return tuple(kept)


def family_matches(
    frames: Mapping[str, pl.DataFrame],
    reference: str,
    terms: Mapping[str, tuple[Term, ...]] = FAMILIES,
) -> list[FamilyMatches]:
    """Matches by game with the levels of their parameters; those that have a payoff.

    Args:
        reference: the player that others are compared with wherever it played.
        terms: the parameters of each family as factors.
    """
    measured = {
        game: frame.drop_nulls([*GAINS.values()])
        for game, frame in frames.items()
        if not frame.is_empty()
    }
    kept = {game: frame for game, frame in measured.items() if not frame.is_empty()}
    ranking = _ranking(list(kept.values()), reference)
    return [_with_levels(game, kept[game], ranking, terms[game]) for game in terms if game in kept]


def _ranking(frames: Sequence[pl.DataFrame], first: str) -> list[str]:
    """Players in the order in which they are taken as the reference.

    After the one that is wanted come those who play most of the roles of all families, then those
    with most matches.
    """
    roles: Counter[str] = Counter()
    matches: Counter[str] = Counter()
    for frame in frames:
        for role in ROLES:
            counts = dict(frame.group_by(f"player.{role}", maintain_order=True).len().iter_rows())
            roles.update(counts.keys())
            matches.update(counts)
    return sorted(roles, key=lambda who: (who != first, -roles[who], -matches[who], who))


def _with_levels(
    game: str, frame: pl.DataFrame, ranking: Sequence[str], terms: tuple[Term, ...]
) -> FamilyMatches:
    """Matches with the levels of their parameters."""
    configurations = parameters_in(frame)
    matches = frame.group_by("configuration", maintain_order=True).len()["len"]
    levels: dict[str, tuple[str, ...]] = {}
    constant, references, columns = {}, {}, {}
    for term in terms:
        values = [term.read(one[term.parameter]) for one in configurations.values()]
        distinct = sorted(set(values))
        if len(distinct) == 1:
            constant[term.name] = level(distinct[0])
            continue
        levels[term.name] = tuple(map(level, distinct))
        references[term.name] = level(_reference(term.default, values, matches))
        columns[term.name] = list(map(level, values))
    first: dict[str, str] = {}
    unnamed = {digest: json.dumps(one | {NAMES: None}) for digest, one in configurations.items()}
    shared = [first.setdefault(alike, digest) for digest, alike in unnamed.items()]
    placed = pl.DataFrame({"digest": list(configurations), "configuration": shared}).with_columns(
        pl.Series(name, of, dtype=pl.Enum(levels[name])) for name, of in columns.items()
    )
    players = [pl.col(f"player.{role}").alias(title) for role, title in ROLES.items()]
    named = frame.rename({"configuration": "digest"}).with_columns(players)
    whole = named.join(placed, on="digest", maintain_order="left", validate="m:1")
    for title in ROLES.values():
        seen = set(whole[title])
        references[title] = next(who for who in ranking if who in seen)
    known = {NAMES, *(term.parameter for term in terms)}
    strange = tuple(name for name in varying(configurations) if name not in known)
    whole, bounds = with_bounds(whole, game)
    return FamilyMatches(game, whole, levels, constant, references, strange, bounds, terms)


def _reference(default: Any, values: Sequence[Any], matches: Iterable[int]) -> Any:
    """The paper's reference level if there is one, else the level with most matches."""
    if default in values:
        return default
    tally: Counter[Any] = Counter()
    for value, number in zip(values, matches, strict=True):
        tally[value] += number
    return max(sorted(tally), key=lambda value: tally[value])
