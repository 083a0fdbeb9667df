"""Load test of a human study: page load times, and data integrity when the server is killed.

Bots take part over loopback, from the recruitment link to the completion code. An audit of the
store then checks that every participant completed the study, answered each page exactly once, and
is owed the correct amount, which is computed independently from the matches.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

import cheaptalk as ct
from bench.rooms import BETWEEN_KILLS, KILLS, PEOPLE, THINK, Server, serving
from bench.rows import Row
from cheaptalk.records import examine
from cheaptalk.records.people.payouts import pay_out, payouts_of
from cheaptalk.records.store import schema
from cheaptalk.web.bots.bots import Crowd, Sent, Tally

ONLY = 1
"""Id of the only study in a store."""
BASE, RATE, MAX_BONUS, ZERO_BONUS = (
    Decimal("1.50"),
    Decimal("0.013"),
    Decimal("1.00"),
    Decimal("0.05"),
)
"""Dollars for completion, per unit of payoff, at most per game, and for a payoff of 0."""
GAMES = 2
CORRECT = {"adult": "yes", "sum": "two"}
STUDY: dict[str, Any] = {
    "name": "participants",
    "seed": 1,
    "instances": 1 + PEOPLE * GAMES // 3,
    "games": [{"game": "bargaining", "fixed": {"horizon": 4, "money": 100}}],
    "players": {
        "person": {"person": "browser", "deadline": 300, "away": {"strategy": "random"}},
        "bot": {"strategy": "random"},
    },
    "pairing": [["person", "bot"], ["bot", "person"], ["person", "person"]],
    "people": {
        "title": "A study of agreements",
        "recruitment": {"source": "prolific"},
        "path": [
            {"consent": {"text": "You decide.\n\n- One\n- Two", "statements": ["I am 18", "Yes"]}},
            "first_name",
            {"screening": [{"name": "adult", "ask": "Adult?", "choices": ["yes", "no"],
                            "right": "yes"}]},
            {"comprehension": [{"name": "sum", "ask": "1 + 1?", "choices": ["one", "two"],
                                "right": "two"}]},
            {"games": {
                "max": 3, "can_stop": True, "lobby": {"minutes": 0.5, "substitutes": True},
                "before": [{"instructions": {"pages": ["First.\n\nSecond."], "game": True,
                                             "code_word": "sdkot"}}],
                "attention": {"after": [0, 5], "seconds": 300},
            }},
            {"survey": [
                {"name": "why", "ask": "Why?", "lines": 4},
                {"name": "fair", "ask": "Was it fair?", "scale": {}},
                {"name": "age", "ask": "How old are you?", "number": [18, 99]},
            ]},
            {"debrief": "Thank you."},
        ],
        "pay": {"base": float(BASE), "bonus": [
            {"rate": float(RATE), "most": float(MAX_BONUS), "nothing": float(ZERO_BONUS)},
        ]},
    },
}  # fmt: skip
PATH = (
    "consent", "first_name", "screening", "comprehension",
    *("assignment", "instructions", "instructions", "games", "go_on") * GAMES, "survey", "debrief",
)  # fmt: skip
"""The steps that each participant answers, in order."""


class Audit(NamedTuple):
    """Results of the audit of a store.

    Attributes:
        people: the number of participants.
        astray: the number who did not complete, or did not answer each page exactly once.
        lost: the number of pages whose answer the server confirmed but did not record.
        changed: the number of recorded answers that no bot sent.
        wrong: the number of participants who are owed an incorrect amount.
        unpaid: the difference between the amounts owed and paid out, in cents.
        hurt: the number of damaged places in the store.
    """

    people: int
    astray: int
    lost: int
    changed: int
    wrong: int
    unpaid: int
    hurt: int


def audited(store_path: Path, sent: Sequence[Sent]) -> Audit:
    """Compare the recorded answers with those sent, and the amounts owed with the matches."""
    with ct.Store.open(store_path) as store:
        with store.writing(), store.transaction() as connection:
            pay_out(ONLY, "prolific", "bench")(connection)
        with store.reading() as connection:
            people = rows_of(connection, schema.participants)
            responses = by_participant(connection, schema.responses)
            plays = by_participant(connection, schema.plays)
            payments = by_participant(connection, schema.payments)
        paths = [tuple(row["step"] for row in responses[who["id"]]) for who in people]
        complete = [who["ending"] == "complete" for who in people]
        astray = sum(path != PATH or not done for path, done in zip(paths, complete, strict=True))
        sent_by_page = by_page(sent)
        recorded = {
            (who["code"], row["number"]): row for who in people for row in responses[who["id"]]
        }
        lost = sum(
            page not in recorded
            for page, attempts in sent_by_page.items()
            if any(attempt.saved for attempt in attempts)
        )
        changed = sum(
            not is_of(sent_by_page.get(page, ()), row["answer"]) for page, row in recorded.items()
        )
        wrong = 0
        for who in people:
            amounts = {row["key"]: row["cents"] for row in payments[who["id"]]}
            wrong += amounts != worth(store, plays[who["id"]])
        owed = sum(row["cents"] for rows in payments.values() for row in rows)
        unpaid = abs(owed - sum(payout.cents for payout in payouts_of(store, ONLY)))
        hurt = len(list(examine(store).damages))
    return Audit(len(people), astray, lost, changed, wrong, unpaid, hurt)


def rows_of(connection: sa.Connection, table: sa.Table) -> list[dict[str, Any]]:
    """Return all rows of a table, in order."""
    order = table.c.number if "number" in table.c else table.c.id
    return [dict(row) for row in connection.execute(sa.select(table).order_by(order)).mappings()]


def by_participant(
    connection: sa.Connection, table: sa.Table
) -> defaultdict[int, list[dict[str, Any]]]:
    """Return all rows of a table by participant id."""
    grouped: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows_of(connection, table):
        grouped[row["participant_id"]].append(row)
    return grouped


def by_page(sent: Sequence[Sent]) -> dict[tuple[str, int], list[Sent]]:
    """Return the sent forms by participant code and page number."""
    grouped: defaultdict[tuple[str, int], list[Sent]] = defaultdict(list)
    for form in sent:
        if "number" in form.fields:
            code = form.link.rpartition("/")[2].rsplit(".", 2)[0]
            grouped[code, int(form.fields["number"])].append(form)
    return grouped


def is_of(sent: Sequence[Sent], answer: Mapping[str, Any]) -> bool:
    """Return whether a recorded answer was sent; answers by the server must have no sent form."""
    if answer.keys() & {"treatment", "state"}:
        return not sent
    names = [name for name in ("why", "fair", "age", *CORRECT) if name in answer]
    return any(
        all(str(answer[name]).removesuffix(".0") == form.fields[name] for name in names)
        for form in sent
    )


def worth(store: ct.Store, plays: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Compute the payments that a participant who completed is owed, in cents."""
    owed = {"base/1": int(BASE * 100)}
    for play in plays:
        payoffs = store.find(play["match_id"]).payoffs
        payoff = Decimal(str((payoffs or {})[play["seat"]]))
        dollars = min(MAX_BONUS, RATE * payoff) if payoff > 0 else ZERO_BONUS
        owed[f"game/{play['number']}"] = int((100 * dollars).quantize(Decimal(1), ROUND_HALF_UP))
    return {key: cents for key, cents in owed.items() if cents}


