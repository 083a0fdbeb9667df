"""Matches that a study's policy drops from measures, and those dealt afresh in their place."""

import re
from functools import cached_property
from typing import NamedTuple

import sqlalchemy as sa

from cheaptalk.records import schema
from cheaptalk.records.errors import clear_errors
from cheaptalk.records.membership import set_aside
from cheaptalk.records.policies import policies_of
from cheaptalk.records.reading import StoreReader, members_of
from cheaptalk.records.record import MatchRecord

matches = schema.matches
AFRESH = r"\+(\d+)$"
"""How the key of a fresh deal ends: with a number, which counts the deals in one place."""


class Excluded(NamedTuple):
    """What a study's policy for matches without an answer has come to.

    Attributes:
        dropped: matches that ended and are no part of any measure.
        redealt: matches on a fresh deal, begun or ended, each in place of a dropped one.
    """

    dropped: int = 0
    redealt: int = 0


def excluded(store: StoreReader, study: str) -> Excluded:
    """How many matches of a study are dropped from measures, and how many were dealt afresh.

    Raises:
        StoreError: there is no such study.
    """
    policies = policies_of(store.study(study, counted=False).spec)
    dropping = [kind for kind, policy in policies.by_kind.items() if policy != "keep"]
    given = sa.cast(matches.c.kinds, sa.String)
    query = sa.select(matches.c.deal, matches.c.kinds).where(
        matches.c.number.in_(members_of(study)),
        sa.or_(matches.c.deal.contains("+"), *(given.contains(f'"{kind}"') for kind in dropping)),
    )
    with clear_errors(store.path), store.engine.connect() as connection:
        rows = connection.execute(query).all()
    return Excluded(
        sum(policies.of(kinds or {}) != "keep" for _, kinds in rows),
        sum(deal_before(deal) is not None for deal, _ in rows),
    )


def predecessors(store: StoreReader, study: str) -> dict[str, str]:
    """The matches of a study that were dealt afresh, each with the one in whose place it was."""
    query = sa.select(
        matches.c.id, matches.c.deal, matches.c.configuration_id, matches.c.repeat,
        sa.cast(matches.c.seats, sa.String),
    ).where(matches.c.number.in_(members_of(study, past=True)))  # fmt: skip
    with clear_errors(store.path), store.engine.connect() as connection:
        known = {tuple(place): id_ for id_, *place in connection.execute(query)}
    before = {id_: (deal_before(deal), *rest) for (deal, *rest), id_ in known.items()}
    return {id_: known[place] for id_, place in before.items() if place in known}


class Stand(NamedTuple):
    """How a match stands in a study.

    Attributes:
        study: the study's name.
        dropped: whether the study's policy makes it no part of any measure.
        dropped_because: who gave which answers that are none; None where it is kept.
        in_place_of: the match in whose place it was dealt afresh, if it was.
        planned: whether the study as it now stands has such a match; others are set aside.
    """

    study: str
    dropped: bool
    dropped_because: str | None
    in_place_of: str | None
    planned: bool


class Standing:
    """How the matches of a study stand in it.

    Raises:
        StoreError: there is no such study.
    """

    def __init__(self, store: StoreReader, study: str) -> None:
        self.store = store
        self.study = study
        self.policies = policies_of(store.study(study, counted=False).spec)

    @cached_property
    def _before(self) -> dict[str, str]:
        return predecessors(self.store, self.study)

    @cached_property
    def _aside(self) -> frozenset[str]:
        return set_aside(self.store, self.study)

    def of(self, record: MatchRecord) -> Stand:
        """How one of its matches stands."""
        before = self._before.get(record.id) if deal_before(record.deal_key) else None
        because = self.policies.why_dropped(record.kinds)
        planned = record.id not in self._aside
        return Stand(self.study, because is not None, because, before, planned)


def deal_before(key: str) -> str | None:
    """The key of the deal in whose place a fresh one was drawn; None of one that is no such.

    >>> deal_before("3+2"), deal_before("3+1"), deal_before("3")
    ('3+1', '3', None)
    """
    found = re.search(AFRESH, key)
    if found is None:
        return None
    number = int(found[1])
    first = key[: found.start()]
    return f"{first}+{number - 1}" if number > 1 else first
