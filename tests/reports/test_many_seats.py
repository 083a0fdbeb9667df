"""Reports of games in which several seats share a role."""

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.frames import read_matches
from cheaptalk.records.store.queries import seats_of
from cheaptalk.reports.recipes.tables import estimate
from cheaptalk.reports.study import figures
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.rules.registry import GAMES
from tests.crowds import COLLECTING, GIVING
from tests.pages import Page
from tests.played import CROWD, play
from tests.reports.conftest import report
from tests.reports.marks import boxes


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The store of a study of many seats, whose games are registered until the last test."""
    for game_spec in (GIVING, COLLECTING):
        GAMES.add(game_spec.name, game_spec)
    yield play(tmp_path_factory.mktemp("crowd"), CROWD)
    for game_spec in (GIVING, COLLECTING):
        GAMES.remove(game_spec.name)


@pytest.fixture(scope="module")
def page(crowd: Path) -> Page:
    return report(crowd.with_name("report.html"), crowd)


def records_of(path: Path, game: str) -> list[ct.MatchRecord]:
    with ct.Store.open(path) as store:
        return [record for record in store.records("crowd", bodies=True) if record.game == game]


def scores(path: Path, game: str) -> GameScores:
    with ct.Store.open(path) as store:
        frame = read_matches(store, "crowd")[game]
        return GameScores(game, frame, seats_of(store, "crowd")[game])


def gain(record: ct.MatchRecord, label: str) -> float:
    """Return the mean payoff of the givers with this label."""
    assert record.payoffs is not None
    return fmean(
        record.payoffs[place]
        for place, role in record.roles.items()
        if role == "giver" and record.label(place) == label
    )


def test_match_counts_once_for_each_player_of_a_role(crowd: Path) -> None:
    for game in ("giving", "collecting"):
        records = records_of(crowd, game)
        for line in scores(crowd, game).players["giver"].iter_rows(named=True):
            label = line["player_giver"]
            matches = [
                record
                for record in records
                if label
                in [record.label(at) for at, role in record.roles.items() if role == "giver"]
            ]
            assert line["finished"] == len(matches)
            assert line["payoff_giver.n"] == len(matches)
            assert line["payoff_giver.clusters"] == len(
                {(str(r.parameters), r.instance_key) for r in matches}
            )
            assert math.isclose(
                line["payoff_giver"], fmean(gain(record, label) for record in matches)
            )
            pots = [sum((record.outcome or {})["gifts"].values()) for record in matches]
            assert math.isclose(line["pot"], fmean(pots))
            valid_answers = [
                record.kinds[at]["ok"]
                for record in matches
                for at, role in record.roles.items()
                if role == "giver" and record.label(at) == label
            ]
            assert line["answers_ok"] == sum(valid_answers)


def test_players_of_roles_are_sorted_and_averaged(crowd: Path) -> None:
    lines = scores(crowd, "giving").players["giver"]
    gains = lines["payoff_giver"].to_list()
    assert gains == sorted(gains, reverse=True)
    assert lines["player_giver"].to_list() == ["free", "luck", "kind"]

    (free, luck) = scores(crowd, "collecting").players["keeper"].iter_rows(named=True)
    records = records_of(crowd, "collecting")
    for line in (free, luck):
        payoffs = [
            (r.payoffs or {})["keeper"]
            for r in records
            if r.label("keeper") == line["player_keeper"]
        ]
        assert line["payoff_keeper.n"] == len(payoffs) == 20
        assert math.isclose(line["payoff_keeper"], fmean(payoffs))


def test_pairings_of_many_seats_share_columns(crowd: Path, page: Page) -> None:
    ends = ["Finished", "Valid at first try"]
    scores = ["Payoff Keeper", "Pot", "Payoff Giver 1", "Payoff Giver 2"]
    headings = page.headings("collecting-pairings")
    assert headings == ["Giver 1", "Giver 2", "Keeper", *scores, *ends]
    records = records_of(crowd, "collecting")
    for row in page.tables["collecting-pairings"][1:]:
        seated = [cell.text for cell in row[:3]]
        matching = [r for r in records if [r.label(at) for at in r.seats] == seated]
        shown = [row[5], row[6], row[3]]
        for seat, cell in zip(("giver_1", "giver_2", "keeper"), shown, strict=True):
            mean = fmean((record.payoffs or {})[seat] for record in matching)
            assert cell.number() == pytest.approx(mean, rel=2e-6)

    assert page.headings("giving-pairings") == ["Players", "Payoff Giver", "Pot", *ends]
    assert page.headings("giving-players")[:2] == ["Player", "Payoff Giver"]
    rows = {row[0].text: row for row in page.tables["giving-pairings"][1:]}
    assert len(rows) == 9 + 3
    records = records_of(crowd, "giving")
    for record in records:
        players = ct.records.line_up([record.label(place) for place in record.seats])
        matching = [
            r
            for r in records
            if [r.label(at) for at in r.seats] == [record.label(at) for at in record.seats]
        ]
        means = [fmean((r.payoffs or {}).values()) for r in matching]
        assert rows[players][3].number() == len(matching) == 5
        assert rows[players][1].number() == pytest.approx(fmean(means), rel=2e-6)


def test_figures_and_links_name_roles(page: Page, crowd: Path, tmp_path: Path) -> None:
    rows = {row[0].text: row for row in page.tables["giving-pairings"][1:]}
    two = parse_qs(urlsplit(rows["luck / luck"][1].link or "").query)
    assert two == {
        "player_giver_1": ["luck"],
        "player_giver_2": ["luck"],
        "without": ["giver_3"],
        "status": ["finished"],
    }
    ten = parse_qs(urlsplit(rows["luck x 10"][1].link or "").query)
    assert list(ten) == [*(f"player_giver_{number}" for number in range(1, 11)), "status"]

    giving, collecting = (scores(crowd, game) for game in ("giving", "collecting"))
    assert [panel.title for panel in figures.gains(giving)] == ["Payoff Giver"]
    assert [panel.title for panel in figures.metrics(giving)] == ["Pot"]
    panels = [*figures.gains(collecting), *figures.metrics(collecting)]
    assert [(panel.title, len(panel.layers)) for panel in panels] == [
        ("Payoff Giver", 1),
        ("Payoff Keeper", 1),
        ("Pot", 2),
    ]
    assert figures.matrices(scores(crowd, "giving")) == []

    path = play(tmp_path, CROWD | {"games": CROWD["games"][:1]})
    matrices = {panel.title: panel for panel in figures.matrices(scores(path, "giving"))}
    assert list(matrices) == ["Payoff Giver 1", "Pot"]
    chart = matrices["Payoff Giver 1"]
    shown = {
        (chart.y.names[round(sum(box.y) / 2)], chart.x.names[round(sum(box.x) / 2)]): box.label
        for box in boxes(chart)
    }
    assert float(shown["kind", "free"]) == 10.0  # nine of ten coins given, doubled and halved
    assert float(shown["free", "kind"]) == 19.0


def test_transcripts_show_messages_to_all_seats_once(page: Page) -> None:
    ten = next(transcript for transcript in page.transcripts() if len(transcript["players"]) == 10)
    assert set(ten["roles"].values()) == {"giver"}
    read = Page(ten["html"])
    assert read.text.count("How many coins do you put into the pot?") == 1
    assert "All 10: request 0" in read.text
    classes = [attributes.get("class") for _, attributes in read.elements]
    assert classes.count("said") == 10
    assert classes.count("turn alone") == len(
        {line for line in read.text.splitlines() if "ends with" in line}
    )


def test_mean_over_copies_stays_within_its_bounds(tmp_path: Path) -> None:
    games: list[dict[str, Any]] = [
        {"game": "pirate_game", "fixed": {"gold": 70, "players": 7}, "pairing": [["first"] * 7]},
        {"game": "battle_royale", "pairing": [["first"] * 10, ["first"] * 5 + ["second"] * 5]},
    ]
    players = {
        "first": {"strategies": {"battle_royale": "random", "pirate_game": "random"}},
        "second": {"strategies": {"battle_royale": "weakest"}},
    }
    path = play(tmp_path, {"name": "crowd", "games": games, "players": players, "instances": 6})
    pirates = scores(path, "pirate_game").players["player"].row(0, named=True)
    payoff = estimate(pirates, "payoff_player")
    assert (payoff.value, payoff.low, payoff.spread(1)) == (10, None, "constant")
    battle = scores(path, "battle_royale")
    lines = pl.concat([battle.pairings, battle.players["player"]], how="diagonal_relaxed")
    assert lines["payoff_player.high"].max() <= 0.2  # type: ignore[operator]
