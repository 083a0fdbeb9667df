"""Import of the published human dialogues, which are optional data outside the repository.

The expected counts were obtained independently from the files. The 12,234 lines of data.txt are
10,095 for training, and 1,087 and 1,052 others (Lewis et al. 2017).
"""

from collections import Counter
from pathlib import Path

import pytest

from cheaptalk.papers.self_play.importer import read_dond
from cheaptalk.records import Store
from cheaptalk.records.imports import ImportedGame, Skipped, import_matches

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "deal_or_no_deal"
DIALOGUES = 6_318
MISSING_SELECTIONS = 386
"""Dialogues without a required selection: 402 have only one line; one of these is an agreement,
and in 15 the player who selects first aborted."""

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the published dialogues are not beside the repository"
)


@pytest.fixture(scope="module")
def dialogues() -> list[ImportedGame | Skipped]:
    return list(read_dond([FOLDER / "data.txt"]).games)


def endings(dialogues: list[ImportedGame | Skipped]) -> Counter[str]:
    ended = [game.table.outcome for game in dialogues if isinstance(game, ImportedGame)]
    return Counter(outcome.model_dump()["ending"] for outcome in ended if outcome)


def test_all_lines_are_read_with_their_endings(dialogues: list[ImportedGame | Skipped]) -> None:
    assert len(dialogues) == DIALOGUES
    assert endings(dialogues) == {"agreement": 4_766, "aborted": 758, "mismatch": 408}
    skipped = [game for game in dialogues if isinstance(game, Skipped)]
    assert len(skipped) == MISSING_SELECTIONS
    assert {game.reason for game in skipped} == {"the lines lack a required selection"}


def test_most_dialogues_come_from_two_lines(dialogues: list[ImportedGame | Skipped]) -> None:
    places = [game.location if isinstance(game, ImportedGame) else game.game for game in dialogues]
    assert Counter(place.count("line") for place in places) == {2: 5_916, 1: 402}


def test_tagged_format_contains_same_games(dialogues: list[ImportedGame | Skipped]) -> None:
    known = {game.id: game.table.given for game in dialogues if isinstance(game, ImportedGame)}
    others = list(read_dond([FOLDER / "val.txt", FOLDER / "test.txt"]).games)
    games = [game for game in others if isinstance(game, ImportedGame)]
    assert endings(others) == {"agreement": 824, "aborted": 110}
    assert len(others) - len(games) == 173
    for game in games:
        assert known[game.id] == game.table.given


def test_context_file_is_skipped() -> None:
    assert list(read_dond([FOLDER / "selfplay.txt"]).games) == [
        Skipped("selfplay.txt", "contains contexts instead of dialogues")
    ]


def test_imported_dialogues_replay(tmp_path: Path) -> None:
    with Store.open(tmp_path / "people.sqlite", create=True) as store:
        importing = import_matches(read_dond([FOLDER / "val.txt"]), store, "people")
        assert importing.imported == 479
        for record in store.records("people", bodies=True):
            table = record.replay()
            assert table.outcome is not None
            assert table.outcome.model_dump(mode="json") == record.outcome
