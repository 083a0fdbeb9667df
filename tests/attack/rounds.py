"""One round of each attack: what was done, and which promises broke."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import cheaptalk as ct
from tests.attack.books import Books, Breach, audit, endings, sums
from tests.attack.commands import command_line, environment, run_command
from tests.attack.faults import digest
from tests.attack.fuzzing import hostile_studies
from tests.attack.secrets import KEY, leaks
from tests.attack.server import BY_PATH, Hostile
from tests.attack.stores import READING, damage, damage_cell
from tests.attack.studies import DEADLINE, Run, studies
from tests.attack.wires import WIRES
from tests.batch_server import BatchServer
from tests.fakes import Server

SHARE = 0.33
"""Of all sendings, those that go wrong."""
AT_ONCE = 8
"""Matches under way at once where a cap is held against what was spent."""


class Found(NamedTuple):
    """What a round did, and what it found.

    Attributes:
        done: how often what was done.
        breaches: promises that did not hold.
    """

    done: Counter[str]
    breaches: list[Breach]

    def __add__(self, other: "Found") -> "Found":  # type: ignore[override]
        return Found(self.done + other.done, self.breaches + other.breaches)


class Attacked(NamedTuple):
    """A hostile server, and the folder that a run against it writes to."""

    hostile: Hostile
    server: Server
    folder: Path

    def studies(self, instances: int, wire: str, **changes: Any) -> list[Path]:
        """Studies of models that are sent a key."""
        model = f"attacked-{wire}/{WIRES[wire].name}"
        return studies(model, self.folder, instances, **changes)

    def run(self, file: Path) -> Run:
        """A run of a study of :meth:`studies`."""
        entries = {
            f"attacked-{name}": {
                "url": self.server.root + wire.base, "key": "ATTACKED_KEY", "like": wire.provider
            }
            for name, wire in WIRES.items()
        }  # fmt: skip
        providers = self.folder / "providers.yaml"
        providers.write_text(yaml.safe_dump(entries))
        known = {"CHEAPTALK_PROVIDERS": str(providers), "ATTACKED_KEY": KEY}
        return Run(file, self.folder / "attacked.sqlite", environment=os.environ | known)

    def found(self, done: Counter[str], said: str, kept: Collection[str] = ()) -> Found:
        """What the books and every byte that was written say.

        Args:
            kept: digests of the answers that a cache may hold.
        """
        (self.folder / "said.txt").write_text(said)
        store = self.folder / "attacked.sqlite"
        books, account = Books.read(store), self.hostile.account
        with ct.Store.open(store) as opened:
            for study in opened.studies():
                name = study.name
                ct.export(opened, name, self.folder / f"{name}.zip")
                zipfile.ZipFile(self.folder / f"{name}.zip").extractall(self.folder / name)
        breaches = audit(books, account, kept)
        breaches += [Breach("secret", leak) for leak in leaks(KEY, self.folder)]
        breaches += [Breach("traceback", said)] if "Traceback" in said else []
        faulted = self.hostile.done.total() - self.hostile.done["answer"]
        sent = Counter({"requests": self.hostile.done.total(), "faulted": faulted})
        return Found(done + sent + Counter(matches=len(books.matches)), breaches)


@contextmanager
def attacked(luck: random.Random, share: float = SHARE, delay: float = 0.0) -> Iterator[Attacked]:
    """A hostile server with fates of its own."""
    seed = luck.randrange(2**32)
    hostile = Hostile(share, delay=delay, late=2 * DEADLINE, seed=seed)
    with (
        Server(handler=hostile, paths=tuple(BY_PATH)) as server,
        tempfile.TemporaryDirectory() as name,
    ):
        yield Attacked(hostile, server, Path(name))


def faults(luck: random.Random, size: int) -> Found:
    """Play studies over every wire while a third of all sendings go wrong."""
    found = Found(Counter(), [])
    for wire in WIRES:
        with attacked(luck) as at:
            files = at.studies(size, wire, seed=luck.randrange(2**31))
            said = "".join(at.run(file).finish() for file in files)
            found += at.found(Counter(studies=len(files)), said)
    return found


def kills(luck: random.Random, size: int) -> Found:
    """Kill runs at any moment, go on with them, and hold the books against the server's."""
    with attacked(luck, delay=0.05) as at:
        wire = luck.choice(list(WIRES))
        files = at.studies(size, wire, seed=luck.randrange(2**31))
        met = sum(
            at.run(luck.choice(files)).kill(at.server, luck.randrange(4 * size))
            for _ in range(size)
        )
        said = "".join(at.run(file).finish() for file in files)
        return at.found(Counter(kills=met), said)


