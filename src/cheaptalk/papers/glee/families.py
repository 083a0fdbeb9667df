"""Matches of GLEE's game families, with the factors and reference levels of regressions."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.bounds import with_bounds
from cheaptalk.frames.reader import parameters_in, varying
from cheaptalk.papers.printed import paper_table
from cheaptalk.records.store.reader import specs_of
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import NoData
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.statistics.limits import Bounds, BoundsColumns
from cheaptalk.text import capital, plain, readable

PERSON, MODEL, SCRIPT = "person", "model", "script"
table = partial(paper_table, "glee")
METRICS = {
    "efficiency": "efficiency",
    "fairness": "fairness",
    "self_gain_alice": "Alice's gain",
    "self_gain_bob": "Bob's gain",
}
"""The four metrics of each family (GLEE section 2)."""
ROLES = {"alice": "Alice", "bob": "Bob"}
REFERENCE = "gemini-1.5-flash"
"""The paper's reference player."""
GAINS = {"alice": "self_gain_alice", "bob": "self_gain_bob"}
CHOSEN = "reference"
COMPOSITE = "composite"
"""The option for a parameter with terms to join."""
NAMES = "names"
MAX_LINKED = 600


def kinds(evidence: Evidence) -> dict[str, str]:
    """Return whether each player is a person, a model or a script, by label."""
    return {
        label: next((kind for kind in (PERSON, MODEL) if spec.get(kind)), SCRIPT)
        for label, (spec, *_) in specs_of(evidence.store, evidence.study).items()
    }


def people(evidence: Evidence) -> frozenset[str]:
    """Return the labels of players who are people."""
    return frozenset(label for label, kind in evidence.once(kinds).items() if kind == PERSON)


class Term(NamedTuple):
    """A factor that is derived from a parameter of a game.

    ``name`` is the short name in the paper, and the column of the levels; ``default`` the reference
    level of the paper (Table 8); ``market`` whether the term is part of the paper's factor
    "market".
    """

    name: str
    title: str
    parameter: str
    default: Any
    market: bool = False
    read: Callable[[Any], Any] = lambda value: value


def _informed(parameter: str) -> Term:
    return Term("CI", "complete information", parameter, True, market=True)


def _ends(default: float, *, market: bool = True) -> Term:
    return Term(
        "T",
        "number of rounds known to players",
        "horizon",
        default,
        market,
        lambda horizon: inf if horizon["hidden"] else horizon["rounds"],
    )


MESSAGES = Term("MA", "messages allowed", "messages", False, market=True)


FAMILIES = {
    "bargaining": (
        _informed("complete_information"),
        MESSAGES,
        _ends(inf),
        Term("δ_A", "Alice's discount factor", "discounts", 0.9, read=itemgetter(0)),
        Term("δ_B", "Bob's discount factor", "discounts", 0.9, read=itemgetter(1)),
        Term("M", "money to divide, in dollars", "money", 10_000),
    ),
    "negotiation": (
        _informed("complete_information"),
        MESSAGES,
        _ends(1),
        Term("F_A", "value to the seller, in multiples of M", "seller_factor", 1),
        Term("F_B", "value to the buyer, in multiples of M", "buyer_factor", 1),
        Term("M", "scale of values and prices, in dollars", "scale", 10_000),
    ),
    "persuasion": (
        _informed("seller_knows_values"),
        Term("MT", "type of Alice's messages", "signal", "binary", market=True),
        Term("MY", "myopic buyers", "myopic", False, market=True),
        Term("p", "share of good products", "prior", 0.5, read=partial(round, ndigits=3)),
        Term("v", "value of a good product, in prices", "value", 1.25),
        Term("M", "price, in dollars", "price", 10_000),
        _ends(20, market=False),
        Term("p known", "whether buyers know p", "buyer_knows_prior", True),
        Term("buyer speaks", "whether buyers can send messages", "buyer_messages", False),
    ),
}
"""Parameters of the paper's Table 1, and two parameters of persuasion that vary in older data."""


def level(value: Any) -> str:
    """Return the name of the level for a parameter's value."""
    if isinstance(value, tuple):
        return ", ".join(map(level, value))
    return "∞" if value == inf else readable(value)


@dataclass(frozen=True, eq=False)
class FamilyMatches:
    """The scored matches of a family, with the levels of its parameters.

    ``frame`` has one row per match, with additional columns for the level of each varying term and
    for the players, ``Alice`` and ``Bob``. Configurations that only differ in the players' names
    are joined, with the original in ``digest``. ``uncontrolled`` are parameters that vary but are
    not terms.
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
        """A note on varying parameters that are not controlled for."""
        names, game = ", ".join(map(plain, self.uncontrolled)), capital(self.game)
        return [f"{game}: {names} varied and is not controlled for."] if names else []

    @property
    def market(self) -> tuple[str, ...]:
        """Names of the varying factors that describe the market."""
        return tuple(term.name for term in self.terms if term.market and term.name in self.levels)

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the varying factors that do not describe the market."""
        return tuple(name for name in self.levels if name not in self.market)

    def without(self, players: Collection[str]) -> "FamilyMatches | None":
        """Return the family without matches of the given players; None if no matches remain."""
        if not players:
            return self
        excluded = [pl.col(title).is_in(list(players)) for title in ROLES.values()]
        original = pl.exclude("configuration", *self.levels, *ROLES.values())
        frame = self.frame.filter(~pl.any_horizontal(excluded)).select(original)
        frames = {self.game: frame.rename({"digest": "configuration"})}
        families = family_matches(frames, self.references["Alice"], {self.game: self.terms})
        return next(iter(families), None)

    @cached_property
    def configurations(self) -> pl.DataFrame:
        """The ``digest`` of each configuration, with all levels and players in its matches."""
        return self.frame.select("digest", *self.levels, *ROLES.values()).unique()

    def lead(self, *conditions: pl.Expr) -> Lead | None:
        """Return a link to the matches of configurations that meet these conditions."""
        digests = sorted(self.configurations.filter(*conditions)["digest"].unique())
        fits = len(digests) <= MAX_LINKED
        return Lead(self.game, {"configuration": ",".join(digests)}) if digests and fits else None


