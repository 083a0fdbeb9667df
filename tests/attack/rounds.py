"""One round of each attack, which returns the promises that broke."""

import json
import os
import random
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import yaml

import cheaptalk as ct
from tests.attack.books import Books, audit
from tests.attack.commands import command_line, run_command
from tests.attack.faults import digest
from tests.attack.fuzzing import hostile_studies
from tests.attack.secrets import KEY, leaks
from tests.attack.server import BY_PATH, Hostile
from tests.attack.stores import READING, damage, damage_cell
from tests.attack.studies import DEADLINE, Run, studies
from tests.attack.wires import WIRES
from tests.fakes import Server

SHARE = 0.33
"""Share of attempts that go wrong."""


class Attacked(NamedTuple):
    """A hostile server, and the folder of the runs against it."""

    hostile: Hostile
    server: Server
    folder: Path

    def runs(self, instances: int, wire: str, seed: int) -> list[Run]:
        """Return runs of studies of a model that receives a key."""
        entries = {
            f"attacked-{name}": {
                "url": self.server.root + wire.base,
                "key": "ATTACKED_KEY",
                "like": wire.provider,
            }
            for name, wire in WIRES.items()
        }
        path = self.folder / "providers.yaml"
        path.write_text(yaml.safe_dump(entries))
        environment = os.environ | {"CHEAPTALK_PROVIDERS": str(path), "ATTACKED_KEY": KEY}
        model = f"attacked-{wire}/{WIRES[wire].name}"
        files = studies(model, self.folder, instances, seed=seed)
        return [Run(file, self.folder / "attacked.sqlite", environment) for file in files]

    def check(self, output: str, kept: Collection[str] = ()) -> list[str]:
        """Check the books and every written byte.

        Args:
            kept: digests of the answers that a cache may contain.
        """
        (self.folder / "said.txt").write_text(output)
        store = self.folder / "attacked.sqlite"
        with ct.Store.open(store) as opened:
            for study in opened.studies():
                archive = self.folder / f"{study.name}.zip"
                ct.export(opened, study.name, archive)
                zipfile.ZipFile(archive).extractall(self.folder / study.name)
        breaches = audit(Books.read(store), self.hostile.account, kept)
        tracebacks = [output] if "Traceback" in output else []
        return [*breaches, *leaks(KEY, self.folder), *tracebacks]


@contextmanager
def attacked(luck: random.Random, delay: float = 0.0) -> Iterator[Attacked]:
    """Start a hostile server with its own random faults."""
    seed = luck.randrange(2**32)
    hostile = Hostile(SHARE, delay=delay, late=2 * DEADLINE, seed=seed)
    with (
        Server(handler=hostile, paths=tuple(BY_PATH)) as server,
        tempfile.TemporaryDirectory() as name,
    ):
        yield Attacked(hostile, server, Path(name))


def faults(luck: random.Random, size: int) -> list[str]:
    """Play studies over every wire with faults in a third of all attempts."""
    breaches = []
    for wire in WIRES:
        with attacked(luck) as at:
            runs = at.runs(size, wire, luck.randrange(2**31))
            breaches += at.check("".join(run.finish() for run in runs))
    return breaches


def kills(luck: random.Random, size: int) -> list[str]:
    """Kill runs at random moments, resume them, and compare the books with the server's."""
    with attacked(luck, delay=0.05) as at:
        runs = at.runs(size, luck.choice(list(WIRES)), luck.randrange(2**31))
        for _ in range(size):
            luck.choice(runs).kill(at.server, luck.randrange(4 * size))
        return at.check("".join(run.finish() for run in runs))


def caches(luck: random.Random, size: int) -> list[str]:
    """Play with a cache, damage it, and replay with the damaged cache and kills."""
    breaches: list[str] = []
    kept: set[str] = set()
    with attacked(luck) as at, tempfile.TemporaryDirectory() as name:
        cache = Path(name) / "replies.sqlite"
        option = ("--cache-file", str(cache))
        run = at.runs(size, "chat", luck.randrange(2**31))[1]
        for interrupted in (False, True):
            for _ in range(2 * interrupted):
                run.kill(at.server, luck.randrange(2 * size), *option)
            output = run.finish(*option)
            replies = Books.read(run.store).replies
            kept |= {str(digest(reply["text"])) for reply in replies if "text" in reply}
            breaches += at.check(output, kept)
            with closing(sqlite3.connect(cache)) as database, database:
                for _ in range(size):
                    damage_cell(database, luck)
            for store_file in at.folder.glob("attacked.sqlite*"):
                store_file.unlink()
            at.hostile.sendings.clear()
        return breaches + leaks(KEY, Path(name))


