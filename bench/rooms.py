"""People at tables in the browser: how soon pages come, and whether a killed server loses a move.

Bots play against scripts over loopback, with the server in a process of its own. Afterwards the
store is read: each answer that the server said to have taken must be recorded once, in order.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import cheaptalk as ct
from bench import otree_tables
from bench.rows import Row
from cheaptalk.loopback import listening
from cheaptalk.records import examine
from cheaptalk.records.people.rooms import kept_rooms
from cheaptalk.studies import plan
from cheaptalk.web.bots.bots import Crowd, Sent, Tally
from cheaptalk.web.rooms.forms import answer_text
from cheaptalk.web.rooms.rooms import Room
from cheaptalk.web.rooms.table_templates import table_templates_of

PEOPLE = int(os.environ.get("BENCH_PEOPLE", "500"))
THINK = 5.0
KILLS = 10
BETWEEN_KILLS = 8.0
BROWSERS = 50
PLAYWRIGHT = os.environ.get("BENCH_PLAYWRIGHT", "")
"""A Python that has playwright; the pages in Chromium are left out without one."""
ONLY = 1
"""The number of the only study of a store."""
STUDY: dict[str, Any] = {
    "name": "rooms",
    "seed": 1,
    "instances": 10,
    "pairing": [["you", "bot"], ["bot", "you"]],
    "games": [
        {"game": "bargaining", "fixed": {"horizon": 4}},
        *(
            {"game": game, "fixed": {"players": 5, "rounds": 5}, "pairing": [{"you": 1, "bot": 4}]}
            for game in ("public_goods", "guess_the_average", "divide_the_dollar", "el_farol_bar")
        ),
    ],
    "players": {
        "you": {"person": "browser", "deadline": 300, "away": {"strategy": "random"}},
        "bot": {"strategy": "random"},
    },
}


@dataclass
class Server:
    """A server of rooms in a process of its own, which can be killed and started again.

    Attributes:
        study: what it serves.
        peak: the most memory that any of its processes took, in MiB.
    """

    folder: Path
    study: Mapping[str, Any]
    port: int = 0
    peak: float = 0.0
    process: subprocess.Popen[str] | None = None

    @property
    def store(self) -> Path:
        return self.folder / "rooms.sqlite"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> float:
        """Start it, and wait until it serves; the seconds that took."""
        study = self.folder / "rooms.yaml"
        study.write_text(yaml.safe_dump(dict(self.study), sort_keys=False))
        if not self.port:
            with listening(0) as there:
                self.port = there.getsockname()[1]
        words = [study, "--store", self.store, "--port", self.port]
        command = [sys.executable, "-m", "cheaptalk", "serve", *map(str, words)]
        began = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "http" in line, line
        return time.perf_counter() - began

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        assert self.process is not None
        if self.process.poll() is not None:
            return
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+)", status)
        self.peak = max(self.peak, int(found[1]) / 1024 if found else 0.0)
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(study: Mapping[str, Any] = STUDY) -> Iterator[Server]:
    """A server over a new store."""
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name), study)
        server.start()
        try:
            yield server
        finally:
            server.kill()


class Audit(NamedTuple):
    """What a store has of the answers that bots sent.

    Attributes:
        moves: answers recorded.
        lost: answers that the server said to have taken, and that are not recorded.
        doubled: answers recorded that nobody sent, or more often than they were sent.
        hurt: places at which the store is damaged.
        open: matches of bots that have not ended.
    """

    moves: int
    lost: int
    doubled: int
    hurt: int
    open: int


def audited(path: Path, sent: Sequence[Sent]) -> Audit:
    """Hold what was recorded against what was sent."""
    by_agent: dict[str, list[Sent]] = defaultdict(list)
    for one in sent:
        by_agent[one.link.rpartition("/")[2].rsplit(".", 2)[0]].append(one)
    study = ct.studies.parse_study(STUDY, "rooms.yaml")
    table_templates = table_templates_of(plan(study))
    recorded: dict[str, list[tuple[dict[str, Any], str]]] = defaultdict(list)
    unfinished = 0
    with ct.Store.open(path) as store:
        for code, kept in kept_rooms(store, ONLY):
            visitor = next(name for name in kept["visitors"].values())
            if visitor in by_agent:
                room = Room.from_record(code, kept, table_templates[kept["table_template"]], {})
                record = store.find(room.match.id)
                unfinished += not record.over
                recorded[visitor] += _said(record)
        hurt = len(list(examine(store).damages))
    held = [_held(recorded[visitor], ours) for visitor, ours in by_agent.items()]
    moves = sum(map(len, recorded.values()))
    return Audit(moves, sum(one for one, _ in held), sum(two for _, two in held), hurt, unfinished)


def _said(record: ct.MatchRecord) -> Iterator[tuple[dict[str, Any], str]]:
    """The form and the text of each answer of people in a match."""
    for answer in record.answers:
        if record.label(record.seat_of(answer.actor)) == "you":
            for call in answer.calls:
                if call["reply"].get("text") is not None:
                    yield call["call"]["form"], call["reply"]["text"]


def _held(recorded: Sequence[tuple[dict[str, Any], str]], sent: Sequence[Sent]) -> tuple[int, int]:
    """How many answers of somebody are lost, and how many doubled.

    What was sent as a connection broke may be there; it is not where the same was asked again.
    """
    lost = at = 0
    for one, after in zip(sent, [*sent[1:], None], strict=True):
        again = after is not None and after.fields.get("question") == one.fields.get("question")
        if not one.saved and again:
            continue
        fields = {name: value for name, value in one.fields.items() if name != "question"}
        if at < len(recorded) and answer_text(recorded[at][0], fields) == recorded[at][1]:
            at += 1
        else:
            lost += one.saved
    return lost, len(recorded) - at


def rows() -> Iterator[Row]:
    """Pages under load, kills under load, pages in Chromium, and oTree beside us."""
    ours = yield from under_load()
    yield from under_kills()
    yield from in_chromium()
    yield from otree_tables.rows(PEOPLE, THINK, ours)


def under_load() -> Generator[Row, None, tuple[float, float]]:
    """So many people at once, each for three matches.

    Returns:
        Pages a second, and the seconds within which 95 % of them came.
    """
    with serving() as server:
        began = time.perf_counter()
        tally = asyncio.run(Crowd(server.url, PEOPLE, THINK, matches=3).play())
        seconds = time.perf_counter() - began
        server.kill()
        audit = audited(server.store, tally.sent)
        at = f"{PEOPLE} people at once, {THINK:g} s between clicks"
        note = f"{tally.pages:,} pages, {tally.pages / seconds:.0f} a second; half within "
        note += f"{1000 * tally.slowest(50):.0f} ms"
        yield Row(f"95 % of pages, {at}", 1000 * tally.slowest(95), "ms", ("<=", 250), note)
        yield from checked(tally, audit)
        yield Row("the server's memory at its peak", server.peak, "MiB", ("<=", 600))
    return tally.pages / seconds, tally.slowest(95)


def under_kills() -> Iterator[Row]:
    """The same while the server is killed over and over."""

    async def killed(server: Server) -> tuple[Tally, list[float]]:
        crowd = Crowd(server.url, PEOPLE, THINK, matches=4)
        playing, starts = asyncio.create_task(crowd.play()), []
        for _ in range(KILLS):
            await asyncio.sleep(BETWEEN_KILLS)
            await asyncio.to_thread(server.kill)
            starts.append(await asyncio.to_thread(server.start))
        return await playing, starts

    with serving() as server:
        tally, starts = asyncio.run(killed(server))
        server.kill()
        audit = audited(server.store, tally.sent)
        yield Row(f"longest start after one of {KILLS} kills", max(starts), "s", None,
                  f"{PEOPLE} people; {tally.lost:,} connections lost")  # fmt: skip
        yield from checked(tally, audit)


def checked(tally: Tally, audit: Audit) -> Iterator[Row]:
    """What must be zero."""
    wrong = audit.lost + audit.doubled + audit.hurt + audit.open + tally.errors.total()
    note = f"{audit.lost} lost, {audit.doubled} doubled, {audit.hurt} places hurt, "
    note += f"{audit.open} matches open, errors: {dict(tally.errors.most_common(3)) or 'none'}"
    yield Row(f"of {audit.moves:,} answers in {tally.matches:,} matches, wrong", wrong, "",
              ("<=", 0), note)  # fmt: skip


def in_chromium() -> Iterator[Row]:
    """Pages that a browser shows, with what keeps them fresh."""
    if not PLAYWRIGHT:
        print("in Chromium: left out; BENCH_PLAYWRIGHT names no Python with playwright")
        return
    with serving() as server:
        script = str(Path(__file__).parent / "browsers.py")
        words = [PLAYWRIGHT, script, server.url, str(BROWSERS), str(THINK)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        told = json.loads(done.stdout.splitlines()[-1])
        note = f"{told['clicks']:,} clicks; {told['matches']} of {BROWSERS} matches played, "
        note += f"{told['errors']} errors"
        what = f"95 % of clicks in {BROWSERS} pages of Chromium, until the next page stands"
        yield Row(what, 1000 * told["p95"], "ms", None, note)
