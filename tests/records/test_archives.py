"""Archives: complete copies of stores in open file formats."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.records import Store, StoreError, archive, read_manifest, restore
from cheaptalk.records.copies import archives
from tests.conftest import Command
from tests.fakes import Canned, study, with_model
from tests.records.stored import essences
from tests.records.test_copying import read_tables

MEMORY = "memory://archives/first"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store of two studies, one of them unfinished."""
    path = tmp_path_factory.mktemp("filled") / "filled.sqlite"
    with Store.open(path, create=True) as store:
        ct.run(study(**with_model()), store, models=Canned(), cap=ct.studies.Cap(calls=3))
        ct.run(study(name="other", seed=3), store)
        yield store


@pytest.fixture(autouse=True)
def clear_memory() -> Iterator[None]:
    memory = fsspec.filesystem("memory")
    yield
    memory.store.clear()


def test_restored_archive_equals_store_and_resumes(filled: Store, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/kept"
    seen: list[tuple[int, int]] = []
    made = archive(filled, url, progress=lambda done, of: seen.append((done, of)))
    before = read_tables(filled)
    assert made.rows == {name: len(rows) for name, rows in before.items()}
    assert seen[-1] == (sum(made.rows.values()), sum(made.rows.values()))
    assert read_manifest(url) == made
    with Store.open(tmp_path / "new.sqlite", create=True) as back:
        restore(url, back)
        assert read_tables(back) == before
        assert ct.records.examine(back).damages == []
        with Store.open(tmp_path / "reference.sqlite", create=True) as reference:
            for target in (back, reference):
                assert ct.run(study(**with_model()), target, models=Canned()).left == 0
            assert list(essences(back, "small").items()) == list(essences(reference).items())
    players = pl.read_parquet(tmp_path / "kept" / "players-*.parquet")
    assert "vllm/tiny" in {json.loads(spec).get("model") for spec in players["spec"]}
    assert pl.read_parquet(tmp_path / "kept" / "studies-*.parquet")["name"].to_list() == [
        "small",
        "other",
    ]


def test_single_study_is_archived(filled: Store, tmp_path: Path) -> None:
    archive(filled, MEMORY, study="small")
    with Store.open(tmp_path / "new.sqlite", create=True) as back:
        restore(MEMORY, back)
        assert [summary.name for summary in back.studies()] == ["small"]
        assert list(back.records("small", bodies=True)) == list(
            filled.records("small", bodies=True)
        )
        assert {row["digest"] for row in read_tables(back)["players"]} < {
            row["digest"] for row in read_tables(filled)["players"]
        }
        assert ct.records.examine(back).damages == []
        assert ct.run(study(**with_model()), back, models=Canned()).left == 0


def test_large_tables_are_split_into_files(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "PART", 1)
    monkeypatch.setattr("cheaptalk.records.copies.copying.AT_ONCE", 2)
    made = archive(filled, MEMORY)
    assert len(made.tables["matches"]) > 1
    with Store.open(tmp_path / "new.sqlite", create=True) as back:
        restore(MEMORY, back)
        assert read_tables(back) == read_tables(filled)


def test_interrupted_archive_leaves_no_files(filled: Store, tmp_path: Path) -> None:
    def stop(done: int, of: int) -> None:
        if done > of / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        archive(filled, str(tmp_path / "kept"), progress=stop)
    assert not (tmp_path / "kept").exists()
    with pytest.raises(KeyboardInterrupt):
        archive(filled, MEMORY, progress=stop)
    assert fsspec.filesystem("memory").find("/archives") == []


def test_truncated_write_raises_error(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(fsspec.filesystem("memory"))
    usual = kind.pipe_file
    monkeypatch.setattr(
        kind, "pipe_file", lambda fs, path, data: usual(fs, path, data[:-1])
    )  # fmt: skip
    with pytest.raises(StoreError, match="differs from the data written"):
        archive(filled, MEMORY)


def test_changed_archive_is_rejected(filled: Store, tmp_path: Path) -> None:
    archive(filled, str(tmp_path / "kept"))
    (file,) = (tmp_path / "kept").glob("matches-*.parquet")
    file.write_bytes(file.read_bytes()[:-3] + b"123")
    with Store.open(tmp_path / "new.sqlite", create=True) as back:
        with pytest.raises(StoreError, match=r"matches-00000\.parquet differs from the manifest"):
            restore(str(tmp_path / "kept"), back)
        assert back.empty()
        file.unlink()
        with pytest.raises(StoreError, match="cannot be read: "):
            restore(str(tmp_path / "kept"), back)
        assert back.studies() == []
    manifest = tmp_path / "other" / "manifest.json"
    matches = archive(filled, str(manifest.parent)).rows["matches"]
    counted = manifest.read_text().replace(f'"rows": {matches},', f'"rows": {matches + 1},')
    manifest.write_text(counted)
    with (
        pytest.raises(StoreError, match=r"manifest\.json lists .* use another copy"),
        Store.open(tmp_path / "unused.sqlite", create=True) as back,
    ):
        restore(str(manifest.parent), back)
    assert not [*tmp_path.glob("unused.sqlite*")], "the new store was removed"


def test_invalid_locations_raise_error(filled: Store, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.txt").write_text("mine")
    for url, expected in (
        (f"{tmp_path}/full", "is not empty; name a new folder"),
        (f"{tmp_path}/no/such", "cannot be written: "),
        (f"{tmp_path}/full/a.txt/b", "cannot be written: "),
        ("nowhere://me:pass@secret@there", 'fsspec does not support "nowhere://"'),
    ):
        with pytest.raises(ct.CheaptalkError) as error:
            archive(filled, url)
        assert expected in str(error.value)
        assert "secret" not in str(error.value)
    assert [path.name for path in tmp_path.rglob("*") if path.suffix in (".parquet", ".json")] == []
    with pytest.raises(StoreError, match='no study "smal"'):
        archive(filled, MEMORY, study="smal")
    with pytest.raises(StoreError, match=r"has no manifest\.json: it is not an archive, or"):
        read_manifest(str(tmp_path / "full"))


def test_unsupported_manifests_are_rejected(filled: Store, tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    archive(filled, kept)
    manifest = tmp_path / "kept" / "manifest.json"
    written = json.loads(manifest.read_text())
    outside = {"name": "../a.parquet", "rows": 1, "bytes": 1, "sha256": ""}
    for change, expected in [
        ({"revision": "0001"}, "has schema version 0001, but this version uses"),
        ({"archive": 2}, "can't read .*: archive"),
        ({"tables": {"matches": [outside]}}, "can't read .*: tables"),
    ]:
        manifest.write_text(json.dumps(written | change))
        with (
            Store.open(tmp_path / "new.sqlite", create=True) as back,
            pytest.raises(StoreError, match=expected),
        ):
            restore(kept, back)


def test_missing_packages_are_named(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(ct.CheaptalkError, match=r"gs://bucket/a requires another package: .*gcsfs"):
        archive(filled, "gs://bucket/a")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ct.CheaptalkError, match=r'pip install "cheaptalk\[archive\]"'):
        archive(filled, MEMORY)


def test_commands_archive_and_restore(cheaptalk: Command, tmp_path: Path) -> None:
    ct.run(study(), tmp_path / "one.sqlite")
    done = cheaptalk("store", "archive", "kept", "--store", "one.sqlite")
    assert (done.status, done.out) == (0, "1 study with 2 matches archived in kept\n")
    done = cheaptalk("store", "restore", "kept", "two.sqlite")
    assert (done.status, done.out) == (0, "1 study with 2 matches restored to two.sqlite\n")
    assert cheaptalk("store", "restore", "kept", "two.sqlite").status == 2
    assert cheaptalk("store", "restore", "nothing", "three.sqlite").status == 2
    assert not (tmp_path / "three.sqlite").exists()


@pytest.fixture
def s3() -> Iterator[str]:
    """The address of a local mock of S3."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def test_archive_is_restored_from_s3(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, s3: str
) -> None:
    pytest.importorskip("s3fs")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "pretended")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3)
    fs = fsspec.filesystem("s3", endpoint_url=s3)
    fs.mkdir("bucket")
    archive(filled, "s3://bucket/studies/first")
    with Store.open(tmp_path / "new.sqlite", create=True) as back:
        restore("s3://bucket/studies/first", back)
        assert read_tables(back) == read_tables(filled)
    with pytest.raises(StoreError, match="is not empty"):
        archive(filled, "s3://bucket/studies/first")
    with pytest.raises(StoreError, match="cannot be written"):
        archive(filled, "s3://buckett/studies/first")
    assert fs.ls("") == ["bucket"]