def batches(luck: random.Random, size: int) -> Found:
    """Play in batches whose calls fail, expire or go missing, killed again and again."""
    seed = luck.randrange(2**32)
    model = luck.choice(("openai/gpt-4o", "anthropic/claude-sonnet-4-5"))

    def fate(call: str, times: int) -> str:
        fates = ("answered", "answered", "expired", "overloaded", "missing", "refused")
        return (
            fates[random.Random(f"{seed}/{call}/{times}").randrange(6)] if times < 3 else fates[0]
        )

    with BatchServer(fate=fate) as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        provider, _, rest = model.partition("/")
        entry = {"url": server.url, "key": "ATTACKED_KEY", "like": provider}
        (folder / "providers.yaml").write_text(yaml.safe_dump({"attacked": entry}))
        known = {"CHEAPTALK_PROVIDERS": str(folder / "providers.yaml"), "ATTACKED_KEY": KEY}
        file = studies(f"attacked/{rest}", folder, size)[1]
        run = Run(file, folder / "batched.sqlite", environment=os.environ | known)
        options = ("--batch", "--poll-interval", "0.02")
        met = 0
        for _ in range(size):
            with run.begin(*options) as process:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(luck.uniform(0.5, 2.5))
                process.kill()
            met += process.returncode != 0
        (folder / "said.txt").write_text(run.finish(*options))
        books = Books.read(run.store)
        lost = sum(row["state"] == "unresolved" for row in books.listed.values())
        billed, had = server.billed.total(), len(books.recorded) + lost
        breaches = list(endings(books))
        breaches += [Breach("secret", leak) for leak in leaks(KEY, folder)]
        if had < billed:
            breaches.append(Breach("missing", f"{billed} billed in batches, {had} in the books"))
        if had > billed or max(server.billed.values()) > 1:
            breaches.append(Breach("twice", f"{billed} billed in batches, {had} in the books"))
        done = Counter(batches=len(server.sizes), requests=sum(server.sizes), kills=met)
        return Found(done + Counter(matches=len(books.matches)), breaches)


def caches(luck: random.Random, size: int) -> Found:
    """Play with a cache, hurt it, and play the same elsewhere with what is left of it, killed."""
    found = Found(Counter(), [])
    kept: set[str] = set()
    with attacked(luck) as at, tempfile.TemporaryDirectory() as name:
        cache = Path(name) / "replies.sqlite"
        option = ("--cache-file", str(cache))
        seed = luck.randrange(2**31)
        file = at.studies(size, "chat", seed=seed)[1]
        for _ in range(2):
            for _ in range(2 if kept else 0):
                at.run(file).kill(at.server, luck.randrange(2 * size), *option)
            said = at.run(file).finish(*option)
            replies = Books.read(at.folder / "attacked.sqlite").replies
            kept |= {str(digest(reply["text"])) for reply in replies if "text" in reply}
            found += at.found(Counter(caches=1), said, kept)
            with closing(sqlite3.connect(cache)) as hurt, hurt:
                for _ in range(size):
                    damage_cell(hurt, luck)
            for one in at.folder.glob("attacked.sqlite*"):
                one.unlink()
            at.hostile.sendings.clear()
        found += Found(Counter(), [Breach("secret", leak) for leak in leaks(KEY, Path(name))])
    return found


def caps(luck: random.Random, size: int) -> Found:
    """Spend up to a cap while servers lie, fail and stay silent."""
    breaches: list[Breach] = []
    with attacked(luck) as at:
        seed = luck.randrange(2**31)
        files = at.studies(size, "chat", seed=seed)
        said = at.run(files[1]).finish()
        whole = at.found(Counter(studies=1), said)
        each = {"tokens": sums(Books.read(at.folder / "attacked.sqlite"), at.hostile.account)}
        billed = [one.had + one.lost for one in each["tokens"]]
    for cap, all_ in (("calls", [1] * len(billed)), ("tokens", billed)):
        allowed = sum(all_) // luck.randrange(2, 6)
        with attacked(luck) as at:
            budget = {cap: allowed}
            file = at.studies(size, "chat", seed=seed, budget=budget)[1]
            with at.run(file).begin("--concurrency", str(AT_ONCE)) as process:
                said, _ = process.communicate()
            taken = at.hostile.done.total()
            if cap == "tokens":
                taken = sum(
                    one.input_tokens + one.output_tokens
                    for sendings in at.hostile.sendings.values()
                    for one in sendings
                )
            if taken > allowed + AT_ONCE * max(all_):
                breaches.append(Breach("cap", f"{taken} {cap} of {allowed}: {said}"))
            whole += Found(Counter(caps=1, requests=at.hostile.done.total()), [])
    return whole + Found(Counter(), breaches)