def families(evidence: Evidence) -> list[FamilyMatches]:
    """Return the families that were played, with all scored matches.

    Raises:
        NoData: no family was played.
        CheaptalkError: the reference player or the composite parameter is unknown.
    """
    frames = {game: evidence.scored(game) for game in FAMILIES}
    reference = evidence.options.get(CHOSEN)
    if reference is not None and reference not in evidence.labels:
        raise CheaptalkError(
            f"option {CHOSEN}: {evidence.study} has no player {suggest(reference, evidence.labels)}"
        )
    played = family_matches(frames, reference or REFERENCE, _terms(evidence.options.get(COMPOSITE)))
    if not played:
        raise NoData(
            "no match of bargaining, negotiation or persuasion has finished; the preset glee has "
            "such matches, and cheaptalk store import glee imports published ones"
        )
    return played


def _terms(composite: str | None) -> dict[str, tuple[Term, ...]]:
    """Each family's factors; those of the parameter ``composite`` are combined into one."""
    if composite is None:
        return FAMILIES
    counts = Counter((game, term.parameter) for game, terms in FAMILIES.items() for term in terms)
    joint = [name for (_, name), count in counts.items() if count > 1]
    if composite not in joint:
        raise CheaptalkError(
            f"option {COMPOSITE}: no parameter with two terms is called {suggest(composite, joint)}"
        )
    return {game: _joined(terms, composite) for game, terms in FAMILIES.items()}


def _joined(terms: Sequence[Term], parameter: str) -> tuple[Term, ...]:
    """Combine all factors of a parameter into one factor, whose levels combine their levels."""
    parts = [term for term in terms if term.parameter == parameter]
    if not parts:
        return tuple(terms)
    joint = Term(
        " and ".join(part.name for part in parts),
        " and ".join(part.title for part in parts),
        parameter,
        tuple(part.default for part in parts),
        read=lambda value: tuple(part.read(value) for part in parts),
    )
    return tuple(joint if term is parts[0] else term for term in terms if term not in parts[1:])


def family_matches(
    frames: Mapping[str, pl.DataFrame],
    reference: str,
    terms: Mapping[str, tuple[Term, ...]] = FAMILIES,
) -> list[FamilyMatches]:
    """Return the families' matches, with ``reference`` as the preferred reference player."""
    played = {game: frame for game, frame in frames.items() if not frame.is_empty()}
    scored = {game: frame.drop_nulls([*GAINS.values()]) for game, frame in played.items()}
    usable = {game: frame for game, frame in scored.items() if not frame.is_empty()}
    roles: Counter[str] = Counter()
    matches: Counter[str] = Counter()
    for frame in usable.values():
        for role in ROLES:
            counts = Counter(frame[f"player_{role}"])
            roles.update(counts.keys())
            matches.update(counts)
    ranking = sorted(
        roles, key=lambda label: (label != reference, -roles[label], -matches[label], label)
    )
    return [
        _with_levels(game, usable[game], ranking, terms[game]) for game in terms if game in usable
    ]


def _with_levels(
    game: str, frame: pl.DataFrame, ranking: Sequence[str], terms: tuple[Term, ...]
) -> FamilyMatches:
    configurations = parameters_in(frame)
    matches = frame.group_by("configuration", maintain_order=True).len()["len"]
    levels: dict[str, tuple[str, ...]] = {}
    constant, references, columns = {}, {}, {}
    for term in terms:
        values = [term.read(parameters[term.parameter]) for parameters in configurations.values()]
        distinct = sorted(set(values))
        if len(distinct) == 1:
            constant[term.name] = level(distinct[0])
            continue
        levels[term.name] = tuple(map(level, distinct))
        default = term.default
        if default not in values:  # the level with most matches, and the smallest of several
            tally: Counter[Any] = Counter()
            for value, number in zip(values, matches, strict=True):
                tally[value] += number
            default = max(distinct, key=tally.__getitem__)
        references[term.name] = level(default)
        columns[term.name] = list(map(level, values))
    first: dict[str, str] = {}
    shared = [
        first.setdefault(json.dumps(parameters | {NAMES: None}), digest)
        for digest, parameters in configurations.items()
    ]
    by_digest = pl.DataFrame({"digest": list(configurations), "configuration": shared})
    by_digest = by_digest.with_columns(
        pl.Series(name, values, dtype=pl.Enum(levels[name])) for name, values in columns.items()
    )
    players = [pl.col(f"player_{role}").alias(title) for role, title in ROLES.items()]
    named = frame.rename({"configuration": "digest"}).with_columns(players)
    joined = named.join(by_digest, on="digest", maintain_order="left", validate="m:1")
    for title in ROLES.values():
        players_of_role = set(joined[title])
        references[title] = next(label for label in ranking if label in players_of_role)
    controlled = {NAMES, *(term.parameter for term in terms)}
    uncontrolled = tuple(name for name in varying(configurations) if name not in controlled)
    joined, bounds = with_bounds(joined, game)
    return FamilyMatches(game, joined, levels, constant, references, uncontrolled, bounds, terms)
