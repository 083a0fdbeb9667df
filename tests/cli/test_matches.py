"""Listing recorded matches from the command line, and finding those that fit."""

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
def where(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of two studies: of two games by four pairs, and of one game."""
    path = tmp_path_factory.mktemp("matches") / "two.sqlite"
    ct.run(study(**GAMES), path)
    ct.run(study(name="other", seed=1), path)
    return str(path)


@pytest.fixture
def matches(cheaptalk: Command, where: str) -> Command:
    """Runs the command on that store: ``matches("small", "--limit", "1")``."""
    return lambda *options: cheaptalk("match", "list", *options, "--store", where)


def listed(matches: Command, *options: str) -> list[dict[str, Any]]:
    done = matches(*options, "--json")
    assert done.status == 0
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


def test_matches_are_listed_in_a_line_each_that_begins_with_their_id(
    cheaptalk: Command, matches: Command, where: str
) -> None:
    lines = matches("small").out.splitlines()
    with ct.Store.open(where) as store:
        records = list(store.records("small"))
    assert [line.split()[0] for line in lines] == [one.id for one in records]
    played = next(one for one in records if one.payoffs and one.label("bob") == "fair")
    line = next(line for line in lines if line.startswith(played.id))
    assert line.split("  ", 1)[1].startswith("bargaining   finished   alice fair 50, bob fair 50")
    (muted, *_) = (line for line in lines if "mute" in line)
    assert muted.endswith("forfeited  alice fair, bob mute: forfeited by mute as bob: unparsable")
    shown = cheaptalk("match", "show", lines[0][:12], "--store", where)
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
def test_matches_that_fit_are_listed(
    matches: Command, options: tuple[str, ...], count: int
) -> None:
    assert len(listed(matches, *options)) == count


def test_numbers_are_those_of_reports(matches: Command) -> None:
    agreed = {one["match_id"] for one in listed(matches, "--where", "agreement=1")}
    not_agreed = {one["match_id"] for one in listed(matches, "--where", "agreement<1")}
    finished = listed(matches, "--state", "finished")
    assert agreed | not_agreed == {one["match_id"] for one in finished}
    assert {sum(one["payoffs"].values()) == 0 for one in finished if one["match_id"] in not_agreed}


def test_matches_are_sorted(matches: Command) -> None:
    games = [one["game"] for one in listed(matches, "--sort", "game", "--reverse")]
    assert games == sorted(games, reverse=True)
    calls = [one["calls"] for one in listed(matches, "--sort", "calls", "--reverse")]
    assert calls == sorted(calls, reverse=True)
    assert calls[0] > 0


@pytest.mark.parametrize(
    ("options", "saying"),
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
def test_a_wrong_wish_is_told(matches: Command, options: tuple[str, ...], saying: str) -> None:
    done = matches(*options)
    assert done.status == 2
    assert saying in done.said.replace("│ ", "")


def test_where_nothing_fits_that_is_said(matches: Command) -> None:
    done = matches("--where", "payoff_alice=12345")
    assert (done.status, done.out, done.err) == (0, "", "no matches found\n")
    assert matches("--where", "payoff_alice=12345", "--json").out == "[]\n"
