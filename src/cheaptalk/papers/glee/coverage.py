"""What people played, beside what GLEE's human study plans (appendix E.2, Table 7)."""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import parameters_in, places_in
from cheaptalk.papers.glee.families import FAMILIES as GAMES
from cheaptalk.papers.glee.families import ROLES, people
from cheaptalk.papers.glee.human_study import FAMILIES, SEED, drawn, variants
from cheaptalk.papers.glee.paper_tables import PAPER
from cheaptalk.papers.printed import as_printed
from cheaptalk.records.encoding import standard_json
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Lacking
from cheaptalk.reports.recipes.people import with_people
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import Chance, game_box
from cheaptalk.text import capital

TYPES = ("main", "variant", "random", "other")
"""The kinds of configurations of Table 7, and what is none of them."""
Key = tuple[str, str]
"""A configuration: its game, and those of its parameters that the human study sets."""


def has_people_at_tables(evidence: Evidence) -> bool:
    """Whether people sit in the matches of a study, or take part in it."""
    return with_people(evidence) or bool(evidence.once(people))


class Planned(NamedTuple):
    """A configuration of the human study: its type, and how many games each role is to have."""

    type: str
    games: int
    roles: tuple[bool, bool]


def configurations(evidence: Evidence) -> Iterator[ReportTable]:
    """How many configurations of each type people played, and how many games of each, beside what
    the human study plans. A configuration counts once for each role that people take in it.

    Types are those of the preset glee-human: its main configurations, all that differ from one of
    them in one parameter, and those that it draws; what else people played is of the type *other*.
    """
    collected = evidence.once(by_configuration)
    if collected.is_empty():
        raise Lacking("no match with a person in it has finished")
    rows = [
        {"family": capital(game), "game": game, "type": type_}
        | _counts(collected.filter(game=game, type=type_), game, type_)
        for game in GAMES
        for type_ in TYPES
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None).filter(
        (pl.col("type") != TYPES[-1]) | (pl.col("played") > 0)
    )
    yield ReportTable(
        "people-configurations", "What people played", frame.drop("game"),
        (
            Header("family", "Family"), Header("type", "Type"),
            Header("played", "Played", "configurations", 0),
            Header("planned", "Planned", "configurations", 0),
            Header("least", "Games of each, at least", "", 0),
            Header("games_planned", "Planned of each", "games", 0),
            Header("games", "Games in all", "", 0),
        ),
    )  # fmt: skip
    yield as_printed(evidence, PAPER, _table_7(frame))


def _table_7(frame: pl.DataFrame) -> ReportTable:
    """The same in the paper's form: families side by side."""
    types = pl.DataFrame({"type": TYPES[:-1]})
    for game in GAMES:
        own = frame.filter(game=game).select(
            "type", pl.col("played").alias(f"{game} configurations"),
            pl.col("least").alias(f"{game} games"),
        )  # fmt: skip
        types = types.join(own, on="type", how="left", maintain_order="left", validate="1:1")
    return ReportTable(
        "table-7", "Configurations that people played", types,
        (
            Header("type", "Type"),
            *(Header(f"{game} {key}", f"# {title}", "", 0, group=capital(game))
              for game in GAMES for key, title in (("configurations", "config."),
                                                   ("games", "games"))),
        ),
        "Configurations count for each role that people take; games are those of the configuration "
        "and role with the fewest.", printed="Table 7",
    )  # fmt: skip


def by_configuration(evidence: Evidence) -> pl.DataFrame:
    """The games of people by configuration and role: ``game``, ``type``, ``role`` and ``games``."""
    labels, plan = list(evidence.once(people)), planned()
    rows = []
    for game in GAMES:
        scored = evidence.scored(game)
        known = parameters_in(scored) if not scored.is_empty() else {}
        keys = {digest: _key(game, parameters) for digest, parameters in known.items()}
        for role in [place for place in places_in(scored) if place in ROLES]:
            counts = scored.filter(pl.col(f"player.{role}").is_in(labels)).group_by(
                "configuration", maintain_order=True
            )
            tally: dict[Key, int] = {}
            for digest, number in counts.len().iter_rows():
                tally[keys[digest]] = tally.get(keys[digest], 0) + number
            for key, number in sorted(tally.items()):
                one = plan.get(key)
                is_planned = one is not None and one.roles[[*ROLES].index(role)]
                rows.append((game, one.type if one and is_planned else TYPES[-1], role, number))
    schema = {"game": pl.String, "type": pl.String, "role": pl.String, "games": pl.Int64}
    return pl.DataFrame(rows, schema, orient="row")


def _counts(collected: pl.DataFrame, game: str, type_: str) -> dict[str, int | None]:
    """Numbers of a family and type: what is planned has 0 games where nobody played it."""
    wanted = [one for (of, _), one in planned().items() if of == game and one.type == type_]
    size = sum(sum(one.roles) for one in wanted)
    games = collected["games"].to_list()
    missing = [0] if len(games) < size else []
    return {
        "played": len(games), "planned": size or None,
        "least": min([*games, *missing], default=None),
        "games_planned": wanted[0].games if wanted else None, "games": sum(games),
    }  # fmt: skip


@cache
def planned() -> dict[Key, Planned]:
    """The configurations of the human study, by game and parameters."""
    found: dict[Key, Planned] = {}
    for family in FAMILIES:
        groups = ([family.main], variants(family), drawn(family, Chance(str(SEED))))
        for type_, cases, games in zip(TYPES, groups, family.games, strict=False):
            for case in cases:
                rules = game_box(family.game).rules.model_validate(case)
                key = _key(family.game, rules.model_dump(mode="json"))
                found[key] = Planned(type_, games, family.roles)
    return found


def _key(game: str, parameters: dict[str, Any]) -> Key:
    """What tells a configuration apart in the human study, whatever players are called."""
    family = next(one for one in FAMILIES if one.game == game)
    return game, standard_json({name: parameters.get(name) for name in sorted(family.main)})
