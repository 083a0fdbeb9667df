"""Invitations of a panel: personal codes for addresses, and files for mail merges.

Addresses and the other columns of a list are only in the file of identities, never in the store.
"""

import csv
import json
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from io import StringIO
from typing import NamedTuple

import sqlalchemy as sa

from cheaptalk.records.exports.sheets import bare_csv
from cheaptalk.records.people.identities import Identities
from cheaptalk.records.store import schema
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import shown

ADDED = ("link", "code", "study")
"""Columns that a mail merge gets in addition to those of the list."""
ADDRESS_NAMES = ("address", "email", "e-mail", "mail")
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 12
"""60 bits, so that no one can guess a code."""
MAX_ADDRESSES = 100_000
MAX_CHARACTERS = 500
"""Maximum characters of a value in a list of addresses."""


class Invitation(NamedTuple):
    """An invited address with its personal code, and all columns of its list."""

    address: str
    code: str
    columns: dict[str, str]


def read_addresses(text: str) -> dict[str, dict[str, str]]:
    """Return the rows of a CSV list by address; the first line names the columns.

    >>> read_addresses("name,E-Mail\\nAnn,ann@example.org\\n")
    {'ann@example.org': {'name': 'Ann', 'E-Mail': 'ann@example.org'}}

    Raises:
        CheaptalkError: the list has no column of addresses, or a row is incomplete.
    """
    sample = text.partition("\n")[0]
    delimiter = ";" if sample.count(";") > sample.count(",") else ","
    rows = [row for row in csv.reader(StringIO(text.lstrip("\ufeff")), delimiter=delimiter) if row]
    if len(rows) < 2 or len(rows) > MAX_ADDRESSES + 1:
        raise CheaptalkError(
            f"the list has {max(len(rows) - 1, 0):,} addresses; expected 1 to {MAX_ADDRESSES:,}, "
            "below a line with the names of the columns"
        )
    names = [name.strip() for name in rows[0]]
    address = next((name for name in names if name.lower() in ADDRESS_NAMES), None)
    if address is None:
        raise CheaptalkError(
            f"the list has no column of addresses; name one of {', '.join(names)} address"
        )
    if taken := [name for name in names if name in ADDED]:
        raise CheaptalkError(f"the column {taken[0]} is added to the list; rename it")
    people: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows[1:], 2):
        cells = [cell.strip() for cell in row]
        columns = dict(zip(names, cells, strict=False))
        if len(cells) != len(names) or "@" not in columns[address]:
            raise CheaptalkError(
                f"line {number} of the list has {len(cells)} values, or no address; expected "
                f"{len(names)} values with an e-mail address"
            )
        if long := [cell for cell in cells if len(cell) > MAX_CHARACTERS or not cell.isprintable()]:
            raise CheaptalkError(
                f"line {number} of the list: {shown(long[0])} is not a line of at most "
                f"{MAX_CHARACTERS} characters; shorten it"
            )
        people[columns[address]] = columns
    return people


@reads
def invite(
    identities: Identities, study: StudyLike, people: Mapping[str, Mapping[str, str]]
) -> int:
    """Give each new address a personal code; return how many addresses are new.

    An address that already has a code keeps it, and its columns are replaced.
    """
    new = 0
    with identities.opened() as connection:
        for address, columns in people.items():
            text = json.dumps(dict(columns), ensure_ascii=False)
            row = (study, address, new_code(), text, time.time())
            statement = "insert into invitations values (?, ?, ?, ?, ?) on conflict do nothing"
            new += connection.execute(statement, row).rowcount
            connection.execute(
                "update invitations set columns = ? where study = ? and address = ?",
                (text, study, address),
            )
    return new


def new_code() -> str:
    """Return a random personal code."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))


@reads
def invitations_of(identities: Identities, study: StudyLike) -> list[Invitation]:
    """Return the invitations of a study, by address."""
    with identities.opened() as connection:
        rows = connection.execute(
            "select address, code, columns from invitations where study = ?", (study,)
        )
        return [Invitation(address, code, json.loads(columns)) for address, code, columns in rows]


def is_invited(identities: Identities, study: str, code: str) -> bool:
    """Return whether a code is that of an invitation."""
    with identities.opened() as connection:
        query = "select 1 from invitations where study = ? and code = ?"
        return connection.execute(query, (study, code)).fetchone() is not None


def forget_invitations(identities: Identities, study: str) -> None:
    """Delete all invitations of a study."""
    with identities.opened() as connection:
        connection.execute("delete from invitations where study = ?", (study,))


@reads
def ended_codes(store: StoreLike, study: StudyLike, identities: Identities) -> set[str]:
    """Return the personal codes whose participants have completed or left the study."""
    assert isinstance(store, Store)
    assert isinstance(study, str)
    people = schema.participants
    query = sa.select(people.c.code).where(
        people.c.study_id == store.study_id(study), people.c.ending.is_not(None)
    )
    ended = {*store.scalars(query)}
    known = identities.of_study(study).items()
    return {identity.known_by for code, identity in known if code in ended}


@reads
def mail_merge(
    invitations: Sequence[Invitation], study: StudyLike, url: str, ended: Collection[str] = ()
) -> str:
    """Return a CSV table for a mail merge, without the codes in ``ended``.

    It has the columns of the list, and the personal link, the code and the study's name. ``url`` is
    the address of the study's pages.
    """
    assert isinstance(study, str)
    kept = [invitation for invitation in invitations if invitation.code not in ended]
    names = list(dict.fromkeys(name for invitation in kept for name in invitation.columns))
    base = url.rstrip("/")
    rows = [
        [
            *(invitation.columns.get(name, "") for name in names),
            f"{base}/?code={invitation.code}",
            invitation.code,
            study,
        ]
        for invitation in kept
    ]
    return bare_csv([[*names, *ADDED], *rows])
