"""Participants follow the courses of their places, through dropouts and restarts."""

import asyncio
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cheaptalk.records import Store
from cheaptalk.records.people.queries import plays_of
from cheaptalk.records.people.rows import Play
from cheaptalk.studies import plan
from cheaptalk.studies.study import Study, StudyError
from tests.web.participants.comers import TWO, Comer, Open, opened, people_study

PAIRING = [["people", "people"], ["people", "bot"], ["bot", "people"]]
TREATMENTS = {"person": {"players": ["people", "people"]}, "bot": {"players": ["people", "bot"]}}
SURVEY = {"survey": [{"name": "group", "ask": "Which?", "choices": ["red", "blue"]}]}


def design_study(
    places: int, *steps: Any, at_end: Any = (), pairing: list[list[str]] = PAIRING, **games: Any
) -> Study:
    """Return a study with a design: within-subject against a person and against a bot."""
    step = {"design": "counterbalanced", "treatments": TREATMENTS} | games
    return people_study(
        pairing,
        path=[*steps, {"games": step}, *at_end],
        recruitment={"source": "prolific", "id_parameter": "PROLIFIC_PID", "places": places},
    )


def plays(folder: Path) -> dict[str, list[Play]]:
    """Return the participants' games, in order."""
    by_participant: dict[str, list[Play]] = defaultdict(list)
    with Store.open(folder / "s.sqlite") as store:
        for play in plays_of(store, "people"):
            by_participant[play.participant].append(play)
    return by_participant


async def come(site: Open, number: int, start: int = 0) -> list[Comer]:
    return [await site.enter(f"p{item}") for item in range(start, start + number)]


async def finish(comers: list[Comer]) -> Counter[str]:
    await asyncio.gather(*(comer.finish() for comer in comers))
    return Counter(comer.page.ending for comer in comers)


async def test_perfect_strangers_follow_the_schedule_after_a_restart(tmp_path: Path) -> None:
    study = design_study(
        12, matching="perfect_stranger", matching_group=4, roles="switching", rounds=1
    )
    async with opened(tmp_path, study) as site:
        comers = await come(site, 11)
        assert "Participants ready" not in (await comers[0].look()).words
        assert "Participants ready: 3 of 4" in (await comers[-1].look()).words
        await asyncio.gather(*(comer.to("done") for comer in comers[:8]))
        paths = {comer.name: comer.path for comer in comers}
    async with opened(tmp_path, study) as site:
        comers = [site.comer(name, path) for name, path in paths.items()]
        for comer in comers:
            await comer.look()
        comers += await come(site, 1, start=11)
        assert await finish(comers) == {"complete": 12}
    met: Counter[frozenset[str]] = Counter()
    people: dict[str, set[str]] = defaultdict(set)
    orders: Counter[tuple[str, ...]] = Counter()
    groups: dict[str, set[str | None]] = defaultdict(set)
    for code, games in plays(tmp_path).items():
        assert [game.state for game in games] == ["finished"] * 2
        orders[tuple(game.treatment for game in games)] += 1
        assert {game.sequence for game in games} == {" > ".join(game.treatment for game in games)}
        assert games[0].seat != games[1].seat
        for game in games:
            people[game.match_id or ""].add(code)
            groups[game.match_id or ""].add(game.matching_group)
    assert orders == {("person", "bot"): 6, ("bot", "person"): 6}
    met.update(frozenset(codes) for codes in people.values() if len(codes) == 2)
    assert (len(met), *{*met.values()}) == (6, 1)
    assert all(len(names) == 1 for names in groups.values())


async def test_replacement_takes_over_the_place_of_a_dropout(tmp_path: Path) -> None:
    study = design_study(4, matching="perfect_stranger", matching_group=4)
    async with opened(tmp_path, study) as site:
        first, *others = await come(site, 3)
        await first.send("withdraw")
        others += await come(site, 2, start=3)
        assert await finish(others) == {"complete": 4}
        full = await site.client.post("/enter", data={"known_by": "late"})
        assert full.status_code == 409
    games = plays(tmp_path)
    assert games[first.code][0].state == "left"
    assert games[others[-2].code][0].sequence == games[first.code][0].sequence
    assert len(games[others[-1].code]) == 2


