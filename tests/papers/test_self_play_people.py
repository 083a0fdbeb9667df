"""The self-play recipe on a study with participants: number of games and pay."""

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.records import Store
from cheaptalk.reports.recipes.findings import Findings
from tests.papers.studies import play, report
from tests.participants import People
from tests.reports.marks import boxes

STUDY = "dialogues"
PART = "Participants and pay"
CENTS_PER_POINT = {0.0: 20, 1.0: 10}
"""By objective, as in appendix C."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Three participants with two, two and one dialogues with scripts, and one who leaves."""
    study = {
        "name": STUDY,
        "seed": 3,
        "instances": 3,
        "games": [{"game": "deal_or_no_deal", "grid": {"objective": ["self", "coop"]}}],
        "players": {"human": {"strategy": "honest"}, "model": {"strategy": "fair"}},
        "pairing": [["human", "model"]],
    }
    game: dict[str, Any] = {"game": "deal_or_no_deal", "seat": "player_1"}
    with Store.open(play(tmp_path_factory.mktemp("people"), study)) as store:
        people, plays = People(store, STUDY), []
        for match in store.records(STUDY):
            score = (match.payoffs or {})["player_1"]
            cents = 10 + round(CENTS_PER_POINT[match.parameters["objective"]] * score)
            result = {"state": "finished", "payoff": score, "cents": cents}
            plays.append(game | {"match_id": match.id} | result)
        plays[5] |= {"state": "partner_left", "payoff": None, "cents": 25}
        for played in (plays[:2], plays[2:4], plays[4:]):
            pay = {f"game_{at}": play["cents"] for at, play in enumerate(played)}
            people.come("end", "complete", [], played, base=100, **pay)
        people.come("lobby", "timed_out", [], [{"game": "deal_or_no_deal", "state": "timed_out"}])
        yield store


@pytest.fixture(scope="module")
def results(store: Store) -> Findings:
    return report(store, "self-play", PART, options={"printed": "beside"})


def earnings(store: Store) -> list[list[int]]:
    """Return the cents that each participant earned per game."""
    plays = ct.frames.read_plays(store, STUDY).drop_nulls("cents")
    return [frame["cents"].to_list() for frame in plays.partition_by("participant")]


def test_games_and_pay_by_participant_match_store(store: Store, results: Findings) -> None:
    rows = {row["title"]: row for row in results.tables["people"].rows}
    dollars = [1 + sum(cents) / 100 for cents in earnings(store)]
    assert len(dollars) == 3
    pay = rows["Pay, dollars"]
    assert (pay["people"], pay["mean"]) == (3, pytest.approx(fmean(dollars)))
    assert (pay["total"], pay["most"]) == (pytest.approx(sum(dollars)), pytest.approx(max(dollars)))
    assert pay["mean.low"] < pay["mean"] < pay["mean.high"]
    assert (rows["Games"]["mean"], rows["Games"]["total"]) == (2, 6)
    assert rows["Share with a bonus"]["mean"] == 1
    assert results.answers["Participants and pay"].startswith(
        f"3 participants played 6 dialogues, 2.0 each, and earned ${fmean(dollars):.2f} on average"
    )


def test_figure_4_has_bar_per_number_of_games(store: Store, results: Findings) -> None:
    games, pay = results.charts["people-figure"].panels
    assert [(sum(box.x) / 2, box.y[1]) for box in boxes(games)] == [(2, 3)]
    assert sum(box.y[1] for box in boxes(pay)) == 3
    figure = {row["row"]: row for row in results.tables["figure-4"].rows}
    assert (figure["Dialogues"]["value"], figure["Dialogues"]["value.printed"]) == (6, 1175)
    assert figure["Mean pay, dollars"]["value.printed"] == 37.5


def test_pay_by_rule_groups_objectives_and_endings(store: Store, results: Findings) -> None:
    rows = {(row["objective"], row["ended"]): row for row in results.tables["pay-by-rule"].rows}
    plays = ct.frames.read_plays(store, STUDY)
    weights = {record.id: record.parameters["objective"] for record in store.records(STUDY)}
    for objective, weight in (("semi-competitive", 0.0), ("cooperative", 1.0)):
        rewards = [
            (play["payoff"], play["cents"] / 100)
            for play in plays.iter_rows(named=True)
            if play["state"] == "finished"
            and play["payoff"]
            and weights[play["match_id"]] == weight
        ]
        row = rows[objective, "points"]
        assert (row["dialogues"], row["rewarded"]) == (len(rewards), 1)
        assert row["score"] == pytest.approx(fmean(score for score, _ in rewards))
        assert row["earned"] == pytest.approx(fmean(paid for _, paid in rewards))
        points, paid = map(sum, zip(*rewards, strict=True))
        assert row["point"] == pytest.approx(paid / points)
    (unfinished,) = (row for (_, ended), row in rows.items() if ended == "not finished")
    assert (unfinished["earned"], unfinished["score"], unfinished["people"]) == (0.25, None, 1)


def test_pay_is_missing_in_a_study_without_people(tmp_path: Path) -> None:
    players = {"one": "fair"}
    study = {"name": STUDY, "games": [{"game": "deal_or_no_deal"}], "players": players}
    (part,) = report(play(tmp_path, study, pairing="self"), "self-play", PART).parts
    assert part.lacking == "no person has completed a game of deal_or_no_deal"