def study_files(luck: random.Random, size: int) -> Found:
    """Plan and run study files that nobody meant."""
    found = Found(Counter(), [])
    bases = [path.read_text() for path in sorted(Path("examples/studies").glob("*.yaml"))]
    bases += [SMALL] * len(bases)
    for written in islice(hostile_studies(bases, luck), size):
        with tempfile.TemporaryDirectory() as name:
            folder, home = Path(name) / "work", Path(name) / "home"
            folder.mkdir()
            (folder / "study.yaml").write_bytes(written)
            planned = run_command(["plan", "study.yaml", "--json"], folder, environment(home))
            breaches = list(planned.breaches)
            if is_small(planned.said):
                played = run_command(["run", "study.yaml"], folder, environment(home))
                breaches += played.breaches
                if played.status == 2 and (folder / "cheaptalk.sqlite").exists():
                    breaches.append(Breach("status", f"a store is left behind: {played.said}"))
            elif planned.status == 2 and {path.name for path in folder.iterdir()} != {"study.yaml"}:
                breaches.append(Breach("status", f"files are left behind: {planned.said}"))
        broken = [Breach(one.of, f"{written!r:.3000}\n{one.what}") for one in breaches]
        found += Found(Counter({"study files": 1}), broken)
    return found


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
    """Whether a plan is worth playing: few matches, and nobody at the other end of a network."""
    try:
        plan = json.loads(planned)
    except ValueError:
        return False
    return plan["matches"] <= 60 and "model" not in planned


def played_store(folder: Path) -> Path:
    """A store of finished, forfeited and failed matches of models and scripts."""
    path = folder / "fuzzed.sqlite"
    hostile = Hostile(0.1, late=2 * DEADLINE)
    with Server(handler=hostile, paths=tuple(BY_PATH)) as server:
        for file in studies(WIRES["chat"].model(server.root), folder, 2):
            Run(file, path).finish()
    return path


def command_lines(luck: random.Random, size: int) -> Found:
    """Type commands that nobody meant, in a folder with a store and a study."""
    found = Found(Counter(), [])
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        clean = Path(name) / "clean"
        clean.mkdir()
        shutil.copy(played_store(clean), clean / "cheaptalk.sqlite")
        (clean / "study.yaml").write_text(SMALL)
        with ct.Store.open(clean / "cheaptalk.sqlite") as store:
            words = ["talk", "trade", "study.yaml", *islice((one.id for one in store.records()), 3)]
        for number in range(size):
            folder = Path(name) / f"work-{number}"
            shutil.copytree(clean, folder)
            ended = run_command(command_line(luck, words), folder, environment(home))
            found += Found(Counter({"command lines": 1}), list(ended.breaches))
            shutil.rmtree(folder)
    return found


def stores(luck: random.Random, size: int) -> Found:
    """Hurt stores in one place each, and read them with every command that reads."""
    found = Found(Counter(), [])
    with tempfile.TemporaryDirectory() as name:
        whole, home = played_store(Path(name)), Path(name) / "home"
        with ct.Store.open(whole) as store:
            match = next(iter(store.records())).id
        for number in range(size):
            folder = Path(name) / f"work-{number}"
            folder.mkdir()
            shutil.copy(whole, folder / "cheaptalk.sqlite")
            how = damage(folder / "cheaptalk.sqlite", luck)
            named = {"STUDY": "talk", "MATCH": match}
            for command in luck.sample(READING, 4):
                words = [named.get(word, word) for word in command]
                ended = run_command(words, folder, environment(home))
                broken = [Breach(one.of, f"{how}\n{one.what}") for one in ended.breaches]
                found += Found(Counter({"commands on hurt stores": 1}), broken)
            found += Found(Counter({"hurt stores": 1}), [])
            shutil.rmtree(folder)
    return found


Round = Callable[[random.Random, int], Found]
ROUNDS: dict[Round, tuple[int, int]] = {
    faults: (2, 12), kills: (4, 10), batches: (2, 6), caches: (3, 12), caps: (4, 12),
    study_files: (40, 200), command_lines: (40, 200), stores: (10, 40),
}  # fmt: skip
"""Each attack, with its size in a short round and in a long one."""
