"""Hugging Face: a study as a dataset that ``datasets`` loads, with its card, and its push.

A dataset is a folder: the Parquet files of an export with their codebook in ``data``, and beside
them the card, ``README.md``, whose head says which file is which table.
"""

from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jinja2

from cheaptalk.extras import needing
from cheaptalk.records import Store
from cheaptalk.records.exports.exporter import Exported, export
from cheaptalk.records.imports import NAMED, holds_names
from cheaptalk.records.people.queries import has_people
from cheaptalk.records.store.queries import overview
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.registry import game_title
from cheaptalk.studies import Study
from cheaptalk.whole_files import whole_folder
from cheaptalk.yaml_files import as_block

CARD = jinja2.Template(
    Path(__file__).with_suffix(".md.jinja").read_text(encoding="utf-8"),
    undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True,
)  # fmt: skip
ROWS = {
    "matches": "a match: game, parameters, players, outcome, payoffs, measures",
    "answers": "an answer: who, to which question, the move, and the raw reply",
    "calls": "a call to a model: all that was sent, and all that came back",
    "judgements": "a verdict of a judge on an answer, a seat or a match",
    "participants": "a person who took part",
    "responses": "a person's answer to an item",
    "plays": "a game of a person, and what it paid",
    "payments": "a payment to a person",
}
"""What a row of each table is."""
SIZES = ((1e3, "n<1K"), (1e4, "1K<n<10K"), (1e5, "10K<n<100K"), (1e6, "100K<n<1M"))
"""How the Hub calls datasets of fewer rows than this."""


class Uploader(Protocol):
    """What sends a folder to the Hub: ``huggingface_hub.HfApi``, or what acts like it."""

    def create_repo(
        self, repo_id: str, *, repo_type: str, private: bool, exist_ok: bool
    ) -> Any: ...

    def upload_folder(
        self, *, repo_id: str, folder_path: Path, repo_type: str, commit_message: str,
        delete_patterns: str,
    ) -> Any: ...  # fmt: skip


class _Game(NamedTuple):
    """A game of a study, and its matches by status."""

    name: str
    title: str
    counts: Counter[str]


def write_dataset(
    store: Store | Path | str,
    study: Study | str,
    to: Path | str,
    *,
    title: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    people: bool = False,
    workers: int = 1,
) -> Exported:
    """Write a study as a dataset, whole or not at all.

    ``datasets.load_dataset(FOLDER, "matches")`` then loads a table of it.

    Args:
        store: the store, its file or its URL.
        to: a folder, which must not exist or be empty.
        title: what the dataset is called; by default the study's name.
        licence: under which it may be used, as the Hub names it, such as ``cc-by-4.0``.
        citation: how it wants to be cited, for the card.
        people: whether to write the tables of people who took part, where some did. What they wrote
            at tables stands in the other tables in any case.
        workers: processes that write at the same time, as :func:`.export` has them.

    Raises:
        StoreError: the store holds no such study.
        CheaptalkError: the study has no match, the place cannot be written, or polars is missing.
    """
    name = study if isinstance(study, str) else study.name
    with Store.opened(store) as opened:
        opened.study(name)
        if not opened.count_members(name):
            raise CheaptalkError(f"{name} has no match that a dataset could hold; run it first")
        try:
            with whole_folder(Path(to)) as folder:
                data = folder / "data"
                done = export(opened, name, data, "parquet", people=people, workers=workers)
                codebook = (data / "codebook.md").read_text(encoding="utf-8")
                card = _card(opened, name, done.rows, codebook, title, licence, citation)
                (folder / "README.md").write_text(card, encoding="utf-8")
        except FileExistsError as error:
            raise CheaptalkError(f"{to} is there already; name a new folder") from error
    return Exported(Path(to), done.rows)


def push_dataset(
    folder: Path | str, repo: str, *, private: bool = True, api: Uploader | None = None
) -> str:
    """Send a dataset to the Hugging Face Hub; what its ``data`` held before is replaced.

    Read its card and tables first: what is public once stays so.

    Args:
        folder: as :func:`write_dataset` wrote it.
        repo: its repository, ``OWNER/NAME``; made where there is none.
        private: whether a new one is seen by its owner alone.
        api: what sends it; by default ``huggingface_hub.HfApi()``, which takes the token from
            ``HF_TOKEN`` or ``hf auth login``.

    Returns:
        The repository's address.

    Raises:
        CheaptalkError: the folder is no dataset, or huggingface_hub is not installed.
    """
    if not (Path(folder) / "README.md").is_file() or not (Path(folder) / "data").is_dir():
        raise CheaptalkError(f"{folder} is no dataset; make one with write_dataset")
    if api is None:
        with needing("hub"):
            api = import_module("huggingface_hub").HfApi()
    address = api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
    api.upload_folder(
        repo_id=repo, folder_path=Path(folder), repo_type="dataset",
        commit_message="A study that cheaptalk played", delete_patterns="data/*",
    )  # fmt: skip
    return str(address)


def _card(
    store: Store,
    study: str,
    rows: dict[str, int],
    codebook: str,
    title: str | None,
    licence: str | None,
    citation: str | None,
) -> str:
    """The card of a dataset with these tables."""
    summary = store.study(study)
    counts: dict[str, Counter[str]] = {}
    for pairing in overview(store, study, past=True).pairings:
        counts.setdefault(pairing.game, Counter()).update(pairing.counts)
    games = [_Game(name, game_title(name), counts[name]) for name in sorted(counts)]
    tables = {name: count for name, count in rows.items() if count}
    header: dict[str, Any] = {"pretty_name": title or study}
    header |= {"license": licence} if licence else {}
    header |= {
        "tags": ["cheaptalk", "game-theory", *counts],
        "size_categories": [
            next((size for below, size in SIZES if rows["matches"] < below), "n>1M")
        ],
        "configs": [
            {"config_name": name, "default": name == "matches",
             "data_files": [{"split": "train", "path": f"data/{name}.parquet"}]}
            for name in tables
        ],
    }  # fmt: skip
    text: str = CARD.render(
        header=as_block(header), title=title or study, games=games, package=summary.package,
        matches=counted(rows["matches"], "match"), spec=as_block(summary.spec), citation=citation,
        tables=[{"name": name, "rows": n, "row": ROWS[name]} for name, n in tables.items()],
        people=has_people(store, study), named=NAMED if holds_names(store, study) else "",
        codebook=codebook.partition("\n\n")[2].replace("\n## ", "\n### ").strip(),
    )  # fmt: skip
    return text
