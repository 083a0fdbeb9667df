"""The published dialogues of people, where they lie beside the repository; they are no part of it.

What is expected was counted in the files by other means. 10,095 lines for training, 1,087 and
1,052 others make the 12,234 of data.txt (Lewis et al. 2017).
"""

from collections import Counter
from pathlib import Path

import pytest

from cheaptalk.papers.self_play.importer import read_dond
from cheaptalk.records import Store
from cheaptalk.records.imports import ForeignGame, Skipped, import_matches

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "deal_or_no_deal"
DIALOGUES = 6_318
UNTOLD = 386
"""Dialogues without one selection that matters: 402 stand there once; one of these is an agreement,
and in 15 the one who was to select first aborted."""

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the published dialogues are not beside the repository"
)


@pytest.fixture(scope="module")
def found() -> list[ForeignGame | Skipped]:
    return list(read_dond([FOLDER / "data.txt"]).games)


def endings(found: list[ForeignGame | Skipped]) -> Counter[str]:
    ended = [game.table.outcome for game in found if isinstance(game, ForeignGame)]
    return Counter(outcome.model_dump()["ending"] for outcome in ended if outcome)


def test_every_line_is_read_and_every_ending_kept(found: list[ForeignGame | Skipped]) -> None:
    assert len(found) == DIALOGUES
    assert endings(found) == {"agreement": 4_766, "aborted": 758, "mismatch": 408}
    skipped = [one for one in found if isinstance(one, Skipped)]
    assert len(skipped) == UNTOLD
    assert all("no line contains the selection" in one.reason for one in skipped)


def test_most_dialogues_come_from_two_lines(found: list[ForeignGame | Skipped]) -> None:
    places = [one.location if isinstance(one, ForeignGame) else one.game for one in found]
    assert Counter(place.count("line") for place in places) == {2: 5_916, 1: 402}


def test_the_other_format_tells_of_the_same_games(found: list[ForeignGame | Skipped]) -> None:
    known = {game.id: game.table.given for game in found if isinstance(game, ForeignGame)}
    others = list(read_dond([FOLDER / "val.txt", FOLDER / "test.txt"]).games)
    games = [game for game in others if isinstance(game, ForeignGame)]
    assert endings(others) == {"agreement": 824, "aborted": 110}
    assert len(others) - len(games) == 173
    for game in games:
        assert known[game.id] == game.table.given


def test_the_file_of_contexts_is_no_file_of_dialogues() -> None:
    assert list(read_dond([FOLDER / "selfplay.txt"]).games) == [
        Skipped("selfplay.txt", "contains contexts instead of dialogues")
    ]


def test_all_that_fit_are_stored_and_replay(tmp_path: Path) -> None:
    with Store.open(tmp_path / "people.sqlite", create=True) as store:
        importing = import_matches(read_dond([FOLDER / "val.txt"]), store, "people")
        assert importing.imported == 479
        for record in store.records("people", bodies=True):
            table = record.replay()
            assert table.outcome is not None
            assert table.outcome.model_dump(mode="json") == record.outcome
