"""Listing and filtering recorded matches from the command line."""

from typing import Any

import pytest

import cheaptalk as ct
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import study

GAMES = CASES["games_of_listed_matches"]


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a store with two studies: two games by four pairs, and one game."""
    path = tmp_path_factory.mktemp("matches") / "two.sqlite"
    ct.run(study(**GAMES), path)
    ct.run(study(name="other", seed=1), path)
    return str(path)


@pytest.fixture
def matches(cheaptalk: Command, store_path: str) -> Command:
    """Return a function that lists its matches: ``matches("small", "--limit", "1")``."""
    return lambda *options: cheaptalk("match list", *options, "--store", store_path)


def list_matches(matches: Command, *options: str) -> list[dict[str, Any]]:
    done = matches(*options, "--json")
    assert done.status == 0
    rows: list[dict[str, Any]] = done.json
    return rows


def test_matches_are_listed_one_per_line_with_their_ids(
    cheaptalk: Command, matches: Command, store_path: str
) -> None:
    lines = matches("small").out.splitlines()
    with ct.Store.open(store_path) as store:
        records = list(store.records("small"))
    assert [line.split()[0] for line in lines] == [record.id for record in records]
    played = next(record for record in records if record.payoffs and record.label("bob") == "fair")
    line = next(line for line in lines if line.startswith(played.id))
    assert line.split("  ", 1)[1].startswith("bargaining   finished   alice fair 50, bob fair 50")
    (muted, *_) = (line for line in lines if "mute" in line)
    assert muted.endswith("forfeited  alice fair, bob mute: forfeited by mute as bob: unparsable")
    shown = cheaptalk("match show", lines[0][:12], "--store", store_path)
    assert (shown.status, records[0].id in shown.out) == (0, True)


def test_filters_select_matches(matches: Command) -> None:
    for options, count in CASES["filters_select_matches"]:
        assert len(list_matches(matches, *options)) == count


def test_filters_use_the_metrics_of_reports(matches: Command) -> None:
    agreed = {row["match_id"] for row in list_matches(matches, "--where", "agreement=1")}
    not_agreed = {row["match_id"] for row in list_matches(matches, "--where", "agreement<1")}
    finished = list_matches(matches, "--state", "finished")
    assert agreed | not_agreed == {row["match_id"] for row in finished}
    assert {sum(row["payoffs"].values()) == 0 for row in finished if row["match_id"] in not_agreed}


def test_matches_are_sorted(matches: Command) -> None:
    games = [row["game"] for row in list_matches(matches, "--sort", "game", "--reverse")]
    assert games == sorted(games, reverse=True)
    calls = [row["calls"] for row in list_matches(matches, "--sort", "calls", "--reverse")]
    assert calls == sorted(calls, reverse=True)
    assert calls[0] > 0


def test_invalid_filters_print_errors(matches: Command) -> None:
    for options, message in CASES["invalid_filters_print_errors"]:
        done = matches(*options)
        assert done.status == 2
        assert message in done.said.replace("│ ", "")


def test_no_match_prints_message(matches: Command) -> None:
    done = matches("--where", "payoff_alice=12345")
    assert (done.status, done.out, done.err) == (0, "", "no matches found\n")
    assert matches("--where", "payoff_alice=12345", "--json").out == "[]\n"
