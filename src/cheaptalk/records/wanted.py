"""Which matches of a study somebody asks for, as a condition on the store."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import sqlalchemy as sa

from cheaptalk.records import schema
from cheaptalk.records.reading import members_of, people_of

matches, configurations = schema.matches, schema.configurations
Condition: TypeAlias = sa.ColumnElement[bool]


@dataclass(frozen=True)
class Wanted:
    """Which matches of a study are asked for; what is not set is not asked.

    Attributes:
        game: the game's name.
        places: the game's places in the study, with their roles.
        status: their status.
        player: the label of a player in any place.
        players: labels by place, or by role: of a player in any place of the role.
        kind: matches with an answer of this kind by anyone.
        kinds: kinds by place or role: matches with such an answer there.
        without: a place that they do not have.
        parameters: words that must all stand in the parameters, written ``name=value``.
        says: what somebody says in a message, in small or capital letters.
        configurations: digests of configurations, any of which will do; see
            :func:`.configuration_digest`.
    """

    game: str
    places: Mapping[str, str]
    status: str | None = None
    player: str | None = None
    players: Mapping[str, str] = field(default_factory=dict)
    kind: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    without: str | None = None
    parameters: str | None = None
    says: str | None = None
    configurations: tuple[str, ...] = ()


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Parameters as they are searched: ``name=value``, one after the other."""
    return " ".join(f"{name}={json.dumps(value)}" for name, value in parameters.items())


def condition(connection: sa.Connection, study: str, wanted: Wanted) -> Condition:
    """What picks the wanted matches of a study out."""
    people = people_of(connection, study)

    def at(name: str) -> list[str]:
        """The places that a name stands for: a place's own, or its role's."""
        return [place for place, role in wanted.places.items() if name in (place, role)]

    terms: list[Condition] = [
        matches.c.number.in_(members_of(study)),
        matches.c.configuration_id.in_(_configurations(connection, wanted)),
        *(_seated(people, at(name), label) for name, label in wanted.players.items()),
        *(_gave(at(name), kind) for name, kind in wanted.kinds.items()),
    ]
    if wanted.status:
        terms.append(matches.c.status == wanted.status)
    if wanted.player:
        terms.append(_seated(people, wanted.places, wanted.player))
    if wanted.kind:
        terms.append(_gave(wanted.places, wanted.kind))
    if wanted.without:
        terms.append(matches.c.seats[wanted.without].as_integer().is_(None))
    return sa.and_(*terms)


def _seated(
    people: Mapping[int, Mapping[str, Any]], places: Iterable[str], label: str
) -> Condition:
    """Whether somebody of this label sits in one of these places."""
    who = [number for number, player in people.items() if player["label"] == label]
    seats = [matches.c.seats[place].as_integer().in_(who) for place in places]
    return sa.or_(sa.false(), *seats)


def _gave(places: Iterable[str], kind: str) -> Condition:
    """Whether an answer in one of these places was of this kind."""
    gave = [matches.c.kinds[(place, kind)].as_integer() > 0 for place in places]
    return sa.or_(sa.false(), *gave)


def _configurations(connection: sa.Connection, wanted: Wanted) -> list[int]:
    """The configurations of a game that are asked for, with all words in their parameters."""
    query = sa.select(configurations.c.id, configurations.c.parameters).where(
        configurations.c.game == wanted.game
    )
    if wanted.configurations:
        query = query.where(configurations.c.digest.in_(wanted.configurations))
    words = (wanted.parameters or "").casefold().split()
    found = []
    for number, parameters in connection.execute(query):
        text = parameters_text(parameters).casefold()
        if all(word in text for word in words):
            found.append(number)
    return found
