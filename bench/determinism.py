"""Byte-for-byte reproducibility of pages: ``python -m bench.determinism``.

Three new processes with different hash seeds write each page from the same store. A hash seed
changes the order of sets and unordered groups, and thereby the sums of floating-point numbers.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import cheaptalk as ct
from bench.rows import Row

HASH_SEEDS = (0, 1, 2)
STORE, PAGE = "store.sqlite", "page.html"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "report": ("report", "one"),
    "compare": ("compare", "one", "two"),
    "leaderboard": ("leaderboard", "one", "two"),
    "profile": ("profile", "boulware", "--workers", "1"),
    "metagame": ("metagame", "bargainers", "--draws", "300"),
}
"""The command that writes each page."""


def played(folder: Path) -> None:
    """Play two quickstart studies, a round robin for a meta-game, and a profile."""
    with ct.Store.open(folder / STORE, create=True) as store:
        quickstart = ct.preset("quickstart")
        assert quickstart is not None
        for name, seed in (("one", 1), ("two", 2)):
            ct.run(quickstart.model_copy(update={"name": name, "seed": seed}), store)
        players = {name: name for name in ("boulware", "conceder", "equal_split", "random")}
        ct.run(ct.Study(
            name="bargainers", games=[{"game": "bargaining"}], players=players, pairing="all",
            instances=6,
        ), store)  # fmt: skip
    written(folder, "profile", 0)


def written(folder: Path, page: str, hash_seed: int) -> str:
    """Write a page in a new process; return the digest of the page and the command's output.

    Raises:
        RuntimeError: the command failed.
    """
    command = [sys.executable, "-m", "cheaptalk", *COMMANDS[page], "--store", STORE, "--out", PAGE]
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "COLUMNS": "100"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.decode()}")
    return hashlib.sha256((folder / PAGE).read_bytes() + done.stdout).hexdigest()


def versions(page: str, folder: Path) -> int:
    """Return the number of distinct versions of a page over all hash seeds."""
    return len({written(folder, page, hash_seed) for hash_seed in HASH_SEEDS})


def rows() -> Iterator[Row]:
    """Yield the number of distinct versions of each page."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        played(folder)
        for page in COMMANDS:
            yield Row(
                f"{page}: distinct pages of the same study", versions(page, folder), "", ("<=", 1),
                f"{len(HASH_SEEDS)} new processes with different hash seeds",
            )  # fmt: skip


if __name__ == "__main__":
    for row in rows():
        print(f"{row.title:50} {row.value:.0f}", flush=True)
