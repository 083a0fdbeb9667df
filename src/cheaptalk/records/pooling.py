"""Pooling of studies: their matches, possibly from several stores, in one study of a new store.

Populations that play in different studies, such as people, models and scripts, are thereby
compared as the players of one study. Two studies with the same seed share the instances of each
configuration that both contain.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk import __version__
from cheaptalk.records.archives import rows_of
from cheaptalk.records.identity import roster_digest, study_digest
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.copying import TABLES, count, filling, pages
from cheaptalk.records.store.lookup import StoreLike
from cheaptalk.records.store.reader import StoreReader, specs_of
from cheaptalk.records.store.store import Store

POPULATION = "population"
"""The factor that distinguishes people, models, learned policies and scripts."""
STUDY = 1
"""Id of the pooled study, the only study of its store."""
ANOTHER = 0
"""Id that stands for all studies that are not pooled, in calls that they paid for."""
LEFT_OUT = ("studies", "rooms", "recruitments")
"""Tables without rows in the new store, besides the pooled study."""
REFERENCES = {("calls", "batch"): "batches"}
"""Columns with ids of other tables that are not foreign keys."""


class Source(NamedTuple):
    """A study to pool, and the store that contains it."""

    store: StoreLike
    study: str


class _Study(NamedTuple):
    """An opened source, and the labels of its players in the pooled study by their own label."""

    store: Store
    name: str
    number: int
    spec: Mapping[str, Any]
    planned: int
    labels: Mapping[str, str]


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
        opened = [
            (stack.enter_context(Store.opened(store)), study)
            for store, study in dict.fromkeys(Source(*source) for source in sources)
        ]
        studies = _labelled(opened)
        _check_alike(studies)
        title = name or "+".join(dict.fromkeys(study.name for study in studies))
        new = stack.enter_context(Store.opened(target, create=True))
        readings = [stack.enter_context(study.store.reading()) for study in studies]
        wheres = [
            _conditions(reading, study) for reading, study in zip(readings, studies, strict=True)
        ]
        total = sum(
            count(reading, table, where[table.name])
            for reading, where in zip(readings, wheres, strict=True)
            for table in TABLES
            if table.name in where
        )
        with filling(new) as writing:
            spec = _spec(studies)
            writing.execute(sa.insert(schema.studies), _study_row(title, spec, studies))
            copied = 0
            seen: set[object] = set()
            for reading, where, study in zip(readings, wheres, studies, strict=True):
                address = study.store.backend.address
                copy = _Copy(reading, writing, study, adding=address in seen)
                seen.add(address)
                for rows in copy.tables(where):
                    copied += rows
                    progress(copied, total)
        return title


def _labelled(opened: Sequence[tuple[Store, str]]) -> list[_Study]:
    """Read the studies' definitions, and give players that differ different labels."""
    studies: list[_Study] = []
    defined: dict[str, Mapping[str, Any]] = {}
    for store, name in opened:
        summary = store.study(name)
        labels = {}
        for label, definition in _definitions(store, name, summary.spec).items():
            shown = label
            if defined.setdefault(label, definition) != definition:
                shown = f"{label} ({name})"
            labels[label] = shown
        planned = summary.planned or sum(summary.counts.values())
        number = store.study_id(name)
        studies.append(_Study(store, name, number, summary.spec, planned, labels))
    return studies


