"""Participants on their paths: how soon pages come, and whether kills lose or double anything.

Bots go all the way over loopback, from the link that recruits them to the code with which they go.
Afterwards the store is read: everybody must have completed, each page answered once, and be owed
what their matches were worth, reckoned here from the matches anew.
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
"""The number of the only study of a store."""
BASE, RATE, MOST, NOTHING = Decimal("1.50"), Decimal("0.013"), Decimal("1.00"), Decimal("0.05")
"""Dollars for completing, for each unit of a payoff, at most for a game, and for a payoff of 0."""
GAMES = 2
RIGHT = {"adult": "yes", "sum": "two"}
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
            {"rate": float(RATE), "most": float(MOST), "nothing": float(NOTHING)},
        ]},
    },
}  # fmt: skip
WAY = (
    "consent", "first_name", "screening", "comprehension",
    *("assignment", "instructions", "instructions", "games", "go_on") * GAMES, "survey", "debrief",
)  # fmt: skip
"""What everybody answers, in order."""


class Audit(NamedTuple):
    """What a store has of the participants that bots were.

    Attributes:
        people: participants in the store.
        astray: those who did not complete, or not by the pages of the path, each once.
        lost: pages whose answer was said to be taken, and that have none.
        changed: answers recorded that nobody sent.
        wrong: participants who are not owed what their matches were worth.
        unpaid: cents that are owed and in no payout, or the other way round.
        hurt: places at which the store is damaged.
    """

    people: int
    astray: int
    lost: int
    changed: int
    wrong: int
    unpaid: int
    hurt: int


def audited(path: Path, sent: Sequence[Sent]) -> Audit:
    """Hold what was recorded against what was sent, and what is owed against the matches."""
    with ct.Store.open(path) as store:
        with store.writing(), store.transaction() as connection:
            pay_out(ONLY, "prolific", "bench")(connection)
        with store.reading() as connection:
            people = rows_of(connection, schema.participants)
            responses = by_participant(connection, schema.responses)
            plays = by_participant(connection, schema.plays)
            payments = by_participant(connection, schema.payments)
        ways = [tuple(one["step"] for one in responses[who["id"]]) for who in people]
        complete = [who["ending"] == "complete" for who in people]
        astray = sum(way != WAY or not done for way, done in zip(ways, complete, strict=True))
        told = by_page(sent)
        kept = {(who["code"], one["number"]): one for who in people for one in responses[who["id"]]}
        lost = sum(page not in kept for page, ours in told.items() if any(s.saved for s in ours))
        changed = sum(not is_of(told.get(page, ()), one["answer"]) for page, one in kept.items())
        wrong = 0
        for who in people:
            amounts = {one["key"]: one["cents"] for one in payments[who["id"]]}
            wrong += amounts != worth(store, plays[who["id"]])
        owed = sum(one["cents"] for some in payments.values() for one in some)
        unpaid = abs(owed - sum(one.cents for one in payouts_of(store, ONLY)))
        hurt = len(list(examine(store).damages))
    return Audit(len(people), astray, lost, changed, wrong, unpaid, hurt)


def rows_of(connection: sa.Connection, table: sa.Table) -> list[dict[str, Any]]:
    """All rows of a table."""
    order = table.c.number if "number" in table.c else table.c.id
    return [dict(row) for row in connection.execute(sa.select(table).order_by(order)).mappings()]


def by_participant(
    connection: sa.Connection, table: sa.Table
) -> defaultdict[int, list[dict[str, Any]]]:
    """The same by participant."""
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows_of(connection, table):
        found[row["participant_id"]].append(row)
    return found


def by_page(sent: Sequence[Sent]) -> dict[tuple[str, int], list[Sent]]:
    """What was sent for each page of a path, by participant and the page's number."""
    found: defaultdict[tuple[str, int], list[Sent]] = defaultdict(list)
    for one in sent:
        if "number" in one.fields:
            code = one.link.rpartition("/")[2].rsplit(".", 2)[0]
            found[code, int(one.fields["number"])].append(one)
    return found


def is_of(sent: Sequence[Sent], answer: Mapping[str, Any]) -> bool:
    """Whether an answer is one of those sent; what the server answers itself always is."""
    if answer.keys() & {"treatment", "state"}:
        return not sent
    asked = [name for name in ("why", "fair", "age", *RIGHT) if name in answer]
    return any(
        all(str(answer[name]).removesuffix(".0") == one.fields[name] for name in asked)
        for one in sent
    )


def worth(store: ct.Store, plays: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """What a participant who completed is owed, in cents, by their matches alone."""
    owed = {"base/1": int(BASE * 100)}
    for play in plays:
        payoffs = store.find(play["match_id"]).payoffs
        earned = Decimal(str((payoffs or {})[play["seat"]]))
        dollars = min(MOST, RATE * earned) if earned > 0 else NOTHING
        owed[f"game/{play['number']}"] = int((100 * dollars).quantize(Decimal(1), ROUND_HALF_UP))
    return {key: cents for key, cents in owed.items() if cents}


def crowd(server: Server) -> Crowd:
    """Bots that come to a server's study."""
    url = f"{server.url}?PROLIFIC_PID={{id}}&STUDY_ID=bench"
    return Crowd(url, PEOPLE, THINK, matches=GAMES, answers=RIGHT)


def rows() -> Iterator[Row]:
    """The whole path under load, and under kills."""
    yield from under_load()
    yield from under_kills()


def under_load() -> Iterator[Row]:
    """So many people at once, each the whole way."""
    with serving(STUDY) as server:
        began = time.perf_counter()
        tally = asyncio.run(crowd(server).play())
        seconds = time.perf_counter() - began
        server.kill()
        audit = audited(server.store, tally.sent)
        note = f"{tally.pages:,} pages, {tally.pages / seconds:.0f} a second; half within "
        note += f"{1000 * tally.slowest(50):.0f} ms"
        at = f"{PEOPLE} participants at once, {THINK:g} s between clicks"
        yield Row(f"95 % of pages, {at}", 1000 * tally.slowest(95), "ms", ("<=", 250), note)
        yield from checked(tally, audit)
        yield Row("the server's memory at its peak", server.peak, "MiB", ("<=", 600))


def under_kills() -> Iterator[Row]:
    """The same while the server is killed over and over, and what is owed is paid out twice."""

    async def killed(server: Server) -> tuple[Tally, list[float]]:
        coming = crowd(server)
        playing, starts = asyncio.create_task(coming.play()), []
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
        yield Row(f"longest start after one of {KILLS} kills", max(starts), "s", None,
                  f"{PEOPLE} participants; {tally.lost:,} connections lost")  # fmt: skip
        yield from checked(tally, audit)


def paid_out(path: Path) -> None:
    """Pay out what is owed so far, twice: the second time nothing is."""
    with ct.Store.open(path) as store, store.writing():
        for _ in range(2):
            with store.transaction() as connection:
                pay_out(ONLY, "prolific", "bench")(connection)


def checked(tally: Tally, audit: Audit) -> Iterator[Row]:
    """What must be zero."""
    missing = PEOPLE - tally.endings["complete"]
    links = PEOPLE - len(tally.codes)
    wrong = Counter(audit._asdict()) - Counter({"people": PEOPLE})
    wrong += Counter({"missing": missing, "links": abs(links)}) + tally.errors
    note = f"{audit}; endings {dict(tally.endings)}; errors: {dict(tally.errors.most_common(3))}"
    yield Row(f"of {PEOPLE} participants, wrong", wrong.total(), "", ("<=", 0), note)
