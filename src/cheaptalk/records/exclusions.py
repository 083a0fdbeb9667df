"""Matches with invalid answers: a study's policy for them, and replacement matches."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import sqlalchemy as sa
from pydantic import Field, model_serializer

from cheaptalk.records.record import MatchRecord, Status
from cheaptalk.records.store import schema
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.reader import members_of, specs_of
from cheaptalk.records.store.store import Store, set_aside
from cheaptalk.rules import Result, Value, counted, get_game

Policy: TypeAlias = Literal["keep", "drop", "replace"]
"""A policy for matches with invalid answers.

``keep``: the game's forfeit rule determines the payoffs. ``drop``: the match is recorded and
counted, but not scored. ``replace``: the match is not scored, and is played again on a new
instance.
"""


class Unanswered(Value):
    """A study's policy for each kind of invalid answer.

    A match with several kinds of invalid answers follows the strictest policy: ``replace`` before
    ``drop`` before ``keep``. By default matches are kept, except those that a participant left and
    those in which a program replaced a participant, because these don't show how people play.

    Attributes:
        max_replacements: the maximum number of replacement matches for one match.

    >>> policies = Unanswered(refused="replace", truncated="drop")
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
    max_replacements: Annotated[int, Field(ge=1, le=20)] = 3

    @model_serializer
    def written(self) -> dict[str, Any]:
        """The policies that are explicitly set, in the format of study files."""
        return {name: value for name, value in self if name in self.model_fields_set}

    @property
    def by_kind(self) -> dict[str, Policy]:
        return {name: value for name, value in self if name != "max_replacements"}

    @property
    def replace(self) -> bool:
        """Whether the policies allow replacement matches."""
        return "replace" in self.by_kind.values()

    @property
    def line(self) -> str:
        """Description of all policies for invalid answers in one line.

        >>> Unanswered(refused="replace", left="keep", max_replacements=2).line
        'refused replaced (at most 2 times), left kept, all others kept (except stood in)'
        """
        defaults = Unanswered().by_kind
        times = "once" if self.max_replacements == 1 else counted(self.max_replacements, "time")
        words = {"keep": "kept", "drop": "dropped", "replace": f"replaced (at most {times})"}
        parts = [
            f"{kind.replace('_', ' ')} {words[policy]}"
            for kind, policy in self.by_kind.items()
            if policy != defaults[kind]
        ]
        dropped = [
            kind.replace("_", " ")
            for kind, policy in self.by_kind.items()
            if policy == defaults[kind] == "drop"
        ]
        exceptions = f" (except {', '.join(dropped)})" if dropped else ""
        others = "all others kept" if parts else "kept by default"
        return ", ".join([*parts, others + exceptions])

    def of(self, kinds: Mapping[str, Mapping[str, int]]) -> Policy:
        """Return the policy for a match, given the counts of its answers by seat and kind."""
        present = {kind for counts in kinds.values() for kind, count in counts.items() if count}
        policies = {policy for kind, policy in self.by_kind.items() if kind in present}
        return next((policy for policy in ("replace", "drop") if policy in policies), "keep")

    def why_dropped(self, kinds: Mapping[str, Mapping[str, int]]) -> str | None:
        """Return the invalid answers that exclude a match from metrics; None if it is not excluded.

        >>> Unanswered(refused="drop").why_dropped({"alice": {"ok": 3}, "bob": {"refused": 1}})
        'bob refused'
        """
        policies = self.by_kind
        reasons = [
            f"{seat} {kind.replace('_', ' ')}"
            for seat, counts in kinds.items()
            for kind, count in counts.items()
            if count and policies.get(kind, "keep") != "keep"
        ]
        return ", ".join(reasons) or None


def policies_of(spec: Mapping[str, Any]) -> Unanswered:
    """Return the policies for invalid answers in a study's stored definition."""
    return Unanswered.model_validate(spec.get("unanswered") or {})


matches = schema.matches
REPLACEMENT_SUFFIX = r"\+(\d+)$"
"""End of a replacement instance's key: ``+`` and the number of the replacement."""


class Excluded(NamedTuple):
    """Numbers of excluded matches and of replacement matches in a study.

    Attributes:
        dropped: ended matches that are excluded from metrics.
        replaced: replacement matches that have started.
    """

    dropped: int = 0
    replaced: int = 0


