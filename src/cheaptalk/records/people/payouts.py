"""Payouts: what participants are owed goes out once, in files that platforms take.

A payment belongs to at most one payout. To ask again for a payout is to read it, not to pay again.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

import sqlalchemy as sa

from cheaptalk.records.exports.sheets import bare_csv
from cheaptalk.records.ledger.ledger import number_of
from cheaptalk.records.people.identities import Identity
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader

participants, payments, payouts = schema.participants, schema.payments, schema.payouts


class PayoutLine(NamedTuple):
    """What one participant gets in a payout.

    Attributes:
        code: the participant's; empty where they were deleted since.
        base: cents for completing a first visit, which platforms pay by themselves.
        bonus: cents for all else.
    """

    code: str
    base: int
    bonus: int


class Payout(NamedTuple):
    """A payout that was made.

    Attributes:
        number: of the payout.
        form: for which platform its file is.
        by: the account that asked for it.
        people: how many got something.
        cents: how much, in all.
        made: when, in seconds since 1970.
    """

    number: int
    form: str
    by: str
    people: int
    cents: int
    made: float


FORMS = ("prolific", "mturk", "csv")
"""For whom the file of a payout can be."""


class Balance(NamedTuple):
    """What a study owes and has paid, in cents."""

    owed: int
    paid: int


def pay_out(study_id: int, form: str, by: str) -> Callable[[sa.Connection], int | None]:
    """What pays out all that is open, and gives the payout's number; None where nothing is."""

    def work(connection: sa.Connection) -> int | None:
        open_ = (payments.c.study_id == study_id, payments.c.payout_id.is_(None))
        counted = sa.select(
            sa.func.count(payments.c.participant_id.distinct()),
            sa.func.coalesce(sa.func.sum(payments.c.cents), 0),
        ).where(*open_)
        people, total = connection.execute(counted).one()
        if not total:
            return None
        row = {
            "study_id": study_id, "form": form, "by": by, "people": people, "cents": total,
            "made": time.time(),
        }  # fmt: skip
        number = number_of(connection.execute(sa.insert(payouts), row))
        connection.execute(sa.update(payments).where(*open_).values(payout_id=number))
        return number

    return work


def payouts_of(store: StoreReader, study_id: int) -> list[Payout]:
    """The payouts of a study, newest first."""
    query = (
        sa.select(payouts.c.id, *(payouts.c[name] for name in Payout._fields[1:]))
        .where(payouts.c.study_id == study_id)
        .order_by(payouts.c.id.desc())
    )
    with store.reading() as connection:
        return [Payout(*row) for row in connection.execute(query)]


def lines_of(store: StoreReader, study_id: int, payout: int | None) -> list[PayoutLine]:
    """Who gets what in a payout, or what is open where None is asked for, in the order of codes."""
    of = payments.c.payout_id.is_(None) if payout is None else payments.c.payout_id == payout
    amounts = (
        sa.func.coalesce(sa.func.sum(payments.c.cents).filter(payments.c.kind == kind), 0)
        for kind in ("base", "bonus")
    )
    query = (
        sa.select(sa.func.coalesce(participants.c.code, ""), *amounts)
        .join(participants, participants.c.id == payments.c.participant_id, isouter=True)
        .where(payments.c.study_id == study_id, of)
        .group_by(participants.c.code)
        .order_by(participants.c.code)
    )
    with store.reading() as connection:
        return [PayoutLine(*row) for row in connection.execute(query)]


def balance_of(store: StoreReader, study_id: int) -> Balance:
    """What a study owes and has paid."""
    amounts = (
        sa.func.coalesce(sa.func.sum(payments.c.cents).filter(which), 0)
        for which in (payments.c.payout_id.is_(None), payments.c.payout_id.is_not(None))
    )
    with store.reading() as connection:
        query = sa.select(*amounts).where(payments.c.study_id == study_id)
        return Balance(*connection.execute(query).one())


def dollars_text(amount: int) -> str:
    """Cents as a file has them, exactly.

    >>> dollars_text(1205), dollars_text(7)
    ('12.05', '0.07')
    """
    return f"{amount // 100}.{amount % 100:02d}"


def payout_file(
    form: str, study: str, payout: int, lines: Iterable[PayoutLine], ids: Mapping[str, Identity]
) -> str:
    """The file of a payout, for whoever pays.

    ``prolific`` is the text of its bulk bonus payments, an id and an amount a line. ``mturk`` has a
    row for each bonus as its ``send-bonus`` wants it, with a token by which MTurk itself refuses to
    pay one twice. Both pay the base of a first visit by themselves, and have no row for who was
    deleted since. ``csv`` has everybody with base and bonus.

    Args:
        ids: identities by code; who has none is known by the code.
    """
    return bare_csv(_rows(form, study, payout, lines, ids))


def one_line(text: str) -> str:
    """Return an id with every character that is not printable escaped.

    Platforms read a payout line by line, and may take a line break in quotes for the end of a row.
    Ids are checked when participants arrive; older stores may hold others.

    >>> print(one_line("x\\n5f0c0000,1000.00"))
    x\\n5f0c0000,1000.00
    """
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def _rows(
    form: str, study: str, payout: int, lines: Iterable[PayoutLine], ids: Mapping[str, Identity]
) -> Iterator[Sequence[str]]:
    if form == "mturk":
        yield "WorkerId", "AssignmentId", "BonusAmount", "Reason", "UniqueRequestToken"
    elif form == "csv":
        yield "participant", "id", "base", "bonus", "total"
    for one in lines:
        known = ids.get(one.code)
        known_by, bonus = one_line(known.known_by if known else one.code), dollars_text(one.bonus)
        if form == "csv":
            total = dollars_text(one.base + one.bonus)
            yield one.code, known_by if known else "", dollars_text(one.base), bonus, total
        elif not one.bonus or not one.code:  # who was deleted since has no id any more
            continue
        elif form == "prolific":
            yield known_by, bonus
        else:
            asked = dict(parse_qsl(known.more)) if known else {}
            token = f"{study}-{payout}-{one.code}"[-64:]
            yield (
                known_by,
                one_line(asked.get("assignmentId", "")),
                bonus,
                f"Bonus of {study}",
                token,
            )
