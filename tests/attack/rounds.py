"""One round of each attack: counts of its actions, and the promises that broke."""

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
"""Share of attempts that go wrong."""
AT_ONCE = 8
"""Concurrent matches while a cap is compared with the amount spent."""


class Result(NamedTuple):
    """The outcome of a round.

    Attributes:
        done: counts of actions.
        breaches: promises that broke.
    """

    done: Counter[str]
    breaches: list[Breach]

    def __add__(self, other: "Result") -> "Result":  # type: ignore[override]
        return Result(self.done + other.done, self.breaches + other.breaches)


class Attacked(NamedTuple):
    """A hostile server, and the folder of the run against it."""

    hostile: Hostile
    server: Server
    folder: Path

    def studies(self, instances: int, wire: str, **changes: Any) -> list[Path]:
        """Write studies of models that receive a key."""
        model = f"attacked-{wire}/{WIRES[wire].name}"
        return studies(model, self.folder, instances, **changes)

    def run(self, file: Path) -> Run:
        """Return a run of a study from :meth:`studies`."""
        entries = {
            f"attacked-{name}": {
                "url": self.server.root + wire.base,
                "key": "ATTACKED_KEY",
                "like": wire.provider,
            }
            for name, wire in WIRES.items()
        }
        providers = self.folder / "providers.yaml"
        providers.write_text(yaml.safe_dump(entries))
        known = {"CHEAPTALK_PROVIDERS": str(providers), "ATTACKED_KEY": KEY}
        return Run(file, self.folder / "attacked.sqlite", environment=os.environ | known)

    def check(self, done: Counter[str], output: str, kept: Collection[str] = ()) -> Result:
        """Check the books and every written byte.

        Args:
            kept: digests of the answers that a cache may contain.
        """
        (self.folder / "said.txt").write_text(output)
        store = self.folder / "attacked.sqlite"
        books, account = Books.read(store), self.hostile.account
        with ct.Store.open(store) as opened:
            for study in opened.studies():
                name = study.name
                ct.export(opened, name, self.folder / f"{name}.zip")
                zipfile.ZipFile(self.folder / f"{name}.zip").extractall(self.folder / name)
        breaches = audit(books, account, kept)
        breaches += [Breach("secret", leak) for leak in leaks(KEY, self.folder)]
        breaches += [Breach("traceback", output)] if "Traceback" in output else []
        faulted = self.hostile.done.total() - self.hostile.done["answer"]
        sent = Counter({"requests": self.hostile.done.total(), "faulted": faulted})
        return Result(done + sent + Counter(matches=len(books.matches)), breaches)


@contextmanager
def attacked(luck: random.Random, share: float = SHARE, delay: float = 0.0) -> Iterator[Attacked]:
    """Start a hostile server with its own random faults."""
    seed = luck.randrange(2**32)
    hostile = Hostile(share, delay=delay, late=2 * DEADLINE, seed=seed)
    with (
        Server(handler=hostile, paths=tuple(BY_PATH)) as server,
        tempfile.TemporaryDirectory() as name,
    ):
        yield Attacked(hostile, server, Path(name))


def faults(luck: random.Random, size: int) -> Result:
    """Play studies over every wire with faults in a third of all attempts."""
    total = Result(Counter(), [])
    for wire in WIRES:
        with attacked(luck) as at:
            files = at.studies(size, wire, seed=luck.randrange(2**31))
            output = "".join(at.run(file).finish() for file in files)
            total += at.check(Counter(studies=len(files)), output)
    return total


def kills(luck: random.Random, size: int) -> Result:
    """Kill runs at random moments, resume them, and compare the books with the server's."""
    with attacked(luck, delay=0.05) as at:
        wire = luck.choice(list(WIRES))
        files = at.studies(size, wire, seed=luck.randrange(2**31))
        met = sum(
            at.run(luck.choice(files)).kill(at.server, luck.randrange(4 * size))
            for _ in range(size)
        )
        output = "".join(at.run(file).finish() for file in files)
        return at.check(Counter(kills=met), output)


def batches(luck: random.Random, size: int) -> Result:
    """Play in batches whose calls fail, expire or go missing, and kill the run repeatedly."""
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
        return Result(done + Counter(matches=len(books.matches)), breaches)


def caches(luck: random.Random, size: int) -> Result:
    """Play with a cache, damage it, and replay with the damaged cache and kills."""
    total = Result(Counter(), [])
    kept: set[str] = set()
    with attacked(luck) as at, tempfile.TemporaryDirectory() as name:
        cache = Path(name) / "replies.sqlite"
        option = ("--cache-file", str(cache))
        seed = luck.randrange(2**31)
        file = at.studies(size, "chat", seed=seed)[1]
        for _ in range(2):
            for _ in range(2 if kept else 0):
                at.run(file).kill(at.server, luck.randrange(2 * size), *option)
            output = at.run(file).finish(*option)
            replies = Books.read(at.folder / "attacked.sqlite").replies
            kept |= {str(digest(reply["text"])) for reply in replies if "text" in reply}
            total += at.check(Counter(caches=1), output, kept)
            with closing(sqlite3.connect(cache)) as database, database:
                for _ in range(size):
                    damage_cell(database, luck)
            for store_file in at.folder.glob("attacked.sqlite*"):
                store_file.unlink()
            at.hostile.sendings.clear()
        total += Result(Counter(), [Breach("secret", leak) for leak in leaks(KEY, Path(name))])
    return total


