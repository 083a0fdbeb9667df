"""The participants and bots of previews, for each kind of study."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies import parse_study
from cheaptalk.studies.study import Study
from cheaptalk.web.console.designs.step_preview import render_step
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.previews.preview import Preview, open_preview
from cheaptalk.web.previews.settings import PreviewSettings, options_of
from cheaptalk.web.rooms.addresses import ANYWHERE
from tests.web.participants.comers import BOT, people_study

GUIDE = Path(__file__).parents[2] / "docs/people/run-a-human-study.md"
MOST_PAGES = 40
ENOUGH_SECONDS = 30.0
ALL_KINDS = """
- first_name
- instructions: {pages: [Read., The word is yes.], game: true, code_word: "yes"}
- screening: [{name: adult, ask: "18?", choices: ["yes", "no"], correct: "yes"}]
- comprehension: [{name: total, ask: Total, number: {}, correct: 100}]
- survey: {name: about, items: [{name: age, ask: Age, number: {min: 18, max: 99}}]}
- games: {after: [{quiz: {erase: true}}]}
- page: {template: "<p>{{ fields.colour }}</p>", items: [{name: colour, ask: Colour}]}
- survey: [{name: sure, ask: Sure, scale: {}, when: {colour: blue}}]
- debrief: {text: Bye., when: {age: {min: 30}}}
"""


def designed(**games: Any) -> Study:
    """Return the design of the guide, with changes of the games."""
    example = re.search(r'title="money.yaml"\n(.*?)```', GUIDE.read_text(encoding="utf-8"), re.S)
    assert example is not None
    data = yaml.safe_load(example[1])
    step = data["people"]["path"][0]["games"]
    step |= games
    for name in [name for name, value in step.items() if value is None]:
        del step[name]
    return parse_study(data, "here")


async def to_the_end(preview: Preview) -> list[Participant]:
    """Let the autopilot fill in all pages of the own seats."""
    people = [person for code in preview.own if (person := preview.person(code))]
    for _ in range(MOST_PAGES):
        for person in people:
            preview.go_on(person.code)
        await preview.wait(ENOUGH_SECONDS)
        if all(person.ending for person in people):
            break
    return people


def played(person: Participant) -> list[tuple[str, str, str]]:
    return [(play["treatment"], play["seat"], play["state"]) for play in person.plays.values()]


async def test_matching_group_is_filled_with_bots() -> None:
    study, order = designed(), "firm \u2192 person \u2192 fair"
    settings = PreviewSettings(treatment=order, own=2, start="debrief")
    async with open_preview(study, settings, ANYWHERE) as preview:
        await preview.wait(ENOUGH_SECONDS)
        first, second = (preview.person(code) for code in preview.own)
        assert first is not None
        assert second is not None
        assert [play[0] for play in played(first)] == ["firm", "person", "fair"]
        assert {play[2] for play in played(first) + played(second)} == {"finished"}
        assert first.journey.stop.name == "debrief"
        assert len(preview.experiment.people) == 12


@pytest.mark.parametrize("seat", ["alice", "bob"])
async def test_treatment_and_seat_are_as_chosen(seat: str) -> None:
    study = designed(design="between", matching="any", matching_group=None)
    for treatment in ("person", "firm"):
        settings = PreviewSettings(treatment=treatment, seat=seat)
        async with open_preview(study, settings, ANYWHERE) as preview:
            (person,) = await to_the_end(preview)
            assert played(person) == [(treatment, seat, "finished")]
            assert person.ending == "complete"


@pytest.mark.parametrize("source", ["open", "code", "prolific", "sona"])
async def test_previews_are_open_to_anyone(source: str) -> None:
    recruitment = {"source": source} | ({} if source == "open" else {"invited": ["a1"]})
    study = people_study(BOT, recruitment=recruitment)
    async with open_preview(study, PreviewSettings(), ANYWHERE) as preview:
        (person,) = await to_the_end(preview)
        assert person.ending == "complete"


async def test_texts_mention_the_deadline_of_the_study() -> None:
    """Previews have no time limits, but show texts as participants will read them."""
    study = ct.preset("trust")
    assert study is not None
    async with open_preview(study, PreviewSettings(), ANYWHERE) as preview:
        assert preview.pages.deadline == 180  # although requests have none
    page = render_step(study, (1,), "en")
    assert page is not None
    assert "Answer within 3 minutes" in page


async def test_two_own_seats_meet_in_each_game() -> None:
    study = people_study(path=[{"games": {"max": 2}}])
    async with open_preview(study, PreviewSettings(own=2), ANYWHERE) as preview:
        first, second = await to_the_end(preview)
        matches = [[play["match_id"] for play in item.plays.values()] for item in (first, second)]
        assert matches[0] == matches[1]
        assert len(preview.experiment.people) == 2


async def test_fixed_group_of_bots_stays_together() -> None:
    games = {"max": 3, "same_treatment": True, "fixed_groups": True}
    async with open_preview(
        people_study(path=[{"games": games}]), PreviewSettings(), ANYWHERE
    ) as preview:
        (person,) = await to_the_end(preview)
        assert [play[2] for play in played(person)] == ["finished"] * 3
        assert len(preview.experiment.people) == 2


async def test_models_are_replaced_by_a_mock_model() -> None:
    pairing = [["people", "bot"], ["people", "other"]]
    study = people_study(BOT, {"model": "openai/gpt-4o"})
    data = study.model_dump(mode="json", exclude_defaults=True)
    data["players"]["other"] = {"model": "anthropic/claude-sonnet-4-5"}
    study = parse_study(data | {"pairing": pairing}, "here")
    assert list(options_of(study).treatments.values()) == ["people, bot", "people, other"]
    async with open_preview(study, PreviewSettings(treatment="2"), ANYWHERE) as preview:
        assert len(preview.experiment.room_manager.table_templates) == 2
        (person,) = await to_the_end(preview)
        assert person.ending == "complete"


async def test_pages_of_all_kinds_are_filled_in() -> None:
    settings = PreviewSettings(language="de", start="debrief", strategy="equal_split")
    async with open_preview(
        people_study(path=yaml.safe_load(ALL_KINDS)), settings, ANYWHERE
    ) as preview:
        await preview.wait(ENOUGH_SECONDS)
        person = preview.person(preview.own[0])
        assert person is not None
        assert (person.journey.stop.name, preview.notes) == ("debrief", {})
        assert person.journey.values["age"] == 30
        assert person.visitor.language == "de"


async def test_step_that_is_not_reached_is_reported() -> None:
    path = [
        {"consent": "Yes?"},
        {"games": 1},
        {"debrief": {"text": "Bye.", "when": {"payoff": {"min": 1e9}}}},
    ]
    async with open_preview(
        people_study(path=path), PreviewSettings(start="debrief"), ANYWHERE
    ) as preview:
        await preview.wait(ENOUGH_SECONDS)
        assert list(preview.notes.values()) == ["debrief"]


async def test_settings_that_the_study_does_not_offer_are_refused(tmp_path: Path) -> None:
    for settings, message in (
        (PreviewSettings(treatment="x"), "x is not a treatment of this study"),
        (PreviewSettings(seat="carol"), "carol is not a seat of this study"),
        (PreviewSettings(start="x"), "choose one: consent, games, survey"),
        (PreviewSettings(language="xx"), "xx is not a language of this study"),
    ):
        with pytest.raises(CheaptalkError, match=message):
            async with open_preview(people_study(), settings, ANYWHERE, tmp_path):
                pass
    assert [*tmp_path.iterdir()] == []