def study_files(luck: random.Random, size: int) -> list[str]:
    """Plan and run invalid study files."""
    breaches = []
    bases = [path.read_text() for path in sorted(Path("examples/studies").glob("*.yaml"))]
    for written in islice(hostile_studies(bases + [SMALL] * len(bases), luck), size):
        with tempfile.TemporaryDirectory() as name:
            folder, home = Path(name) / "work", Path(name) / "home"
            folder.mkdir()
            (folder / "study.yaml").write_bytes(written)
            planned = run_command(["plan", "study.yaml", "--json"], folder, home)
            broken, allowed = planned.breaches, {"study.yaml"}
            status, text = planned.status, planned.text
            if is_small(planned.text):
                played = run_command(["run", "study.yaml"], folder, home)
                broken, status, text = broken + played.breaches, played.status, played.text
            if status == 2 and {path.name for path in folder.iterdir()} != allowed:
                broken.append(f"files are left behind: {text}")
        breaches += [f"{written!r:.3000}\n{breach}" for breach in broken]
    return breaches


SMALL = """
name: small
instances: 2
games:
  - {game: bargaining, fixed: {horizon: 3}, grid: {discounts: [[0.9, 0.9], [1, 0.8]]}}
  - {game: guess_the_number}
players:
  a: {strategy: random}
  b: {strategy: random, style: json}
pairing: all
"""


def is_small(planned: str) -> bool:
    try:
        plan = json.loads(planned)
    except ValueError:
        return False
    return plan["matches"] <= 60 and "model" not in planned


@contextmanager
def played_store() -> Iterator[tuple[Path, list[str]]]:
    """Yield a store of finished, forfeited and failed matches, and the ids of three of them."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "cheaptalk.sqlite"
        hostile = Hostile(0.1, late=2 * DEADLINE)
        with Server(handler=hostile, paths=tuple(BY_PATH)) as server:
            for file in studies(WIRES["chat"].model(server.root), path.parent, 2):
                Run(file, path).finish()
        with ct.Store.open(path) as store:
            matches = [record.id for record in islice(store.records(), 3)]
        yield path, matches


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """Yield a new folder with a copy of a file."""
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(path, Path(name) / path.name)
        yield Path(name)


def command_lines(luck: random.Random, size: int) -> list[str]:
    """Run random commands in a folder with a store and a study."""
    breaches = []
    with played_store() as (path, matches), tempfile.TemporaryDirectory() as home:
        words = ["talk", "trade", "study.yaml", *matches]
        for _ in range(size):
            with copied(path) as folder:
                (folder / "study.yaml").write_text(SMALL)
                breaches += run_command(command_line(luck, words), folder, Path(home)).breaches
    return breaches


def stores(luck: random.Random, size: int) -> list[str]:
    """Damage stores in one place each, and read them with several commands."""
    breaches = []
    with played_store() as (path, matches), tempfile.TemporaryDirectory() as home:
        named = {"STUDY": "talk", "MATCH": matches[0]}
        for _ in range(size):
            with copied(path) as folder:
                how = damage(folder / path.name, luck)
                for command in luck.sample(READING, 4):
                    arguments = [named.get(word, word) for word in command]
                    broken = run_command(arguments, folder, Path(home)).breaches
                    breaches += [f"{how}\n{breach}" for breach in broken]
    return breaches


Round = Callable[[random.Random, int], list[str]]
ROUNDS: dict[Round, tuple[int, int]] = {
    faults: (2, 12),
    kills: (4, 10),
    caches: (3, 12),
    study_files: (40, 200),
    command_lines: (40, 200),
    stores: (10, 40),
}
"""Each attack, with its sizes in a short and in a long round."""
