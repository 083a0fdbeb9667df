"""Pooled studies: the matches of several studies, possibly of several stores, as one study.

Populations that play in different studies, such as people, models and scripts, are thereby
compared as the players of one study. Two studies with the same seed share the instances of each
configuration that both contain.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk import __version__
from cheaptalk.records.copies.archives import rows_of
from cheaptalk.records.copies.copying import TABLES, count, filling, pages
from cheaptalk.records.identity import roster_digest, study_digest
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.lookup import StoreLike
from cheaptalk.records.store.reader import StudySummary, specs_of
from cheaptalk.records.store.store import Store

POPULATION = "population"
"""The factor that distinguishes people, models, learned policies and scripts."""
STUDY = 1
"""Id of the pooled study, the only study of its store."""
OTHER_STUDY = 0
"""Id that replaces those of all other studies, in calls that they paid for."""
LEFT_OUT = ("studies", "rooms", "recruitments")
"""Tables of which no rows are copied."""
IN_ORDER = sorted(TABLES, key=lambda table: table is schema.calls)
"""Tables, each after the tables that it references; calls refer to batches without a foreign key.
"""
Definition = Mapping[str, Any]
"""A player's entry in the study's definition or, if it was imported, its recorded settings."""


class Source(NamedTuple):
    """A study to pool, and the store that contains it."""

    store: StoreLike
    study: str


class PooledStudy(NamedTuple):
    """An opened source.

    Attributes:
        number: the study's id in its store.
        players: the definition of each player by label.
        labels: the label in the pooled study by label.
    """

    store: Store
    number: int
    summary: StudySummary
    players: Mapping[str, Definition]
    labels: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.summary.name

    @property
    def planned(self) -> int:
        return self.summary.planned or sum(self.summary.counts.values())


def pool(
    sources: Sequence[Source | tuple[StoreLike, str]],
    target: StoreLike,
    name: str | None = None,
    progress: Callable[[int, int], None] = lambda _count, _total: None,
) -> str:
    """Pool studies in a new store, completely or not at all; the sources are not changed.

    A match that several of the studies contain counts once. Each player's level of the factor
    ``population`` is ``people``, ``models``, ``policies`` or ``scripts``. If two studies define a
    label differently, the later study's player is labelled ``LABEL (STUDY)``.

    >>> study = ct.Study(name="s", games=[{"game": "negotiation"}], players={"luck": "random"})
    >>> again = study.model_copy(update={"name": "t", "seed": 1})
    >>> for each in (study, again):
    ...     _ = ct.run(each, "s.sqlite")
    >>> ct.records.pool([("s.sqlite", "s"), ("s.sqlite", "t")], "both.sqlite")
    's+t'

    Args:
        sources: the studies, each with the store that contains it.
        target: the empty store to fill; created if missing.
        name: the name of the pooled study; by default, the names joined by ``+``.
        progress: called with the number of copied rows and the total.

    Returns:
        The name of the pooled study.

    Raises:
        StoreError: a study is missing, the target is not empty, or the studies treat invalid
            answers differently or pay in different currencies.
    """
    with ExitStack() as stack:
        studies: list[PooledStudy] = []
        for location, study in dict.fromkeys(Source(*source) for source in sources):
            store = stack.enter_context(Store.opened(location))
            studies.append(_opened(store, study, studies))
        _check_alike(studies)
        title = name or "+".join(dict.fromkeys(study.name for study in studies))
        new = stack.enter_context(Store.opened(target, create=True))
        with filling(new) as writing:
            writing.execute(sa.insert(schema.studies), _study_row(title, studies))
            copies = [
                RowCopier(stack.enter_context(study.store.reading()), writing, study)
                for study in studies
            ]
            copied, total = 0, sum(copy.count() for copy in copies)
            addresses: set[object] = set()
            for source, copy in zip(studies, copies, strict=True):
                address = source.store.backend.address
                for rows in copy.rows(adding=address in addresses):
                    copied += rows
                    progress(copied, total)
                addresses.add(address)
        return title


def _opened(store: Store, name: str, earlier: Sequence[PooledStudy]) -> PooledStudy:
    """Read a study's definition; players that differ from earlier ones get new labels."""
    summary = store.study(name)
    entries = summary.spec.get("players") or {}
    recorded = {label: specs[0] for label, specs in specs_of(store, name).items()}
    players = {label: entries.get(label, settings) for label, settings in recorded.items()}
    known = {label: entry for study in reversed(earlier) for label, entry in study.players.items()}
    labels = {
        label: label if known.get(label, entry) == entry else f"{label} ({name})"
        for label, entry in players.items()
    }
    return PooledStudy(store, store.study_id(name), summary, players, labels)