@reads
def count_excluded(store: StoreLike, study: StudyLike) -> Excluded:
    """Count the excluded matches and the replacement matches of a study."""
    assert isinstance(store, Store)
    assert isinstance(study, str)
    policies = policies_of(store.study(study, counted=False).spec)
    specs = specs_of(store, study).values()
    if all("strategy" in spec for of_player in specs for spec in of_player):
        return Excluded()  # answers of scripted players are valid
    dropping = [kind for kind, policy in policies.by_kind.items() if policy != "keep"]
    kinds_text = sa.cast(matches.c.kinds, sa.String)
    query = sa.select(matches.c.instance, matches.c.kinds).where(
        matches.c.number.in_(members_of(study)),
        sa.or_(
            matches.c.instance.contains("+"),
            *(kinds_text.contains(f'"{kind}"') for kind in dropping),
        ),
    )
    rows = store.rows(query)
    return Excluded(
        sum(policies.of(kinds or {}) != "keep" for _, kinds in rows),
        sum(replaced_instance(instance) is not None for instance, _ in rows),
    )


@reads
def predecessors(store: StoreLike, study: StudyLike) -> dict[str, str]:
    """Map each replacement match of a study to the match that it replaces, by match id."""
    assert isinstance(store, Store)
    assert isinstance(study, str)
    query = sa.select(
        matches.c.id,
        matches.c.instance,
        matches.c.configuration_id,
        matches.c.repeat,
        schema.SEATS_TEXT,
    ).where(matches.c.number.in_(members_of(study, past=True)))
    ids = {tuple(key): id_ for id_, *key in store.rows(query)}
    replaced = {id_: (replaced_instance(instance), *rest) for (instance, *rest), id_ in ids.items()}
    return {id_: ids[key] for id_, key in replaced.items() if key in ids}


class Stand(NamedTuple):
    """A match's status within a study, such as superseded or excluded from metrics.

    Attributes:
        study: the study's name.
        dropped: whether the study's policies exclude the match from metrics.
        dropped_because: the invalid answers that exclude the match; None if it is kept.
        replaces: the match that this replacement match replaces; None for other matches.
        planned: whether the match is in the study's current plan; otherwise it is superseded.
    """

    study: str
    dropped: bool
    dropped_because: str | None
    replaces: str | None
    planned: bool


class Standing:
    """The status of each match within a study, as determined by the study's policies."""

    def __init__(self, store: Store, study: str) -> None:
        self.store = store
        self.study = study
        self.policies = policies_of(store.study(study, counted=False).spec)
        self._dropping = {
            kind for kind, policy in self.policies.by_kind.items() if policy != "keep"
        }

    @cached_property
    def _before(self) -> dict[str, str]:
        return predecessors(self.store, self.study)

    @cached_property
    def _aside(self) -> frozenset[str]:
        return set_aside(self.store, self.study)

    def of(self, record: MatchRecord) -> Stand:
        replaces = replaced_instance(record.instance_key) is not None
        predecessor = self._before.get(record.id) if replaces else None
        reason = self.policies.why_dropped(record.kinds)
        planned = record.id not in self._aside
        return Stand(self.study, reason is not None, reason, predecessor, planned)

    def drops(self, kinds: Mapping[str, Mapping[str, int]]) -> bool:
        """Return whether matches with these counts of answers, by seat and kind, are excluded."""
        return any(
            count and kind in self._dropping
            for counts in kinds.values()
            for kind, count in counts.items()
        )

    def result(self, record: MatchRecord) -> Result | None:
        """Return the result for metrics of a match that finished and was not excluded.

        It is None for other matches, and for matches of another version of the rules.
        """
        is_scored = record.status is Status.FINISHED and not self.drops(record.kinds)
        is_current = record.version == get_game(record.game).rules.version
        return record.result() if is_current and is_scored else None


def replaced_instance(key: str) -> str | None:
    """Return the key of the instance that a replacement instance replaces; None for other keys.

    >>> replaced_instance("3+2"), replaced_instance("3+1"), replaced_instance("3")
    ('3+1', '3', None)
    """
    match = re.search(REPLACEMENT_SUFFIX, key)
    if match is None:
        return None
    number = int(match[1])
    original = key[: match.start()]
    return f"{original}+{number - 1}" if number > 1 else original
