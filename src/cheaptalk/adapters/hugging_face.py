"""Export of a study as a Hugging Face dataset with a card, and upload to the Hub.

A dataset is a folder: ``data`` contains the Parquet files of an export and their codebook; the
header of the card, ``README.md``, lists the tables with their files.
"""

from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import jinja2

from cheaptalk.atomic_files import whole_folder
from cheaptalk.extras import needing
from cheaptalk.records import Store
from cheaptalk.records.imports import NAMES_WARNING, contains_names
from cheaptalk.records.people.queries import has_people
from cheaptalk.records.store.lookup import StoreLike, StudyLike, name_of
from cheaptalk.records.store.queries import overview
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.registry import game_title
from cheaptalk.studies.exports.exporter import Exported, export
from cheaptalk.yaml_files import as_block

CARD = jinja2.Template(
    Path(__file__).with_suffix(".md.jinja").read_text(encoding="utf-8"),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)
ROWS = {
    "matches": "a match: game, parameters, players, outcome, payoffs, metrics",
    "seats": "a seat of a match: player, settings, opponent, payoff, metrics, parameters",
    "answers": "an answer: its actor, request and action, and the raw reply",
    "chat": "a line of free chat",
    "calls": "a model call: the complete request and reply",
    "judgements": "a verdict of a judge on an answer, a seat or a match",
    "participants": "a participant",
    "responses": "a participant's answer to an item",
    "plays": "a participant's game, with its pay",
    "payments": "a payment to a participant",
    "notices": "a message, an attention check or an intervention",
    "corrections": "a correction of texts for participants",
    "wide": "a participant, with all games and answers",
    "long": "a participant's game, with the answers",
}
"""The meaning of a row in each table."""
SIZES = ((1e3, "n<1K"), (1e4, "1K<n<10K"), (1e5, "10K<n<100K"), (1e6, "100K<n<1M"))
"""The Hub's size category below this number of rows."""


def write_dataset(
    store: StoreLike,
    study: StudyLike,
    to: Path | str,
    *,
    title: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    people: bool = False,
    workers: int = 1,
) -> Exported:
    """Write a study as a Hugging Face dataset, atomically.

    ``datasets.load_dataset(FOLDER, "matches")`` then loads a table.

    Args:
        store: the store, its file or its URL.
        to: a folder that doesn't exist or is empty.
        title: the dataset's title; by default the study's name.
        licence: its licence by the Hub's name, such as ``cc-by-4.0``.
        citation: the citation for the card.
        people: whether to include the participants' tables. Other tables contain what
            participants wrote in matches in any case.
        workers: number of writing processes; see :func:`.export`.

    Raises:
        StoreError: the store contains no such study.
        CheaptalkError: the study has no match, the folder can't be written, or polars is missing.
    """
    name = name_of(study)
    with Store.opened(store) as opened:
        opened.study(name)
        if not opened.count_members(name):
            raise CheaptalkError(f"{name} has no matches for a dataset; run it first")
        try:
            with whole_folder(Path(to)) as folder:
                data = folder / "data"
                done = export(opened, name, data, "parquet", people=people, workers=workers)
                codebook = (data / "codebook.md").read_text(encoding="utf-8")
                card = _card(opened, name, done.rows, title or name, licence)
                card |= {"citation": citation, "codebook": codebook.partition("\n\n")[2]}
                (folder / "README.md").write_text(CARD.render(card), encoding="utf-8")
        except FileExistsError as error:
            raise CheaptalkError(f"{to} already exists; choose a new folder") from error
    return Exported(Path(to), done.rows)


def push_dataset(folder: Path | str, repo: str, *, private: bool = True, api: Any = None) -> str:
    """Upload a dataset to the Hugging Face Hub, replacing the data of any earlier version.

    Check the card and tables first: published data can't be withdrawn.

    Args:
        folder: a folder written by :func:`write_dataset`.
        repo: the repository, ``OWNER/NAME``, created if missing.
        private: whether a new repository is private.
        api: an object with the methods ``create_repo`` and ``upload_folder``; by default
            ``huggingface_hub.HfApi()``, with the token from ``HF_TOKEN`` or ``hf auth login``.

    Returns:
        The repository's URL.

    Raises:
        CheaptalkError: the folder isn't a dataset, or huggingface_hub isn't installed.
    """
    if not (Path(folder) / "README.md").is_file() or not (Path(folder) / "data").is_dir():
        raise CheaptalkError(f"{folder} is not a dataset; create one with write_dataset")
    if api is None:
        with needing("hub"):
            api = import_module("huggingface_hub").HfApi()
    address = api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
    options = {"commit_message": "A study that cheaptalk played", "delete_patterns": "data/*"}
    api.upload_folder(repo_id=repo, folder_path=Path(folder), repo_type="dataset", **options)
    return str(address)


def _card(
    store: Store, study: str, rows: dict[str, int], title: str, licence: str | None
) -> dict[str, Any]:
    """Return the values of the card's template, except for the codebook and the citation."""
    summary = store.study(study)
    counts: dict[str, Counter[str]] = {}
    for pairing in overview(store, study, past=True).pairings:
        counts.setdefault(pairing.game, Counter()).update(pairing.counts)
    tables = {name: count for name, count in rows.items() if count}
    configs = [
        {
            "config_name": name,
            "default": name == "matches",
            "data_files": [{"split": "train", "path": f"data/{name}.parquet"}],
        }
        for name in tables
    ]
    size = next((size for below, size in SIZES if rows["matches"] < below), "n>1M")
    header: dict[str, Any] = {"pretty_name": title} | ({"license": licence} if licence else {})
    header |= {"tags": ["cheaptalk", "game-theory", *counts], "size_categories": [size]}
    return {
        "header": as_block(header | {"configs": configs}),
        "title": title,
        "games": [
            {"name": name, "title": game_title(name), "counts": counts[name]}
            for name in sorted(counts)
        ],
        "package": summary.package,
        "matches": counted(rows["matches"], "match"),
        "spec": as_block(summary.spec),
        "tables": [{"name": name, "rows": n, "row": ROWS[name]} for name, n in tables.items()],
        "people": has_people(store, study),
        "named": NAMES_WARNING if contains_names(store, study) else "",
    }
