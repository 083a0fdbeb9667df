"""Exclusions: matches in which a player gave no valid answer, what a study does with them, and the
matches dealt afresh in their place.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import sqlalchemy as sa
from pydantic import Field, model_serializer

from cheaptalk.records.record import MatchRecord
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader, members_of
from cheaptalk.records.store.store import set_aside
from cheaptalk.rules import Value, counted

Policy: TypeAlias = Literal["keep", "drop", "redeal"]
"""``keep``: the game's own rule for a seat that fails to answer says what the match is worth.
``drop``: the match is recorded and counted, and no part of any score. ``redeal``: dropped, and
played once more on a fresh deal."""


class Unanswered(Value):
    """A study's policy for each kind of answer that is none.

    A match with answers of several kinds follows the strictest policy: ``redeal`` before ``drop``
    before ``keep``.

    By default matches are kept, but for those that a person left and those in which a program stood
    in for one: what became of these is not how people play.

    Attributes:
        redeals: how often one match is played on a fresh deal before its last one is dropped too.

    >>> policies = Unanswered(refused="redeal", truncated="drop")
    >>> policies.of({"alice": {"ok": 3, "truncated": 1}, "bob": {"ok": 4}})
    'drop'
    """

    illegal: Policy = "keep"
    unparsable: Policy = "keep"
    truncated: Policy = "keep"
    refused: Policy = "keep"
    filtered: Policy = "keep"
    timed_out: Policy = "keep"
    left: Policy = "drop"
    stood_in: Policy = "drop"
    redeals: Annotated[int, Field(ge=1, le=20)] = 3

    @model_serializer
    def written(self) -> dict[str, Any]:
        """What is set, as it is written in a study file."""
        return {name: getattr(self, name) for name in type(self).model_fields
                if name in self.model_fields_set}  # fmt: skip

    @property
    def by_kind(self) -> dict[str, Policy]:
        """The policy for each kind."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "redeals"}

    @property
    def redeal(self) -> bool:
        """Whether any match may be played on a fresh deal."""
        return "redeal" in self.by_kind.values()

    @property
    def line(self) -> str:
        """The policy in one line.

        >>> Unanswered(refused="redeal", timed_out="drop", redeals=2).line
        'refused redealt (at most 2 times), timed out dropped, all others as by default'
        """
        usual = Unanswered().by_kind
        odd = {kind: policy for kind, policy in self.by_kind.items() if policy != usual[kind]}
        most = f" (at most {'once' if self.redeals == 1 else counted(self.redeals, 'time')})"
        done = {"keep": "kept", "drop": "dropped", "redeal": f"redealt{most}"}
        parts = [f"{kind.replace('_', ' ')} {done[policy]}" for kind, policy in odd.items()]
        return ", ".join([*parts, "all others as by default" if odd else "as by default"])

    def of(self, kinds: Mapping[str, Mapping[str, int]]) -> Policy:
        """The policy for a match.

        Args:
            kinds: how many answers were of each kind, by place.
        """
        given = {kind for counts in kinds.values() for kind, count in counts.items() if count}
        policies = {policy for kind, policy in self.by_kind.items() if kind in given}
        return next((one for one in ("redeal", "drop") if one in policies), "keep")

    def why_dropped(self, kinds: Mapping[str, Mapping[str, int]]) -> str | None:
        """Why a match is no part of any measure: who gave which answers; None where it is kept.

        >>> Unanswered(refused="drop").why_dropped({"alice": {"ok": 3}, "bob": {"refused": 1}})
        'bob refused'
        """
        policies = self.by_kind
        found = [
            f"{place} {kind.replace('_', ' ')}"
            for place, counts in kinds.items()
            for kind, count in counts.items()
            if count and policies.get(kind, "keep") != "keep"
        ]
        return ", ".join(found) or None


def policies_of(spec: Mapping[str, Any]) -> Unanswered:
    """The policies of a study as the store keeps it."""
    return Unanswered.model_validate(spec.get("unanswered") or {})


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
    if _all_scripted(store, study):
        return Excluded()
    dropping = [kind for kind, policy in policies.by_kind.items() if policy != "keep"]
    given = sa.cast(matches.c.kinds, sa.String)
    query = sa.select(matches.c.deal, matches.c.kinds).where(
        matches.c.number.in_(members_of(study)),
        sa.or_(matches.c.deal.contains("+"), *(given.contains(f'"{kind}"') for kind in dropping)),
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    return Excluded(
        sum(policies.of(kinds or {}) != "keep" for _, kinds in rows),
        sum(deal_before(deal) is not None for deal, _ in rows),
    )


def _all_scripted(store: StoreReader, study: str) -> bool:
    """Whether nobody plays in a study whose answer may be none: one look at its players."""
    players, rosters, studies = schema.players, schema.rosters, schema.studies
    query = (
        sa.select(players.c.spec)
        .join(rosters, rosters.c.player_id == players.c.id)
        .join(studies, studies.c.id == rosters.c.study_id)
        .where(studies.c.name == study)
    )
    with store.reading() as connection:
        return all("strategy" in spec for spec in connection.scalars(query))


def predecessors(store: StoreReader, study: str) -> dict[str, str]:
    """The matches of a study that were dealt afresh, each with the one in whose place it was."""
    query = sa.select(
        matches.c.id, matches.c.deal, matches.c.configuration_id, matches.c.repeat,
        schema.SEATS_TEXT,
    ).where(matches.c.number.in_(members_of(study, past=True)))  # fmt: skip
    with store.reading() as connection:
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
