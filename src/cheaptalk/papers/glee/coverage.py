"""Configurations played by people, compared with GLEE's human study (appendix E.2, Table 7)."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import parameters_in, places_in
from cheaptalk.papers.glee.families import FAMILIES as GAMES
from cheaptalk.papers.glee.families import ROLES, people, table
from cheaptalk.papers.glee.human_study import FAMILIES, SEED, random_configurations, variants
from cheaptalk.records.encoding import standard_json
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import NoData
from cheaptalk.reports.recipes.people import with_people
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import Chance, get_game
from cheaptalk.statistics.columns import with_matching
from cheaptalk.text import capital

TYPES = ("main", "variant", "random", "other")
"""The types of configurations in Table 7, and "other"."""
Key = tuple[str, str]
"""A game, and the parameters of a configuration that the human study sets, as JSON."""


def has_people(evidence: Evidence) -> bool:
    """Return whether a study has participants, or imported matches of people."""
    return with_people(evidence) or bool(evidence.once(people))


class Planned(NamedTuple):
    """A configuration in the human study's plan, with its number of games and people's roles."""

    type: str
    games: int
    roles: list[bool]


def configurations(evidence: Evidence) -> Iterator[ReportTable]:
    """Compare the configurations and games that people played with the plan of the human study.
    A configuration counts once for each role of people.

    The types are those of the preset glee-human: main configurations, variants that differ from a
    main configuration in one parameter, and random configurations. All other configurations have
    the type *other*.
    """
    collected = evidence.once(by_configuration)
    if collected.is_empty():
        raise NoData("no match with a person has finished")
    rows = [
        {"family": capital(game), "game": game, "type": type_}
        | _counts(collected.filter(game=game, type=type_), game, type_)
        for game in GAMES
        for type_ in TYPES
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None).filter(
        (pl.col("type") != TYPES[-1]) | (pl.col("played") > 0)
    )
    yield table(evidence, "people-configurations", frame.drop("game"))
    headers, types = [], pl.DataFrame({"type": TYPES[:-1]})
    for game in GAMES:
        keys = {f"{game} configurations": "played", f"{game} games": "least"}
        types = with_matching(types, frame.filter(game=game).select("type", **keys), "type")
        for key, title in zip(keys, ("# config.", "# games"), strict=True):
            headers.append(Header(key, title, "", 0, group=capital(game)))
    yield table(evidence, "table-7", types, columns={"games": headers})


def by_configuration(evidence: Evidence) -> pl.DataFrame:
    """Return the number of games with people by ``game``, ``type`` and ``role``."""
    labels, plan = list(evidence.once(people)), planned()
    rows = []
    for game in GAMES:
        scored = evidence.scored(game)
        if scored.is_empty():
            continue
        configurations = parameters_in(scored)
        keys = {digest: _key(game, parameters) for digest, parameters in configurations.items()}
        for role in [seat for seat in places_in(scored) if seat in ROLES]:
            played = scored.filter(pl.col(f"player_{role}").is_in(labels))
            tally = Counter(map(keys.__getitem__, played["configuration"]))
            for key, number in sorted(tally.items()):
                entry = plan.get(key)
                is_planned = entry is not None and entry.roles[[*ROLES].index(role)]
                type_ = entry.type if entry and is_planned else TYPES[-1]
                rows.append((game, type_, role, number))
    schema = {"game": pl.String, "type": pl.String, "role": pl.String, "games": pl.Int64}
    return pl.DataFrame(rows, schema, orient="row")


def _counts(collected: pl.DataFrame, game: str, type_: str) -> dict[str, int | None]:
    entries = [
        entry for (name, _), entry in planned().items() if name == game and entry.type == type_
    ]
    size = sum(sum(entry.roles) for entry in entries)
    games = collected["games"].to_list()
    missing = [0] if len(games) < size else []
    return {
        "played": len(games),
        "planned": size or None,
        "least": min([*games, *missing], default=None),
        "games_planned": entries[0].games if entries else None,
        "games": sum(games),
    }


@cache
def planned() -> dict[Key, Planned]:
    """Return the configurations of the human study, by game and parameters."""
    plan: dict[Key, Planned] = {}
    for family in FAMILIES:
        groups = ([family.main], variants(family), random_configurations(family, Chance(str(SEED))))
        for type_, cases, games in zip(TYPES, groups, family.games, strict=False):
            for case in cases:
                rules = get_game(family.game).rules.model_validate(case)
                key = _key(family.game, rules.model_dump(mode="json"))
                plan[key] = Planned(type_, games, family.roles)
    return plan


def _key(game: str, parameters: dict[str, Any]) -> Key:
    """Return a configuration's key, which contains only parameters that the human study sets."""
    family = next(each for each in FAMILIES if each.game == game)
    return game, standard_json({name: parameters.get(name) for name in sorted(family.main)})