def _definitions(
    store: StoreReader, study: str, spec: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """Return each player's definition by label; imported players have only their own settings."""
    entries = spec.get("players") or {}
    recorded = {label: specs[0] for label, specs in specs_of(store, study).items()}
    return {label: entries.get(label, settings) for label, settings in recorded.items()}


def _check_alike(studies: Sequence[_Study]) -> None:
    """Check that matches are scored, and people are paid, in the same way in all studies."""
    for what, read in (
        ("treat invalid answers differently (unanswered)", _policies),
        ("pay participants in different currencies", _currency),
    ):
        values = {study.name: value for study in studies if (value := read(study.spec)) is not None}
        first = next(iter(values), None)
        for other, value in values.items():
            if first is not None and value != values[first]:
                raise StoreError(f"{first} and {other} cannot be pooled: they {what}")


def _policies(spec: Mapping[str, Any]) -> Any:
    return spec.get("unanswered") or {}


def _currency(spec: Mapping[str, Any]) -> Any:
    people = spec.get("people")
    return people and (people.get("pay") or {}).get("currency", "USD")


def _conditions(reading: sa.Connection, study: _Study) -> dict[str, sa.ColumnElement[bool]]:
    where = rows_of(reading, study.number)
    return {table: condition for table, condition in where.items() if table not in LEFT_OUT}


def _spec(studies: Sequence[_Study]) -> dict[str, Any]:
    """Return the definition of the pooled study, with the definitions of its sources."""
    players: dict[str, Any] = {}
    factors: dict[str, dict[str, str]] = {}
    for study in studies:
        definitions = _definitions(study.store, study.name, study.spec)
        for label, shown in study.labels.items():
            players[shown] = definitions[label]
            own = (study.spec.get("factors") or {}).get(label, {})
            factors[shown] = {POPULATION: population(definitions[label])} | own
    spec: dict[str, Any] = {
        "description": " ".join(
            dict.fromkeys(study.spec.get("description") or "" for study in studies)
        ),
        "pooled": [{"study": study.name, **study.spec} for study in studies],
        "players": players,
        "factors": factors,
        "unanswered": _policies(studies[0].spec),
    }
    imported = {study.spec.get("imported") for study in studies}
    if len(imported) == 1 and None not in imported:
        spec["imported"] = imported.pop()
    people = [study.spec["people"] for study in studies if study.spec.get("people")]
    return spec | ({"people": people[0]} if people else {})


def population(spec: Mapping[str, Any]) -> str:
    """Return the population of a player with these stored settings.

    >>> population({"model": "openai/gpt-4o"}), population({"strategy": "random"})
    ('models', 'scripts')
    """
    kinds = {"person": "people", "model": "models", "policy": "policies"}
    return next((name for kind, name in kinds.items() if spec.get(kind)), "scripts")


def _study_row(name: str, spec: Mapping[str, Any], studies: Sequence[_Study]) -> dict[str, Any]:
    created = max(study.store.study(study.name, counted=False).created for study in studies)
    return {
        "id": STUDY,
        "name": name,
        "spec": spec,
        "package": __version__,
        "created": created,
        "planned": sum(study.planned for study in studies),
        "digest": study_digest(name, spec),
    }


class _Copy:
    """Copies the rows of one study, and gives them ids that are free in the new store.

    Rows that the new store already contains, such as a match of an earlier study, are not copied;
    rows that refer to them then refer to those. With ``adding``, an earlier study is from the same
    store, so that both paid for different calls of such a match.
    """

    def __init__(
        self, reading: sa.Connection, writing: sa.Connection, study: _Study, *, adding: bool
    ) -> None:
        self.reading, self.writing, self.study, self.adding = reading, writing, study, adding
        self.shift: dict[str, int] = {}
        self.known: dict[str, dict[int, int]] = {}

    def tables(self, where: Mapping[str, sa.ColumnElement[bool]]) -> Iterator[int]:
        """Copy all tables, and yield the number of rows of each part."""
        for table in TABLES:
            if table.name not in where:
                continue
            key = _surrogate(table)
            if key is not None:
                last = self.writing.scalar(sa.select(sa.func.coalesce(sa.func.max(key), 0)))
                self.shift[table.name] = last or 0
            for rows in pages(self.reading, table, where[table.name]):
                self._copy(table, key, rows)
                yield len(rows)

    def _copy(self, table: sa.Table, key: Any, rows: Sequence[dict[str, Any]]) -> None:
        if key is not None:
            self._find_known(table, key, rows)
        for row in rows:
            self._translate(table, row)
        if key is not None:
            known = {*self.known.get(table.name, {}).values()}
            rows = [row for row in rows if row[key.name] not in known]
        if rows:
            self.writing.execute(self._insert(table), rows)

    def _insert(self, table: sa.Table) -> Any:
        """Return the insertion of rows: known ones are skipped, but purchases of a match add up."""
        new, keys = schema.insert(table), [column.name for column in table.primary_key]
        if table is not schema.purchases or not self.adding:
            return new.on_conflict_do_nothing()
        sums = {c.name: c + new.excluded[c.name] for c in table.c if c.name not in keys}
        return new.on_conflict_do_update(index_elements=keys, set_=sums)

    def _find_known(self, table: sa.Table, key: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note the ids of rows that the new store contains under another id."""
        unique = next((column for column in table.c if column.unique), None)
        if unique is None:
            return
        ids = {row[unique.name]: row[key.name] for row in rows}
        query = sa.select(unique, key).where(unique.in_(ids))
        found = {ids[value]: id_ for value, id_ in self.writing.execute(query)}
        self.known.setdefault(table.name, {}).update(found)

    def _translate(self, table: sa.Table, row: dict[str, Any]) -> None:
        """Replace the ids in a row by those in the new store."""
        for column in table.c:
            value = row[column.name]
            target = _target(table, column)
            if column.name == "study_id":
                row[column.name] = value and (STUDY if value == self.study.number else ANOTHER)
            elif target is not None and value is not None:
                row[column.name] = self._id(target, value)
        if table is schema.matches:
            row["seats"] = {seat: self._id("players", id_) for seat, id_ in row["seats"].items()}
        elif table is schema.rosters:
            row["label"] = self.study.labels[row["label"]]
            row["digest"] = roster_digest(STUDY, row["player_id"], row["label"])

    def _id(self, table: str, id_: int) -> int:
        return self.known.get(table, {}).get(id_, id_ + self.shift[table])


def _surrogate(table: sa.Table) -> Any:
    """Return the column with a table's own row numbers, if it has one."""
    column, *others = table.primary_key.columns
    is_number = isinstance(column.type, sa.Integer) and not column.foreign_keys and not others
    return column if is_number else None


def _target(table: sa.Table, column: sa.Column[Any]) -> str | None:
    """Return the table whose row numbers a column contains."""
    if column is _surrogate(table):
        return table.name
    for key in column.foreign_keys:
        return key.column.table.name if _surrogate(key.column.table) is key.column else None
    return REFERENCES.get((table.name, column.name))
