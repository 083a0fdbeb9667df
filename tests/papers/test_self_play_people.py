"""The self-play recipe on a study with people: how many games they play and what they are paid."""

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.records import Status, Store
from cheaptalk.reports.recipes.findings import Findings, findings
from tests.participants import People
from tests.reports.marks import boxes

STUDY = "dialogues"
PER_POINT = {0.0: 20, 1.0: 10}
"""Cents a point by objective, as in appendix C."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Three people who play two, two and one dialogues with scripts, and one who leaves."""
    with Store.open(tmp_path_factory.mktemp("people") / "s.sqlite", create=True) as store:
        ct.run(ct.Study(
            name=STUDY, seed=3,
            games=[{"game": "deal_or_no_deal", "grid": {"objective": ["self", "coop"]}}],
            players={"human": {"strategy": "honest"}, "model": {"strategy": "fair"}},
            pairing=[["human", "model"]], instances=3,
        ), store)  # fmt: skip
        people = People(store, STUDY)
        matches = list(store.records(STUDY))
        for number, own in enumerate((matches[:2], matches[2:4], matches[4:5])):
            plays: list[dict[str, Any]] = []
            for match in own:
                assert match.status is Status.FINISHED
                assert match.payoffs is not None
                score = match.payoffs["player_1"]
                cents = 10 + round(PER_POINT[match.parameters["objective"]] * score)
                plays.append({"game": "deal_or_no_deal", "state": "finished", "match_id": match.id,
                              "seat": "player_1", "payoff": score, "cents": cents})  # fmt: skip
            if number == 2:
                plays.append({"game": "deal_or_no_deal", "state": "partner_left", "cents": 25,
                              "match_id": matches[5].id, "seat": "player_1"})  # fmt: skip
            pay = {f"game_{at}": play["cents"] for at, play in enumerate(plays)}
            people.come("end", "complete", [], plays, base=100, **pay)
        people.come("lobby", "timed_out", [], [{"game": "deal_or_no_deal", "state": "timed_out"}])
        yield store


@pytest.fixture(scope="module")
def found(store: Store) -> Findings:
    return findings(store, STUDY, "self-play", draws=100, options={"printed": "beside"})


def earned(store: Store) -> list[list[int]]:
    """What each person's games earned, in cents."""
    plays = ct.frames.plays(store, STUDY).drop_nulls("cents")
    return [one["cents"].to_list() for one in plays.partition_by("participant")]


def test_games_and_pay_by_person_are_those_of_the_store(store: Store, found: Findings) -> None:
    rows = {row["title"]: row for row in found.tables["people"].rows}
    dollars = [1 + sum(own) / 100 for own in earned(store)]
    assert len(dollars) == 3
    pay = rows["Pay, dollars"]
    assert (pay["people"], pay["mean"]) == (3, pytest.approx(fmean(dollars)))
    assert (pay["total"], pay["most"]) == (pytest.approx(sum(dollars)), pytest.approx(max(dollars)))
    assert pay["mean.low"] < pay["mean"] < pay["mean.high"]
    assert (rows["Games"]["mean"], rows["Games"]["total"]) == (2, 6)
    assert rows["Share with a bonus"]["mean"] == 1
    assert found.answers["Participants and pay"].startswith(
        f"3 participants played 6 dialogues, 2.0 each, and earned ${fmean(dollars):.2f} on average"
    )


def test_figure_4_has_a_bar_for_each_number_of_games(store: Store, found: Findings) -> None:
    games, pay = found.charts["people-figure"].panels
    assert [(sum(box.x) / 2, box.y[1]) for box in boxes(games)] == [(2, 3)]
    assert sum(box.y[1] for box in boxes(pay)) == 3
    figure = {row["row"]: row for row in found.tables["figure-4"].rows}
    assert (figure["Dialogues"]["value"], figure["Dialogues"]["value.printed"]) == (6, 1175)
    assert figure["Mean pay, dollars"]["value.printed"] == 37.5


def test_pay_by_rule_tells_objectives_and_what_games_came_to(store: Store, found: Findings) -> None:
    rows = {(row["objective"], row["ended"]): row for row in found.tables["pay-by-rule"].rows}
    plays = ct.frames.plays(store, STUDY)
    weights = {one.id: one.parameters["objective"] for one in store.records(STUDY)}
    for objective, weight in (("semi-competitive", 0.0), ("cooperative", 1.0)):
        own = [
            (play["payoff"], play["cents"] / 100) for play in plays.iter_rows(named=True)
            if play["state"] == "finished" and play["payoff"]
            and weights[play["match_id"]] == weight
        ]  # fmt: skip
        row = rows[objective, "points"]
        assert (row["dialogues"], row["rewarded"]) == (len(own), 1)
        assert row["score"] == pytest.approx(fmean(score for score, _ in own))
        assert row["earned"] == pytest.approx(fmean(paid for _, paid in own))
        points, paid = map(sum, zip(*own, strict=True))
        assert row["point"] == pytest.approx(paid / points)
    (left,) = (row for (_, ended), row in rows.items() if ended == "not finished")
    assert (left["earned"], left["score"], left["people"]) == (0.25, None, 1)


def test_a_study_without_people_has_no_such_part(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite", create=True) as store:
        ct.run(ct.Study(
            name=STUDY, games=[{"game": "deal_or_no_deal"}], players={"one": "fair"},
            pairing="self",
        ), store)  # fmt: skip
        made = findings(store, STUDY, "self-play", draws=100)
    assert "Participants and pay" not in [one.part.title for one in made.parts]
