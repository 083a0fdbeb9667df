"""A study as a dataset: loading by ``datasets``, parsing of the card, and uploads."""

import csv
import inspect
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk import yaml_files
from cheaptalk.adapters import push_dataset, write_dataset
from cheaptalk.records import Store
from tests.fakes import Canned, study, with_model
from tests.participants import Answered, People

TABLES = ("matches", "seats", "answers", "calls")
GAMES = ("bargaining", "persuasion")
CHANGES = with_model() | {
    "games": [{"game": game, "fixed": {"horizon": 2}} for game in GAMES],
    "players": {"tiny": {"model": "vllm/tiny"}, "fair": {"strategy": "random"}},
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a study of two games."""
    file = tmp_path_factory.mktemp("played") / "store.sqlite"
    ct.run(study(**CHANGES), file, models=Canned())
    return file


def test_datasets_loads_every_exported_table(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    done = write_dataset(played, "small", tmp_path / "set")
    for table in TABLES:
        loaded = datasets.load_dataset(
            str(tmp_path / "set"), table, split="train", cache_dir=str(tmp_path / "cache")
        )
        frame = pl.read_parquet(tmp_path / "set" / "data" / f"{table}.parquet")
        assert (len(loaded), loaded.column_names) == (done.rows[table], frame.columns)
        assert loaded.to_polars().equals(frame)
    default = datasets.load_dataset(str(tmp_path / "set"), cache_dir=str(tmp_path / "cache"))
    assert default["train"].num_rows == done.rows["matches"] > 0


def test_card_is_parsed_by_hub_and_explains_every_column(played: Path, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    about: dict[str, Any] = {
        "title": "On: 'instances' #1",
        "licence": "cc-by-4.0",
        "citation": "Nobody (2026).",
    }
    done = write_dataset(played, "small", tmp_path / "set", **about)
    card = hub.DatasetCard.load(tmp_path / "set" / "README.md")
    assert (card.data.license, card.data.pretty_name) == (about["licence"], about["title"])
    assert {"cheaptalk", *GAMES} <= set(card.data.tags)
    assert card.data.size_categories == ["n<1K"]
    assert [entry["config_name"] for entry in card.data.configs] == list(TABLES)
    for config in card.data.configs:
        ((file,),) = [[part["path"] for part in config["data_files"]]]
        assert (tmp_path / "set" / file).is_file()
        assert f"| `{config['config_name']}` | {done.rows[config['config_name']]:,} |" in card.text
        sections = card.text.partition(f"\n### {config['config_name']}\n")[2].partition("\n#")[0]
        columns = pl.read_parquet_schema(tmp_path / "set" / file)
        assert [name for name in columns if f"\n| {name} |" not in sections] == []
    assert card.text.rstrip().endswith(about["citation"])
    spec = card.text.partition("```yaml\n")[2].partition("\n```")[0]
    assert yaml_files.parse_yaml(spec)["players"].keys() == CHANGES["players"].keys()
    assert "Some players were human participants" not in card.text


def test_participant_tables_are_opt_in(store: Store, tmp_path: Path) -> None:
    ct.run(study(), store)
    answered: list[Answered] = [("survey@1", {"strategy": "I kept it"}, None)]
    People(store, "small").come("end", "complete", answered, [], base=100)
    for people in (False, True):
        folder = tmp_path / str(people)
        done = write_dataset(store, "small", folder, people=people)
        assert ("participants" in done.rows) is people
        assert (folder / "data" / "responses.parquet").exists() is people
        with (folder / "data" / "codebook.csv").open(encoding="utf-8") as file:
            assert ("responses" in {row["table"] for row in csv.DictReader(file)}) is people
        card = (folder / "README.md").read_text()
        assert ("config_name: responses" in card) is people
        assert "config_name: calls" not in card  # a table without rows has no columns to show
        assert "Some players were human participants" in card


class Hub:
    """A mock Hub that records its requests under the method names of ``HfApi``."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def create_repo(self, repo_id: str, **options: Any) -> str:
        self.requests.append(("create_repo", {"repo_id": repo_id, **options}))
        return f"https://hub/{repo_id}"

    def upload_folder(self, **options: Any) -> None:
        self.requests.append(("upload_folder", options))


def test_dataset_is_pushed_to_private_repository_by_default(played: Path, tmp_path: Path) -> None:
    write_dataset(played, "small", tmp_path / "set")
    for private in (True, False):
        hub = Hub()
        assert push_dataset(tmp_path / "set", "me/set", private=private, api=hub) == (
            "https://hub/me/set"
        )
        (_, created), (_, sent) = hub.requests
        assert (created["private"], created["repo_type"]) == (private, "dataset")
        assert (sent["folder_path"], sent["repo_id"]) == (tmp_path / "set", "me/set")
    api = pytest.importorskip("huggingface_hub").HfApi
    for name, options in hub.requests:
        inspect.signature(getattr(api, name)).bind(None, **options)  # checks the signature


def test_invalid_dataset_is_neither_written_nor_pushed(store: Store, tmp_path: Path) -> None:
    hub = Hub()
    with pytest.raises(ct.CheaptalkError, match="is not a dataset; create one with write_dataset"):
        push_dataset(tmp_path, "me/set", api=hub)
    assert hub.requests == []
    with pytest.raises(ct.records.StoreError, match="no study"):
        write_dataset(store, "small", tmp_path / "set")
    ct.run(study(), store)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "own.txt").touch()
    with pytest.raises(ct.CheaptalkError, match="already exists; choose a new folder"):
        write_dataset(store, "small", tmp_path / "set")
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["own.txt"]
