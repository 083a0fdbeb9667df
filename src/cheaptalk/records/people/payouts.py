"""Payouts of participants' earnings, each paid only once, in the file formats of platforms.

Each payment belongs to at most one payout. Requesting a payout again returns the same data.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

import sqlalchemy as sa

from cheaptalk.records.exports.sheets import bare_csv
from cheaptalk.records.ledger.ledger import deferred, number_of
from cheaptalk.records.people.identities import Identity
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader

participants, payments, payouts = schema.participants, schema.payments, schema.payouts


class PayoutLine(NamedTuple):
    """A participant's cents: for the first completed visit, which platforms pay, and the remaining.

    The code is empty if the participant was deleted.
    """

    code: str
    base: int
    bonus: int


class Payout(NamedTuple):
    """A completed payout: the file's format, the requesting account, and the number of people paid.

    ``cents`` is the total amount; ``made`` is the time in seconds since 1970.
    """

    number: int
    form: str
    by: str
    people: int
    cents: int
    made: float


FORMS = ("prolific", "mturk", "csv")
"""Formats of payout files."""


class Balance(NamedTuple):
    """The amounts that a study owes and has paid, in cents."""

    owed: int
    paid: int


@deferred
def pay_out(connection: sa.Connection, study_id: int, form: str, by: str) -> int | None:
    """Record a payout of all open amounts and return its number; None if there are none."""
    open_ = (payments.c.study_id == study_id, payments.c.payout_id.is_(None))
    counted = sa.select(
        sa.func.count(payments.c.participant_id.distinct()),
        sa.func.coalesce(sa.func.sum(payments.c.cents), 0),
    ).where(*open_)
    people, total = connection.execute(counted).one()
    if not total:
        return None
    row = {"study_id": study_id, "form": form, "by": by}
    row |= {"people": people, "cents": total, "made": time.time()}
    number = number_of(connection.execute(sa.insert(payouts), row))
    connection.execute(sa.update(payments).where(*open_).values(payout_id=number))
    return number


def payouts_of(store: StoreReader, study_id: int) -> list[Payout]:
    """Return the payouts of a study, newest first."""
    query = (
        sa.select(payouts.c.id, *(payouts.c[name] for name in Payout._fields[1:]))
        .where(payouts.c.study_id == study_id)
        .order_by(payouts.c.id.desc())
    )
    return [Payout(*row) for row in store.rows(query)]


def lines_of(store: StoreReader, study_id: int, payout: int | None) -> list[PayoutLine]:
    """Return each participant's amounts in a payout, or the open amounts if ``payout`` is None."""
    condition = payments.c.payout_id.is_(None) if payout is None else payments.c.payout_id == payout
    amounts = (
        sa.func.coalesce(sa.func.sum(payments.c.cents).filter(payments.c.kind == kind), 0)
        for kind in ("base", "bonus")
    )
    query = (
        sa.select(sa.func.coalesce(participants.c.code, ""), *amounts)
        .join(participants, participants.c.id == payments.c.participant_id, isouter=True)
        .where(payments.c.study_id == study_id, condition)
        .group_by(participants.c.code)
        .order_by(participants.c.code)
    )
    return [PayoutLine(*row) for row in store.rows(query)]


def balance_of(store: StoreReader, study_id: int) -> Balance:
    """Return the amounts that a study owes and has paid."""
    amounts = (
        sa.func.coalesce(sa.func.sum(payments.c.cents).filter(condition), 0)
        for condition in (payments.c.payout_id.is_(None), payments.c.payout_id.is_not(None))
    )
    (row,) = store.rows(sa.select(*amounts).where(payments.c.study_id == study_id))
    return Balance(*row)


def dollars_text(amount: int) -> str:
    """Format an amount in cents as an exact decimal number.

    >>> dollars_text(1205), dollars_text(7), dollars_text(-150)
    ('12.05', '0.07', '-1.50')
    """
    whole, part = divmod(abs(amount), 100)
    return f"{'-' if amount < 0 else ''}{whole}.{part:02d}"


def payout_file(
    form: str, study: str, payout: int, lines: Iterable[PayoutLine], ids: Mapping[str, Identity]
) -> str:
    """Return the text of a payout file in the format of a platform.

    ``prolific`` is the text for bulk bonus payments: an id and an amount per line. ``mturk`` has a
    row per bonus for ``send-bonus``, with a token that prevents MTurk from paying it twice. Both
    platforms pay the base themselves, and deleted participants are omitted. ``csv`` contains all
    participants with base and bonus. Participants without an identity are listed by their code.
    """
    return bare_csv(_rows(form, study, payout, lines, ids))


def one_line(text: str) -> str:
    """Return an id with all non-printable characters escaped.

    Platforms may treat a quoted line break as the end of a row. Ids are checked when participants
    arrive, but older stores may contain others.

    >>> print(one_line("x\\n5f0c0000,1000.00"))
    x\\n5f0c0000,1000.00
    """
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )


def _rows(
    form: str, study: str, payout: int, lines: Iterable[PayoutLine], ids: Mapping[str, Identity]
) -> Iterator[Sequence[str]]:
    if form == "mturk":
        yield "WorkerId", "AssignmentId", "BonusAmount", "Reason", "UniqueRequestToken"
    elif form == "csv":
        yield "participant", "id", "base", "bonus", "total"
    for line in lines:
        identity = ids.get(line.code)
        known_by = one_line(identity.known_by if identity else line.code)
        bonus = dollars_text(line.bonus)
        if form == "csv":
            total = dollars_text(line.base + line.bonus)
            yield line.code, known_by if identity else "", dollars_text(line.base), bonus, total
        elif not line.bonus or not line.code:  # deleted participants have no id
            continue
        elif form == "prolific":
            yield known_by, bonus
        else:
            link = dict(parse_qsl(identity.more)) if identity else {}
            assignment = one_line(link.get("assignmentId", ""))
            token = f"{study}-{payout}-{line.code}"[-64:]
            yield known_by, assignment, bonus, f"Bonus of {study}", token
