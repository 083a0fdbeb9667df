"""Import of collections: duplicates, skipped games, redacted names and the command."""

import json
import re
from pathlib import Path

import pytest

from cheaptalk.papers.glee.importer import read_glee
from cheaptalk.players import ImportedSeat
from cheaptalk.records import Store
from cheaptalk.records.imports import Skipped, contains_names, import_matches
from cheaptalk.rules import CheaptalkError
from tests.conftest import Command
from tests.papers.glee_folders import (
    AGREED,
    OFFERS,
    bargaining,
    by_id,
    write,
    write_agreed,
    write_all,
)


def test_valid_games_are_imported_despite_invalid_one(games: Path, store: Store) -> None:
    write_all(games)
    (games / "one" / "SOLD" / "game.csv").unlink()
    seen: list[int] = []
    importing = import_matches(
        read_glee(games), store, "glee-import", lambda importing: seen.append(importing.read)
    )
    assert importing.imported == 2
    assert importing.skipped == [Skipped("one/SOLD", "game.csv: is missing")]
    assert set(by_id(store)) == {"AGREED", "PITCHED"}
    assert seen == [3]


def test_importing_again_adds_no_match(games: Path, store: Store) -> None:
    write_all(games)
    import_matches(read_glee(games), store, "glee-import")
    before = {id_: record.id for id_, record in by_id(store).items()}
    again = import_matches(read_glee(games), store, "glee-import")
    assert (again.imported, again.present) == (0, 3)
    assert {id_: record.id for id_, record in by_id(store).items()} == before
    assert store.study("glee-import").counts == {"finished": 3}
    other = import_matches(read_glee(games), store, "other")
    assert (other.imported, other.present) == (0, 3)
    assert by_id(store, "other").keys() == before.keys()
    assert len(list(store.records())) == 3


def test_copy_is_already_present_and_conflicting_id_is_skipped(games: Path, store: Store) -> None:
    write_agreed(games, "a/SAME")
    write_agreed(games, "b/SAME")
    write(games, "c/SAME", bargaining(delta_1=0.5), OFFERS, AGREED)
    importing = import_matches(read_glee(games), store, "glee-import")
    assert (importing.imported, importing.present) == (1, 1)
    assert [skipped.game for skipped in importing.skipped] == ["c/SAME"]
    assert "with other moves or settings: import into another study, or rename" in (
        importing.skipped[0].reason
    )


def test_unsuitable_study_raises_error(games: Path, store: Store) -> None:
    for name in ("", "two words", "a/b", "x" * 81):
        write_agreed(games)
        with pytest.raises(CheaptalkError, match="is not a valid study name"):
            import_matches(read_glee(games), store, name)
        assert store.studies() == []
    store.register_study("played", {"players": {}})
    with pytest.raises(CheaptalkError, match='"played" is another study'):
        import_matches(read_glee(games), store, "played")


def test_folder_without_games_raises_error(games: Path) -> None:
    with pytest.raises(CheaptalkError, match=r"contains no config\.json"):
        read_glee(games)
    with pytest.raises(CheaptalkError, match="folder does not exist"):
        read_glee(games / "missing")