def _check_alike(studies: Sequence[PooledStudy]) -> None:
    """Check that matches are scored, and people are paid, in the same way in all studies."""
    for what, read in (
        ("treat invalid answers differently (unanswered)", _policies),
        ("pay participants in different currencies", _currency),
    ):
        values = {study.name: read(study.summary.spec) for study in studies}
        first, *others = [name for name, value in values.items() if value is not None] or [""]
        for other in others:
            if values[other] != values[first]:
                raise StoreError(f"{first} and {other} cannot be pooled: they {what}")


def _policies(spec: Mapping[str, Any]) -> Mapping[str, str]:
    return spec.get("unanswered") or {}


def _currency(spec: Mapping[str, Any]) -> str | None:
    people = spec.get("people")
    return (people.get("pay") or {}).get("currency", "USD") if people else None


def _study_row(name: str, studies: Sequence[PooledStudy]) -> dict[str, Any]:
    spec = _spec(studies)
    return {
        "id": STUDY,
        "name": name,
        "spec": spec,
        "package": __version__,
        "created": max(study.summary.created for study in studies),
        "planned": sum(study.planned for study in studies),
        "digest": study_digest(name, spec),
    }


def _spec(studies: Sequence[PooledStudy]) -> dict[str, Any]:
    """Return the definition of the pooled study, which contains those of its sources."""
    specs = [study.summary.spec for study in studies]
    players: dict[str, Definition] = {}
    factors: dict[str, dict[str, str]] = {}
    for study, spec in zip(studies, specs, strict=True):
        for label, new_label in study.labels.items():
            entry = players[new_label] = study.players[label]
            levels = (spec.get("factors") or {}).get(label, {})
            factors[new_label] = {POPULATION: population(entry), **levels}
    pooled: dict[str, Any] = {
        "description": " ".join(dict.fromkeys(spec.get("description") or "" for spec in specs)),
        "pooled": [
            {"study": study.name, **spec} for study, spec in zip(studies, specs, strict=True)
        ],
        "players": players,
        "factors": factors,
        "unanswered": _policies(specs[0]),
    }
    systems = {spec.get("imported") for spec in specs}
    if len(systems) == 1 and None not in systems:
        pooled["imported"] = systems.pop()
    protocols = [spec["people"] for spec in specs if spec.get("people")]
    return pooled | ({"people": protocols[0]} if protocols else {})


def population(entry: Definition) -> str:
    """Return the population of a player.

    >>> population({"model": "openai/gpt-4o"}), population({"strategy": "random"})
    ('models', 'scripts')
    """
    kinds = {"person": "people", "model": "models", "policy": "policies", "policies": "policies"}
    return next((name for kind, name in kinds.items() if entry.get(kind)), "scripts")