@pytest.mark.parametrize("matching", ["stranger", "partner"])
async def test_others_continue_without_a_dropout_only_if_they_meet_others(
    tmp_path: Path, matching: str
) -> None:
    study = design_study(
        4,
        pairing=TWO,
        design="between",
        treatments={"person": {}},
        matching=matching,
        matching_group=4 if matching == "stranger" else 2,
        rounds=4,
    )
    async with opened(tmp_path, study) as site:
        comers = await come(site, 4)
        await asyncio.gather(*(comer.to("done") for comer in comers))
        leaver, *others = comers
        await leaver.send("withdraw")
        endings = await finish(others)
    states = [[game.state for game in plays(tmp_path)[comer.code]] for comer in others]
    if matching == "partner":
        assert endings == {"partner_left": 1, "complete": 2}
        assert sorted(states) == [["finished"] * 4] * 2 + [["finished", "partner_left"]]
    else:
        assert endings == {"complete": 3}
        assert all(len(games) == 4 for games in states)
        assert Counter(state for games in states for state in games)["partner_left"] == 3


async def test_strangers_can_skip_the_game_with_an_inactive_participant(tmp_path: Path) -> None:
    study = design_study(
        2,
        pairing=TWO,
        design="between",
        treatments={"person": {}},
        matching="stranger",
        matching_group=2,
        rounds=3,
        lobby={"minutes": 1e-6},
    )
    async with opened(tmp_path, study) as site:
        ada, emmy = await come(site, 2)
        await asyncio.gather(ada.to("done"), emmy.to("done"))
        await ada.until(lambda page: page.form("leave"))
        assert "You can skip this game." in ada.page.words
        await ada.send("leave")
        await ada.look()
        assert await finish([ada, emmy]) == {"complete": 2}
    states = {code: [game.state for game in games] for code, games in plays(tmp_path).items()}
    expected = ["finished", "partner_left", "finished"]
    assert states == {ada.code: expected, emmy.code: expected}


async def test_programs_replace_a_dropout(tmp_path: Path) -> None:
    study = design_study(
        2,
        design="fixed_order",
        matching="partner",
        lobby={"substitutes": True},
        rounds=2,
    )
    written = study.written()
    person = {"person": "browser", "away": "random", "deadline": 300}
    study = Study.model_validate(written | {"players": written["players"] | {"people": person}})
    async with opened(tmp_path, study) as site:
        ada, emmy = await come(site, 2)
        await asyncio.gather(ada.to("done"), emmy.to("done"))
        await emmy.send("withdraw")
        assert await finish([ada]) == {"complete": 1}
    assert [game.state for game in plays(tmp_path)[ada.code]] == ["finished"] * 4


async def test_late_arrivals_wait_for_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = design_study(2, {"consent": "We play."}, lobby={"waitlist": 2, "minutes": 5})
    async with opened(tmp_path, study) as site:
        ada, emmy, kurt, sofia = await come(site, 4)
        full = await site.client.post("/enter", data={"known_by": "late"})
        assert full.status_code == 409
        for comer in (ada, emmy, kurt, sofia):
            await comer.until(lambda page: not page.form("page"))
        assert "Waiting for a place" in kurt.page.words
        await ada.send("withdraw")
        await site.supervisor.check(0)
        assert "Waiting for a place" not in (await kurt.look()).words
        assert "Waiting for a place" in (await sofia.look()).words
        later = SimpleNamespace(time=lambda: time.time() + 600)
        monkeypatch.setattr("cheaptalk.web.participants.admission.places.time", later)
        await site.supervisor.check(0)
        assert (await sofia.look()).ending == "quota_full"
        assert sofia.page.code
        places = site.experiment.places
        assert places is not None
        assert places.place_of(kurt.participant) == places.place_of(ada.participant)