def test_many_games_are_stored_in_chunks(
    games: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.records.imports.importing.CHUNK", 2)
    for number in range(5):
        write_agreed(games, f"G{number}")
    seen: list[int] = []
    importing = import_matches(
        read_glee(games), store, "many", lambda importing: seen.append(importing.read)
    )
    assert (importing.imported, seen) == (5, [2, 4, 5])
    assert len(by_id(store, "many")) == 5


def test_imported_players_are_a_person_or_a_model_with_a_treatment() -> None:
    for neither in ({}, {"model": "m", "person": True}):
        with pytest.raises(ValueError, match="needs either model or person"):
            ImportedSeat.model_validate({"imported": "glee"} | neither)
    plain = ImportedSeat(imported="gama", model="m")
    assert plain.model_dump(mode="json") == {"imported": "gama", "model": "m", "person": None}
    warm = plain.model_copy(update={"treatment": {"temperature": 0.2}})
    person = ImportedSeat(imported="glee", person=True)
    for seat, label in ((plain, "m"), (warm, "m (temperature 0.2)"), (person, "human")):
        assert seat.label == label
        assert ImportedSeat.model_validate(seat.model_dump(mode="json")) == seat


# The command


def test_command_reports_imported_and_skipped(cheaptalk: Command, games: Path) -> None:
    write_all(games)
    done = cheaptalk("store", "import", "glee", str(games), "--json")
    assert done.status == 0, done.err
    shown = json.loads(done.out)
    assert list(shown)[-2:] == ["imported", "skipped"]
    assert (shown["imported"], shown["present"], shown["skipped"]) == (3, 0, [])
    (games / "one" / "SOLD" / "config.json").write_text("{")
    again = cheaptalk("store", "import", "glee", str(games), "--json")
    assert again.status == 1
    assert json.loads(again.out)["present"] == 2
    (skipped,) = json.loads(again.out)["skipped"]
    assert skipped["game"] == "one/SOLD"
    plain = cheaptalk("store", "import", "glee", str(games))
    assert re.search(r"\n +1  config\.json: is not JSON.*  one/SOLD\n", plain.out)
    assert "Traceback" not in plain.err


def test_command_groups_games_by_reason(cheaptalk: Command, games: Path, tmp_path: Path) -> None:
    for number in range(25):
        (write_agreed(games, f"G{number:02}") / "game.csv").unlink()
    none = cheaptalk("store", "import", "glee", str(games))
    assert none.status == 2
    output = none.said
    assert "games contains no game to import: " in output
    assert "game.csv: is missing (24 more skipped)" in output
    assert not list(tmp_path.glob("*.sqlite*"))
    write_agreed(games, "whole")
    done = cheaptalk("store", "import", "glee", str(games), "--redact", "Zelda")
    assert done.status == 1
    assert "     25  game.csv: is missing  G00\n" in done.out
    assert done.out.count("game.csv: is missing") == 1
    counts = json.loads(cheaptalk("store", "import", "glee", str(games), "--json").out)
    assert counts["reasons"] == {"game.csv: is missing": 25}


def test_files_without_games_are_named(cheaptalk: Command, games: Path) -> None:
    write_agreed(games, "whole")
    for name in ("readme.md", "plots/one.png"):
        (games / name).parent.mkdir(exist_ok=True)
        (games / name).touch()
    done = cheaptalk("store", "import", "glee", str(games))
    assert done.status == 0
    assert "reads no such files: readme.md and 1 other\n" in done.out
    shown = json.loads(cheaptalk("store", "import", "glee", str(games), "--json").out)
    assert shown["ignored"] == ["readme.md", "plots/one.png"]


def test_command_truncates_long_list_of_reasons(cheaptalk: Command, games: Path) -> None:
    write_agreed(games, "whole")
    for number in range(25):
        (write_agreed(games, f"G{number:02}") / "config.json").write_text(" " * number + "{")
    done = cheaptalk("store", "import", "glee", str(games))
    assert (done.status, done.out.count("config.json: is not JSON")) == (1, 20)
    assert "  and 5 more reasons; --json prints all" in done.out


def test_missing_folder_creates_no_store(cheaptalk: Command, tmp_path: Path) -> None:
    done = cheaptalk("store", "import", "glee", "missing")
    assert done.status == 2
    assert "folder does not exist" in done.err
    assert list(tmp_path.iterdir()) == []


# Names of people


def write_greeting(games: Path, name: str) -> None:
    """Write a game in which a model greets a person by name."""
    rows = [AGREED[0], AGREED[1], f'30,70,"Hello {name}, take it.",Bob,2,', AGREED[3]]
    write(games, name, bargaining(), OFFERS, rows)


def test_names_are_redacted_unless_kept_with_a_warning(
    cheaptalk: Command, games: Path, store: Store
) -> None:
    write_greeting(games, "Zelda")
    quiet = cheaptalk("store", "import", "glee", str(games))
    assert "1 name redacted" in quiet.out
    assert "names" not in quiet.err
    kept = cheaptalk("store", "import", "glee", str(games), "--keep-names", "--study", "kept")
    assert kept.status == 0
    assert "kept: messages may contain names that people wrote" in kept.err
    assert "names" not in cheaptalk("store", "export", "glee-import", "--out", "redacted").err
    assert (
        "kept: messages may contain names that people wrote"
        in cheaptalk("store", "export", "kept", "--out", "named").err
    )
    assert "Zelda" not in Path("redacted/answers.csv").read_text()
    assert "Zelda" in Path("named/answers.csv").read_text()
    both = cheaptalk("store", "import", "glee", str(games), "--keep-names", "--redact", "Quinn")
    assert (both.status, "kept or redacted, not both" in both.said) == (2, True)


def test_study_with_kept_names_stays_marked(games: Path, store: Store) -> None:
    write_greeting(games, "Zelda")
    import_matches(read_glee(games, keep_names=True), store, "mixed")
    write_greeting(games, "Quinn")
    import_matches(read_glee(games), store, "mixed")
    assert contains_names(store, "mixed")
    import_matches(read_glee(games), store, "redacted")
    assert not contains_names(store, "redacted")


def test_unsearched_import_is_marked_as_containing_names(games: Path, store: Store) -> None:
    write_greeting(games, "Zelda")
    unsearched = read_glee(games, keep_names=True)._replace(names_kept=None)
    import_matches(unsearched, store, "another")
    assert contains_names(store, "another")
