"""Listing and filtering recorded matches from the command line."""

import json
from typing import Any

import pytest

import cheaptalk as ct
from tests.conftest import Command
from tests.fakes import study

GAMES = {
    "games": [
        {"game": "bargaining", "fixed": {"horizon": 2, "money": 100}},
        {"game": "negotiation", "fixed": {"horizon": 2}},
    ],
    "players": {
        "luck": {"strategy": "random"},
        "fair": {"strategy": "equal_split"},
        "mute": {"model": "script/silent"},
    },
    "pairing": [["luck", "luck"], ["fair", "luck"], ["fair", "mute"], ["fair", "fair"]],
    "instances": 2,
}


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
    return lambda *options: cheaptalk("match", "list", *options, "--store", store_path)


def list_matches(matches: Command, *options: str) -> list[dict[str, Any]]:
    done = matches(*options, "--json")
    assert done.status == 0
    rows: list[dict[str, Any]] = json.loads(done.out)
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
    shown = cheaptalk("match", "show", lines[0][:12], "--store", store_path)
    assert (shown.status, records[0].id in shown.out) == (0, True)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ((), 12),
        (("small",), 10),
        (("small", "--game", "negotiation"), 2),
        (("--game", "negotiation", "--game", "bargaining"), 12),
        (("--with-player", "mute"), 2),
        (("--with-player", "luck", "--with-player", "fair"), 2),
        (("small", "--seat-player", "alice=fair", "--game", "bargaining"), 6),
        (("--state", "forfeited"), 2),
        (("small", "--state", "forfeited", "--state", "finished"), 10),
        (("--limit", "3"), 3),
        (("small", "--where", "payoff_alice=50", "--where", "agreement > 0"), 2),
        (("small", "--where", "payoff_nobody=50"), 0),
    ],
)
def test_filters_select_matches(matches: Command, options: tuple[str, ...], count: int) -> None:
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("smal",), 'no study "smal" (did you mean "small"?)'),
        (("--game", "bargain"), 'unknown game "bargain" (did you mean "bargaining"?)'),
        (("--with-player", "lucky"), 'unknown player "lucky" (did you mean "luck"?)'),
        (("--seat-player", "alice=lucky"), 'unknown player "lucky" (did you mean "luck"?)'),
        (("--seat-player", "alice"), 'expected SEAT=LABEL, got "alice"'),
        (("--where", "agreemnt=1"), 'unknown metric "agreemnt" (did you mean "agreement"?)'),
        (("--where", "agreement=yes"), '"agreement=yes" is not a condition'),
        (("--where", "agreement"), '"agreement" is not a condition'),
        (("--state", "done"), "'done' is not one of"),
    ],
)
def test_invalid_filters_print_errors(
    matches: Command, options: tuple[str, ...], message: str
) -> None:
    done = matches(*options)
    assert done.status == 2
    assert message in done.said.replace("│ ", "")


def test_no_match_prints_message(matches: Command) -> None:
    done = matches("--where", "payoff_alice=12345")
    assert (done.status, done.out, done.err) == (0, "", "no matches found\n")
    assert matches("--where", "payoff_alice=12345", "--json").out == "[]\n"