async def test_quotas_limit_treatments(tmp_path: Path) -> None:
    treatments = {
        "alice": {"players": ["people", "bot"], "quota": 2},
        "pair": {"players": ["people", "people"]},
    }
    study = design_study(6, design="between", treatments=treatments)
    async with opened(tmp_path, study) as site:
        comers = await come(site, 6)
        assert await finish(comers) == {"complete": 6}
        assert site.experiment.quotas.full
    treatments_played = Counter(games[0].treatment for games in plays(tmp_path).values())
    assert treatments_played == {"alice": 2, "pair": 4}
    seats = Counter(
        game.seat
        for games in plays(tmp_path).values()
        for game in games
        if game.treatment == "alice"
    )
    assert seats == {"alice": 1, "bob": 1}


async def test_orders_are_balanced_within_strata(tmp_path: Path) -> None:
    bots = {"bot": {"players": ["people", "bot"]}, "pair": {"players": ["people", "people"]}}
    study = design_study(8, SURVEY, design="between", treatments=bots, stratify="group")
    async with opened(tmp_path, study) as site:
        comers = await come(site, 8)
        for number, comer in enumerate(comers):
            comer.answers = {"group": "red" if number < 4 else "blue"}
        await asyncio.gather(*(comer.until(lambda page: not page.form("page")) for comer in comers))
        lines: dict[str, list[str]] = defaultdict(list)
        for person in site.experiment.people.values():
            assigned = person.journey.assigned
            assert assigned is not None
            lines[assigned.answer["line"]].append(assigned.answer["treatment"])
    assert {line: Counter(names) for line, names in lines.items()} == {
        f"main/{answer}": {"bot": 2, "pair": 2} for answer in ("red", "blue")
    }


async def test_steps_depend_on_the_treatments_that_were_met(tmp_path: Path) -> None:
    bot = {"treatment": "bot"}
    study = design_study(
        4,
        design="between",
        before=[{"instructions": {"name": "about_bot", "when": bot, "pages": ["A bot."]}}],
        after=[{"debrief": {"name": "debrief_pair", "when": {"treatment": "person"}, "text": "P"}}],
        at_end=[{"debrief": {"name": "debrief_bot", "when": bot, "text": "A bot."}}],
    )
    async with opened(tmp_path, study) as site:
        comers = await come(site, 4)
        assert await finish(comers) == {"complete": 4}
        shown = Counter(
            (comer.participant.plays[1]["treatment"], response.step)
            for comer in comers
            for response in comer.participant.journey.responses
            if response.step.startswith(("about", "debrief"))
        )
    assert shown == {
        ("bot", "about_bot"): 2,
        ("bot", "debrief_bot"): 2,
        ("person", "debrief_pair"): 2,
    }


@pytest.mark.parametrize(("games", "problem"), [
    ({"matching": "perfect_stranger", "matching_group": 3}, "3 is not a multiple of 2"),
    ({"matching": "perfect_stranger", "matching_group": 4, "rounds": 4},
     "of 4 participants in pairs allows at most 3 rounds; the study has 4"),
    ({"matching": "partner", "matching_group": 4}, "6 places cannot be divided into matching"),
    ({"treatments": {"bot": TREATMENTS["bot"]}, "design": "between"}, "no treatment includes"),
    ({"treatments": TREATMENTS | {"more": {}}}, "both include bargaining"),
    ({"design": "arrival"}, "treatments requires a design"),
    ({"can_stop": True}, "remove can_stop or design"),
    ({"stratify": "age"}, 'unknown item "age"'),
    ({"matching": "rotation"}, "rotation matching requires matching_group"),
    ({"before": [{"debrief": {"text": "x", "when": {"treatment": "bots"}}}]}, 'treatment "bots"'),
])  # fmt: skip
def test_infeasible_studies_are_rejected(games: dict[str, Any], problem: str) -> None:
    with pytest.raises(StudyError, match=problem):
        plan(design_study(6, **games))
