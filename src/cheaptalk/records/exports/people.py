"""Exported tables of participants: their visits, responses, games and payments."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cheaptalk.records.exports.columns import TEXT, Column, column, row_columns
from cheaptalk.records.people.queries import (
    currency_of,
    notices_of,
    participants_of,
    payments_of,
    plays_of,
    responses_of,
)
from cheaptalk.records.people.rows import Notice, Participant, Payment, Play, Response
from cheaptalk.records.store.reader import StoreReader

PersonRecord: TypeAlias = Participant | Response | Play | Payment | Notice


@dataclass(frozen=True)
class PersonRow:
    """A row in one of the exported tables of participants.

    Attributes:
        record: the data from the store.
        currency: the currency of payments.
        game: empty, because the columns are the same for all games.
    """

    study: str
    record: PersonRecord
    currency: str
    game: str = ""


class PeopleTable(NamedTuple):
    """The type of a table's rows, and the function that reads them."""

    row_type: type[PersonRecord]
    read: Callable[[StoreReader, str], Iterable[PersonRecord]]


TABLES: Mapping[str, PeopleTable] = {
    "participants": PeopleTable(Participant, participants_of),
    "responses": PeopleTable(Response, responses_of),
    "plays": PeopleTable(Play, plays_of),
    "payments": PeopleTable(Payment, payments_of),
    "notices": PeopleTable(Notice, notices_of),
}
STUDY = column("study", TEXT, "", "The exported study.", "study")
CURRENCY = column("currency", TEXT, "", "The currency, such as USD.", "currency")


def people_columns() -> dict[str, list[Column]]:
    """Return the columns of each table of participants."""
    tables = {}
    for name, table in TABLES.items():
        participant, *others = row_columns(table.row_type)
        tables[name] = [participant, STUDY, *others]
    tables["payments"].insert(5, CURRENCY)  # after the amount
    return tables


def people_rows(store: StoreReader, study: str) -> Iterator[tuple[str, PersonRow]]:
    """Yield each exported row about participants with the name of its table."""
    currency = currency_of(store, study)
    for name, table in TABLES.items():
        for record in table.read(store, study):
            yield name, PersonRow(study, record, currency)