def caps(luck: random.Random, size: int) -> Result:
    """Spend up to a cap while servers misreport, fail and stay silent."""
    breaches: list[Breach] = []
    with attacked(luck) as at:
        seed = luck.randrange(2**31)
        files = at.studies(size, "chat", seed=seed)
        output = at.run(files[1]).finish()
        total = at.check(Counter(studies=1), output)
        each = {"tokens": sums(Books.read(at.folder / "attacked.sqlite"), at.hostile.account)}
        billed = [call.had + call.lost for call in each["tokens"]]
    for cap, all_ in (("calls", [1] * len(billed)), ("tokens", billed)):
        allowed = sum(all_) // luck.randrange(2, 6)
        with attacked(luck) as at:
            budget = {cap: allowed}
            file = at.studies(size, "chat", seed=seed, budget=budget)[1]
            with at.run(file).begin("--concurrency", str(AT_ONCE)) as process:
                output, _ = process.communicate()
            taken = at.hostile.done.total()
            if cap == "tokens":
                taken = sum(
                    sending.input_tokens + sending.output_tokens
                    for sendings in at.hostile.sendings.values()
                    for sending in sendings
                )
            if taken > allowed + AT_ONCE * max(all_):
                breaches.append(Breach("cap", f"{taken} {cap} of {allowed}: {output}"))
            total += Result(Counter(caps=1, requests=at.hostile.done.total()), [])
    return total + Result(Counter(), breaches)


def study_files(luck: random.Random, size: int) -> Result:
    """Plan and run invalid study files."""
    total = Result(Counter(), [])
    bases = [path.read_text() for path in sorted(Path("examples/studies").glob("*.yaml"))]
    bases += [SMALL] * len(bases)
    for written in islice(hostile_studies(bases, luck), size):
        with tempfile.TemporaryDirectory() as name:
            folder, home = Path(name) / "work", Path(name) / "home"
            folder.mkdir()
            (folder / "study.yaml").write_bytes(written)
            planned = run_command(["plan", "study.yaml", "--json"], folder, environment(home))
            breaches = list(planned.breaches)
            if is_small(planned.text):
                played = run_command(["run", "study.yaml"], folder, environment(home))
                breaches += played.breaches
                if played.status == 2 and (folder / "cheaptalk.sqlite").exists():
                    breaches.append(Breach("status", f"a store is left behind: {played.text}"))
            elif planned.status == 2 and {path.name for path in folder.iterdir()} != {"study.yaml"}:
                breaches.append(Breach("status", f"files are left behind: {planned.text}"))
        broken = [Breach(breach.of, f"{written!r:.3000}\n{breach.what}") for breach in breaches]
        total += Result(Counter({"study files": 1}), broken)
    return total


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


def played_store(folder: Path) -> Path:
    """Create a store of finished, forfeited and failed matches of models and scripts."""
    path = folder / "fuzzed.sqlite"
    hostile = Hostile(0.1, late=2 * DEADLINE)
    with Server(handler=hostile, paths=tuple(BY_PATH)) as server:
        for file in studies(WIRES["chat"].model(server.root), folder, 2):
            Run(file, path).finish()
    return path


def command_lines(luck: random.Random, size: int) -> Result:
    """Run random commands in a folder with a store and a study."""
    total = Result(Counter(), [])
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        clean = Path(name) / "clean"
        clean.mkdir()
        shutil.copy(played_store(clean), clean / "cheaptalk.sqlite")
        (clean / "study.yaml").write_text(SMALL)
        with ct.Store.open(clean / "cheaptalk.sqlite") as store:
            words = ["talk", "trade", "study.yaml", *islice((row.id for row in store.records()), 3)]
        for number in range(size):
            folder = Path(name) / f"work-{number}"
            shutil.copytree(clean, folder)
            ended = run_command(command_line(luck, words), folder, environment(home))
            total += Result(Counter({"command lines": 1}), list(ended.breaches))
            shutil.rmtree(folder)
    return total


def stores(luck: random.Random, size: int) -> Result:
    """Damage stores in one place each, and read them with several commands."""
    total = Result(Counter(), [])
    with tempfile.TemporaryDirectory() as name:
        intact, home = played_store(Path(name)), Path(name) / "home"
        with ct.Store.open(intact) as store:
            match = next(iter(store.records())).id
        for number in range(size):
            folder = Path(name) / f"work-{number}"
            folder.mkdir()
            shutil.copy(intact, folder / "cheaptalk.sqlite")
            how = damage(folder / "cheaptalk.sqlite", luck)
            named = {"STUDY": "talk", "MATCH": match}
            for command in luck.sample(READING, 4):
                words = [named.get(word, word) for word in command]
                ended = run_command(words, folder, environment(home))
                broken = [Breach(breach.of, f"{how}\n{breach.what}") for breach in ended.breaches]
                total += Result(Counter({"commands on damaged stores": 1}), broken)
            total += Result(Counter({"damaged stores": 1}), [])
            shutil.rmtree(folder)
    return total


Round = Callable[[random.Random, int], Result]
ROUNDS: dict[Round, tuple[int, int]] = {
    faults: (2, 12),
    kills: (4, 10),
    batches: (2, 6),
    caches: (3, 12),
    caps: (4, 12),
    study_files: (40, 200),
    command_lines: (40, 200),
    stores: (10, 40),
}
"""Each attack, with its sizes in a short and in a long round."""