def crowd(server: Server) -> Crowd:
    """Return the bots that take part in a server's study."""
    url = f"{server.url}?PROLIFIC_PID={{id}}&STUDY_ID=bench"
    return Crowd(url, PEOPLE, THINK, matches=GAMES, answers=CORRECT)


def rows() -> Iterator[Row]:
    """Yield the results under load, and with kills under load."""
    yield from under_load()
    yield from under_kills()


def under_load() -> Iterator[Row]:
    """Yield the results of ``PEOPLE`` concurrent participants."""
    with serving(STUDY) as server:
        began = time.perf_counter()
        tally = asyncio.run(crowd(server).play())
        seconds = time.perf_counter() - began
        server.kill()
        audit = audited(server.store, tally.sent)
        note = f"{tally.pages:,} pages, {tally.pages / seconds:.0f} pages/s; median "
        note += f"{1000 * tally.slowest(50):.0f} ms"
        load = f"{PEOPLE} participants, {THINK:g} s between clicks"
        yield Row(f"page load time, p95, {load}", 1000 * tally.slowest(95), "ms", ("<=", 250), note)
        yield from checked(tally, audit)
        yield Row("peak memory of the server", server.peak, "MiB", ("<=", 600))


def under_kills() -> Iterator[Row]:
    """Yield the results if the server is killed repeatedly, with payouts during downtime."""

    async def killed(server: Server) -> tuple[Tally, list[float]]:
        bots = crowd(server)
        playing, starts = asyncio.create_task(bots.play()), []
        for number in range(KILLS):
            await asyncio.sleep(BETWEEN_KILLS)
            await asyncio.to_thread(server.kill)
            if number in (KILLS // 2, KILLS - 1):
                await asyncio.to_thread(paid_out, server.store)
            starts.append(await asyncio.to_thread(server.start))
        return await playing, starts

    with serving(STUDY) as server:
        tally, starts = asyncio.run(killed(server))
        server.kill()
        audit = audited(server.store, tally.sent)
        yield Row(f"longest restart after {KILLS} kills", max(starts), "s", None,
                  f"{PEOPLE} participants; {tally.lost:,} lost connections")  # fmt: skip
        yield from checked(tally, audit)


def paid_out(path: Path) -> None:
    """Pay out the amounts owed so far, twice; the second payout must be empty."""
    with ct.Store.open(path) as store, store.writing():
        for _ in range(2):
            with store.transaction() as connection:
                pay_out(ONLY, "prolific", "bench")(connection)


def checked(tally: Tally, audit: Audit) -> Iterator[Row]:
    """Yield the number of problems, which must be zero."""
    missing = PEOPLE - tally.endings["complete"]
    links = PEOPLE - len(tally.codes)
    wrong = Counter(audit._asdict()) - Counter({"people": PEOPLE})
    wrong += Counter({"missing": missing, "links": abs(links)}) + tally.errors
    note = f"{audit}; endings {dict(tally.endings)}; errors: {dict(tally.errors.most_common(3))}"
    yield Row(f"problems among {PEOPLE} participants", wrong.total(), "", ("<=", 0), note)
