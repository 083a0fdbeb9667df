"""Matches without an answer and lost calls in a report."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.frames.unscored import BY_OTHERS, without_scored
from cheaptalk.models import Failure, ModelCall, Reply
from cheaptalk.records.ledger.ledger import lost_calls
from tests.fakes import Canned, late, study
from tests.pages import Page
from tests.reports.conftest import Reported

WALKS: dict[str, Any] = {
    "name": "walks",
    "games": [{"game": "item_bargaining"}],
    "players": {"tiny": {"model": "vllm/tiny"}, "luck": {"strategy": "random"}},
    "pairing": [["tiny", "luck"]],
    "instances": 3,
}


def played(folder: Path, models: Canned, **changes: Any) -> Path:
    path = folder / "walks.sqlite"
    with ct.Store.open(path, create=True) as store:
        ct.run(study(**WALKS | changes), store, models=models)
    return path


def refused(_: ModelCall, number: str) -> Reply:
    return Reply(failure=Failure.REFUSED)


@pytest.mark.parametrize(
    ("policy", "sentences"),
    [
        ("keep", ["Refused: 3", "kept", "Only finished matches are scored. "]),
        ("drop", ["Refused: 3", "excluded", "except 3 that the study's policy excludes"]),
        (
            "replace",
            [
                "Refused: 6",
                "excluded and replaced",
                "at most once: 3 matches of this study are such replacements",
                "except 6 that the study's policy excludes",
            ],
        ),
    ],
)
def test_methods_describe_the_treatment_of_refused_matches(
    policy: str, sentences: list[str], tmp_path: Path, reported: Reported
) -> None:
    path = played(tmp_path, Canned(refused), unanswered={"refused": policy, "max_replacements": 1})
    page = reported(path)
    for sentence in sentences:
        assert sentence in page.text
    assert ("No match finished, so there are no scores." in page.text) == (policy != "keep")
    transcripts = [transcript["html"] for transcript in page.transcripts()]
    exclusion = "excluded from metrics: player_1 refused"
    assert [exclusion in text for text in transcripts] == [policy != "keep"] * 3


def test_studies_with_valid_answers_have_no_counts_of_invalid_ones(well_page: Page) -> None:
    assert "gave no valid answer after all retries, by the kind" not in well_page.text


def test_lost_calls_are_counted(tmp_path: Path, reported: Reported) -> None:
    def slow(call: ModelCall, number: str) -> Reply:
        return late() if number.endswith("/1") else Reply(failure=Failure.REFUSED)

    path = played(tmp_path, Canned(slow))
    with ct.Store.open(path) as store:
        lost = lost_calls(store, "walks")
        assert lost["timed_out"] >= 3
        assert lost_calls(store, "other") == {}
    assert f"{sum(lost.values())} calls to players were lost: {lost['timed_out']} timed out" in (
        reported(path).text
    )


def test_players_are_responsible_for_their_ends(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "games": [{"game": "bargaining", "fixed": {"horizon": 3}}],
        "players": {
            "mute": {"model": "vllm/mute"},
            "luck": {"strategy": "random"},
            "firm": {"strategy": "fixed_demand"},
            "fair": {"strategy": "equal_split"},
        },
        "pairing": [["luck", "fair"], ["firm", "fair"], ["mute", "fair"], ["fair", "mute"]],
    }
    path = played(tmp_path, Canned(refused), **changes)
    with ct.Store.open(path) as store:
        recipe = ct.reports.study_recipe(store, "walks")
        [answer] = ct.reports.findings(store, "walks", recipe).answers.values()
        board = ct.reports.leaderboard(store, ["walks"]).tables["not-ranked"].frame
    assert answer.endswith(" mute has no finished match: 6 refused.")
    assert dict(board.select("player", "lacks").rows())["mute"] == "any finished match: 6 refused"
    assert "mute" not in answer.split(" mute has no")[0]

    rows = pl.DataFrame(
        {
            "match_id": ["a", "a", "b", "c", "d", "d"],
            "player": ["ann"] * 4 + ["bob", "ann"],
            "end": [BY_OTHERS, "refused", BY_OTHERS, "live", None, None],
        }
    )
    assert without_scored(rows) == {}
    assert without_scored(rows.head(4)) == {"ann": "1 refused, 1 forfeited by others, 1 not ended"}
