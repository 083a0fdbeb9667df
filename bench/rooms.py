"""Load test of rooms: page load times, and data integrity when the server is killed.

Bots play against scripted players over loopback, with the server in a separate process. An audit of
the store then checks that each answer that the server confirmed is recorded exactly once, in order.
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import cheaptalk as ct
from bench.rows import Row
from cheaptalk.loopback import listening
from cheaptalk.records import examine
from cheaptalk.records.people.participants import kept_rooms
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
"""Path of a Python with Playwright; if empty, the test in Chromium is skipped."""
ONLY = 1
"""Id of the only study in a store."""
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
    """A room server in a separate process, which can be killed and restarted.

    Attributes:
        folder: the folder of the study file and the store.
        study: the study that it serves.
        port: the port; 0 until the first start.
        peak: the maximum peak memory of its processes, in MiB.
        process: the current process.
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
        """Start the server, wait until it is ready, and return the seconds that this took."""
        study = self.folder / "rooms.yaml"
        study.write_text(yaml.safe_dump(dict(self.study), sort_keys=False))
        if not self.port:
            with listening(0) as listener:
                self.port = listener.getsockname()[1]
        arguments = [study, "--store", self.store, "--port", self.port]
        command = [sys.executable, "-m", "cheaptalk", "serve", *map(str, arguments)]
        began = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "http" in line, line
        return time.perf_counter() - began

    def kill(self) -> None:
        """Kill the process without a shutdown, as in a power failure."""
        assert self.process is not None
        if self.process.poll() is not None:
            return
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"VmHWM:\s+(\d+)", status)
        self.peak = max(self.peak, int(match[1]) / 1024 if match else 0.0)
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(study: Mapping[str, Any] = STUDY) -> Iterator[Server]:
    """Run a server with a new store in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name), study)
        server.start()
        try:
            yield server
        finally:
            server.kill()


class Audit(NamedTuple):
    """Results of the audit of a store.

    Attributes:
        moves: the number of recorded answers.
        lost: the number of answers that the server confirmed but did not record.
        doubled: the number of recorded answers that were not sent, or were recorded twice.
        hurt: the number of damaged places in the store.
        open: the number of unfinished matches of bots.
    """

    moves: int
    lost: int
    doubled: int
    hurt: int
    open: int


def audited(path: Path, sent: Sequence[Sent]) -> Audit:
    """Compare the recorded answers with those that the bots sent."""
    by_agent: dict[str, list[Sent]] = defaultdict(list)
    for form in sent:
        by_agent[form.link.rpartition("/")[2].rsplit(".", 2)[0]].append(form)
    study = ct.studies.parse_study(STUDY, "rooms.yaml")
    table_templates = table_templates_of(plan(study))
    recorded: dict[str, list[tuple[dict[str, Any], str]]] = defaultdict(list)
    unfinished = 0
    with ct.Store.open(path) as store:
        for code, state in kept_rooms(store, ONLY):
            visitor = next(name for name in state["visitors"].values())
            if visitor in by_agent:
                room = Room.from_record(code, state, table_templates[state["table_template"]], {})
                record = store.find(room.match.id)
                unfinished += not record.over
                recorded[visitor] += _human_answers(record)
        hurt = len(list(examine(store).damages))
    errors = [_compare(recorded[visitor], forms) for visitor, forms in by_agent.items()]
    moves = sum(map(len, recorded.values()))
    lost, doubled = (sum(counts) for counts in zip(*errors, strict=True)) if errors else (0, 0)
    return Audit(moves, lost, doubled, hurt, unfinished)


def _human_answers(record: ct.MatchRecord) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the form and the text of each answer by a human player in a match."""
    for answer in record.answers:
        if record.label(record.seat_of(answer.actor)) == "you":
            for call in answer.calls:
                if call["reply"].get("text") is not None:
                    yield call["call"]["form"], call["reply"]["text"]


def _compare(
    recorded: Sequence[tuple[dict[str, Any], str]], sent: Sequence[Sent]
) -> tuple[int, int]:
    """Return the numbers of lost and doubled answers of a bot.

    An answer whose connection broke may or may not be recorded. It was not recorded if the server
    repeated the same request.
    """
    lost = index = 0
    for form, following in zip(sent, [*sent[1:], None], strict=True):
        question = form.fields.get("question")
        repeated = following is not None and following.fields.get("question") == question
        if not form.saved and repeated:
            continue
        fields = {name: value for name, value in form.fields.items() if name != "question"}
        if index < len(recorded) and answer_text(recorded[index][0], fields) == recorded[index][1]:
            index += 1
        else:
            lost += form.saved
    return lost, len(recorded) - index


def rows() -> Iterator[Row]:
    """Yield the results under load, with kills under load, and in Chromium."""
    yield from under_load()
    yield from under_kills()
    yield from in_chromium()


def under_load() -> Iterator[Row]:
    """Yield the results of ``PEOPLE`` concurrent bots that play three matches each."""
    with serving() as server:
        began = time.perf_counter()
        tally = asyncio.run(Crowd(server.url, PEOPLE, THINK, matches=3).play())
        seconds = time.perf_counter() - began
        server.kill()
        audit = audited(server.store, tally.sent)
        load = f"{PEOPLE} players, {THINK:g} s between clicks"
        note = f"{tally.pages:,} pages, {tally.pages / seconds:.0f} pages/s; median "
        note += f"{1000 * tally.slowest(50):.0f} ms"
        yield Row(f"page load time, p95, {load}", 1000 * tally.slowest(95), "ms", ("<=", 250), note)
        yield from checked(tally, audit)
        yield Row("peak memory of the server", server.peak, "MiB", ("<=", 600))


def under_kills() -> Iterator[Row]:
    """Yield the results if the server is killed repeatedly."""

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
        yield Row(f"longest restart after {KILLS} kills", max(starts), "s", None,
                  f"{PEOPLE} players; {tally.lost:,} lost connections")  # fmt: skip
        yield from checked(tally, audit)


def checked(tally: Tally, audit: Audit) -> Iterator[Row]:
    """Yield the number of problems, which must be zero."""
    wrong = audit.lost + audit.doubled + audit.hurt + audit.open + tally.errors.total()
    note = f"{audit.lost} lost, {audit.doubled} doubled, {audit.hurt} damaged places, "
    note += f"{audit.open} open matches, errors: {dict(tally.errors.most_common(3)) or 'none'}"
    yield Row(f"problems in {audit.moves:,} answers of {tally.matches:,} matches", wrong, "",
              ("<=", 0), note)  # fmt: skip


def in_chromium() -> Iterator[Row]:
    """Yield the results of bots that play in Chromium, including live page updates."""
    if not PLAYWRIGHT:
        print("Chromium test skipped: set BENCH_PLAYWRIGHT to the path of a Python with Playwright")
        return
    with serving() as server:
        script = str(Path(__file__).parent / "browsers.py")
        command = [PLAYWRIGHT, script, server.url, str(BROWSERS), str(THINK)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        results = json.loads(done.stdout.splitlines()[-1])
        note = f"{results['clicks']:,} clicks; {results['matches']} of {BROWSERS} matches played, "
        note += f"{results['errors']} errors"
        title = f"time from click to page, p95, {BROWSERS} Chromium pages"
        yield Row(title, 1000 * results["p95"], "ms", None, note)