class RowCopier:
    """Copies the rows of a study, and gives them ids that are free in the new store.

    Rows that the new store already contains, such as a match of an earlier study, are not copied;
    copied rows that refer to them then refer to the existing rows.
    """

    def __init__(self, reading: sa.Connection, writing: sa.Connection, study: PooledStudy) -> None:
        self.reading, self.writing, self.study = reading, writing, study
        conditions = rows_of(reading, study.number)
        self.tables = {
            table: conditions[table.name]
            for table in IN_ORDER
            if table.name in conditions and table.name not in LEFT_OUT
        }
        self.shifts: dict[str, int] = {}
        """The difference between new and old ids, by table."""
        self.existing: dict[str, dict[int, int]] = {}
        """The ids in the new store of rows that it already contained, by table and old id."""

    def count(self) -> int:
        return sum(count(self.reading, table, where) for table, where in self.tables.items())

    def rows(self, *, adding: bool) -> Iterator[int]:
        """Copy all rows, and yield the number of rows of each step.

        With ``adding``, an earlier study is from the same store, so both studies paid for
        different calls of a match that both contain.
        """
        for table, where in self.tables.items():
            key, references = row_number(table), references_of(table)
            if key is not None:
                last = self.writing.scalar(sa.select(sa.func.coalesce(sa.func.max(key), 0)))
                self.shifts[table.name] = last or 0
            statement = insertion(table, adding=adding)
            for rows in pages(self.reading, table, where):
                known = self._find_existing(table, key, rows)
                new = [row for row in rows if key is None or row[key.name] not in known]
                for row in new:
                    self._translate(table, references, row)
                if new:
                    self.writing.execute(statement, new)
                yield len(rows)

    def _find_existing(
        self, table: sa.Table, key: Any, rows: Sequence[Mapping[str, Any]]
    ) -> dict[int, int]:
        """Return the ids in the new store of rows that it already contains, by old id."""
        unique = next((column for column in table.c if column.unique), None)
        if key is None or unique is None:
            return {}
        ids = {row[unique.name]: row[key.name] for row in rows}
        query = sa.select(unique, key).where(unique.in_(ids))
        known = {ids[value]: id_ for value, id_ in self.writing.execute(query)}
        self.existing.setdefault(table.name, {}).update(known)
        return known

    def _translate(
        self, table: sa.Table, references: Mapping[str, str], row: dict[str, Any]
    ) -> None:
        """Replace the ids in a row by those in the new store."""
        for column, target in references.items():
            value = row[column]
            if value is not None:
                row[column] = self._id(target, value)
        if table is schema.matches:
            row["seats"] = {seat: self._id("players", id_) for seat, id_ in row["seats"].items()}
        elif table is schema.rosters:
            row["label"] = self.study.labels[row["label"]]
            row["digest"] = roster_digest(STUDY, row["player_id"], row["label"])

    def _id(self, table: str, id_: int) -> int:
        if table == "studies":
            return STUDY if id_ == self.study.number else OTHER_STUDY
        return self.existing.get(table, {}).get(id_, id_ + self.shifts[table])


def row_number(table: sa.Table) -> Any:
    """Return the column with a table's own row numbers, or None."""
    column, *others = table.primary_key.columns
    is_number = isinstance(column.type, sa.Integer) and not column.foreign_keys and not others
    return column if is_number else None


def references_of(table: sa.Table) -> dict[str, str]:
    """Return the columns with row numbers, each with the table that it refers to."""
    own = row_number(table)
    references = {} if own is None else {own.name: table.name}
    for column in table.c:
        for key in column.foreign_keys:
            if key.column is row_number(key.column.table):
                references[column.name] = key.column.table.name
    if "study_id" in table.c:  # not a foreign key in all tables
        references["study_id"] = "studies"
    return references | ({"batch": "batches"} if table is schema.calls else {})


def insertion(table: sa.Table, *, adding: bool) -> Any:
    """Return a statement that inserts new rows; with ``adding``, purchases of a match add up."""
    new = schema.insert(table)
    if table is not schema.purchases or not adding:
        return new.on_conflict_do_nothing()
    keys = [column.name for column in table.primary_key]
    sums = {c.name: c + new.excluded[c.name] for c in table.c if c.name not in keys}
    return new.on_conflict_do_update(index_elements=keys, set_=sums)
