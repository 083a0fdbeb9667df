"""The study form: conversion to and from study files, validation and messages."""

import json
import re
from collections.abc import Iterator
from datetime import date
from enum import Enum
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.rules import games
from cheaptalk.studies.estimates.amounts import Range, dollars_shown
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.plans.plan import plan
from cheaptalk.studies.presets import preset_names, preset_text, study_of
from cheaptalk.studies.study import GameGrid, Study
from cheaptalk.web.console.designs.fields import Field, fields_of
from cheaptalk.web.console.designs.posted_form import StudyForm
from cheaptalk.web.console.designs.step_rows import STEP_TEMPLATES
from cheaptalk.web.console.designs.study_forecast import CostEstimator, size_of
from cheaptalk.web.console.designs.study_form import (
    STUDY,
    CheckedForm,
    NotExpressible,
    check_form,
    filled_form,
    form_of,
)
from cheaptalk.web.console.designs.study_form_page import render_counts, render_form, sections
from cheaptalk.web.console.server import make_console
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.yaml_files import parse_yaml
from tests.conftest import Command
from tests.studies.people.test_answers import SETTINGS
from tests.toys import Guessing
from tests.web.console.office import CSRF, PASSWORD, QUICK
from tests.web.walker import LINKS

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
Texts = dict[str, str]


def player(number: int, kind: str, name: str = "", **fields: str) -> Texts:
    fields = {"kind": kind, "name": name, "label": "", **fields}
    return {f"players.{number}.{key}": text for key, text in fields.items()}


def step(number: int, kind: str, around: str = "", **texts: str) -> Texts:
    fields = {"kind": kind, "around": around}
    fields |= {name.replace("__", "."): text for name, text in texts.items()}
    return {f"people.path.{number}.{key}": value for key, value in fields.items()}


FAIR, FIRM = player(0, "strategy", "equal_split", label="fair"), player(1, "strategy", "boulware")
PILOT = {"name": "pilot", "games.0.game": "bargaining", **FAIR, **FIRM}


def form(texts: Texts, *without: str) -> StudyForm:
    """Return the form of a small study with some of its fields changed or removed."""
    fields = PILOT | texts
    return StudyForm.read(
        (name, text.replace("\n", "\r\n"))
        for name, text in fields.items()
        if not name.startswith(without)
    )


def study_from(texts: Texts, *without: str) -> Study:
    return built(form(texts, *without))


def built(posted: StudyForm) -> Study:
    return study_in(check_form(posted))


def study_in(checked: CheckedForm) -> Study:
    assert checked.problems == {}
    assert checked.study is not None
    return checked.study


def reposted(sent: StudyForm) -> StudyForm:
    return StudyForm.read([(name, text.replace("\n", "\r\n")) for name, text in sent.pairs()])


@cache
def preset_form(name: str) -> CheckedForm:
    return check_form(reposted(filled_form(parse_yaml(preset_text(name)))))


def test_presets_round_trip_through_the_form() -> None:
    for name in preset_names():
        study = study_of(name)
        rebuilt = study_in(preset_form(name))
        assert rebuilt == study
        order = [[*grid.grid] for grid in rebuilt.games]
        assert order == [[*grid.grid] for grid in study.games], "a sample depends on their order"


def test_every_setting_has_a_field_that_preserves_it() -> None:
    people = {
        "title": {"en": "Money", "de": "Geld"}, "contact": "{ask} the lab", "keep_days": 30,
        "recruitment": {"source": "code", "invited": ["A1", "B2"], "places": 2, "one_browser": True,
                        "return_url": "https://example.org/{code}"},
        "limits": {"visits": 2, "games": 5, "hours": 1.5},
        "pay": {"currency": "EUR", "base": 2.5, "bonus": [{"rate": 0.1, "max": 2}],
                "paid_games": 2, "ended": {"timed_out": 1}, "aborted": 0.5, "max": 9, "game": 1,
                "show_up": 1, "max_total": 30, "min_total": 2, "offset_losses": True,
                "tasks": {"steps": ["quiz"], "amount": 0.1, "max": 1}, "budget": 500},
        "codes": {"complete": "DONE", "declined": ""}, "cohorts": ["a", "b"],
        "path": [{"consent": {"text": "Do you agree: yes, or no?"}},
                 {"games": {"max": 2, "before": [{"instructions": {"game": True}}],
                            "after": [{"quiz": {}}]}},
                 {"debrief": {"text": {"en": "Bye", "de": "Ade"}}}],
        "logo": "lab.png", "files": {"lab.png": "data:image/png;base64,iVBORw0KGgo="},
    }  # fmt: skip
    data = {
        "name": "all", "description": "Line 1.\nLine 2.", "seed": 7, "instances": 3, "repeats": 2,
        "games": [{"game": "bargaining", "fixed": {"money": 10}, "instances": 4,
                   "grid": {"messages": [True, False]}, "cases": [{"horizon": 3}, {"horizon": 4}]},
                  {"game": "negotiation", "pairing": [["ann", "gpt-4o"]]}],
        "players": {"ann": {"person": "browser", "deadline": 60, "away": {"strategy": "linear"}},
                    "fair": {"strategies": {"bargaining": "equal_split"}}, "firm": "boulware"},
        "roster": ["glee:gpt-4o"], "replace": {"gpt-4o": "openai/gpt-4.1"},
        "models": {"temperature": 0.5}, "swap": True,
        "factors": {"ann": {"tone": "kind"}, "fair": {"tone": "none"}},
        "pairing": [["ann", "fair"], ["ann", "firm"]],
        "budget": {"dollars": 5, "calls": 100, "per_match": {"tokens": 500}},
        "unanswered": {"refused": "replace", "max_replacements": 2}, "people": people,
    }  # fmt: skip
    assert Protocol.model_fields.keys() == people.keys()
    assert {*Study.model_fields} == {*data, "instances_from"}
    study = Study.model_validate(data)
    assert built(reposted(form_of(data))) == study
    shown = [field.name for fields in sections().values() for field in fields]
    assert sorted(shown) == sorted(Study.model_fields)
    later = {"name": "later", "instances_from": "pilot", "players": {"fair": "equal_split"}}
    assert built(reposted(form_of(later))) == Study.model_validate(later)


def test_questions_conditions_and_own_pages_survive_the_form() -> None:
    items = [{"name": kind, "ask": "**?**", kind: value} for kind, value in SETTINGS.items()]
    items += [{"name": "last", "ask": "{number}", "when": {"scale": {"min": 2}, "choices": "no"}}]
    own = {"template": "<p>Hi</p>\n{{ fields.a }}\n", "items": [{"name": "a", "ask": "?"}]}
    path = [{"consent": {"text": "# Title\n\nText\n"}}, {"survey": items}, {"page": own}, "games"]
    data = {
        "name": "pilot",
        "games": [{"game": "bargaining"}],
        "players": {"people": {"person": "browser"}},
        "people": {"path": path},
    }
    form = filled_form(data)  # raises NotExpressible
    assert study_in(check_form(reposted(form))) == Study.model_validate(data)


def test_study_beyond_the_form_raises_error() -> None:
    data = parse_yaml(preset_text("quickstart")) | {"description": " indented"}
    with pytest.raises(NotExpressible, match="settings that the form cannot express"):
        filled_form(data)


def test_every_default_can_be_written_in_its_field() -> None:
    for spec in games().values():
        for parameter, field in fields_of(spec.rules).items():
            default = getattr(spec.rules(), parameter)
            values = field.values(field.texts([default]))
            assert getattr(spec.rules.model_validate({parameter: values[0]}), parameter) == default
        blank = {f"games.0.values.{parameter}": "" for parameter in fields_of(spec.rules)}
        texts = {"games.0.game": spec.name, **player(0, "strategy", "random"), "pairing": "self"}
        study = study_from(blank | texts, "players.1")
        assert study.games[0].configurations() == [spec.rules()]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Unschooled:
    """A type that no schema can describe."""


class Foreign(Guessing, arbitrary_types_allowed=True):
    when: date = date(2026, 1, 1)
    colour: Colour = Colour.RED
    thing: Unschooled | None = None
    odds: dict[str, tuple[int, ...]] = {}  # noqa: RUF012 - frozen


def test_parameters_of_any_type_have_a_field() -> None:
    fields = fields_of(Foreign)
    choices = {name for name, field in fields.items() if field.kind == "choice"}
    assert choices == {"talk", "lenient", "target", "colour"}
    assert fields.keys() == Foreign.model_fields.keys()
    assert fields["colour"].options == ("red", "blue")
    assert fields["odds"].values(["{a: [1, 2]}\n\n{b: [3]}"]) == [{"a": [1, 2]}, {"b": [3]}]


def test_several_values_form_a_grid_and_one_is_fixed() -> None:
    pairs = [
        *PILOT.items(), ("games.0.values.money", "100, 1000"), ("games.0.values.messages", ""),
        ("games.0.values.messages", "false"), ("games.0.instances", "7"),
        ("games.0.values.horizon", "3\n{rounds: 9, hidden: true}"),
    ]  # fmt: skip
    assert built(StudyForm.read(pairs)).games == [
        GameGrid(
            game="bargaining",
            fixed={"messages": False},
            grid={"money": [100, 1000], "horizon": [3, {"rounds": 9, "hidden": True}]},
            instances=7,
        )
    ]


CROSSED: dict[str, Any] = {
    "name": "crossed",
    "games": [{"game": "bargaining"}],
    "players": {
        "firm": {"strategy": "linear"},
        "seller": {
            "temperature": 0.5,
            "cross": {
                "model": ["openai/gpt-4o", "openai/gpt-4o-mini"],
                "framing": {"gain": {"persona": "You sell.", "tries": 3}, "none": {}},
            },
        },
        "hawk": {"strategy": "boulware", "cross": {"power": [4, 8]}},
    },
    "pairing": [["seller", "firm"], ["hawk", "firm"]],
}


def test_crossed_players_are_one_row_with_their_factors() -> None:
    sent = reposted(form_of(CROSSED))
    rows = [(row["label"], row["kind"], row.get("name")) for row in sent.rows["players"]]
    assert rows == [
        (["firm"], ["strategy"], ["linear"]),
        (["seller"], ["model"], None),
        (["hawk"], ["strategy"], ["boulware"]),
    ]
    checked = check_form(sent)
    assert checked.study == Study.model_validate(CROSSED)
    assert checked.plan is not None
    assert "seller crosses model (gpt-4o, gpt-4o-mini) x framing (gain, none): 4 players" in (
        size_of(checked.plan).crossings
    )
    sent.rows["players"][2]["settings"] = ["cross: {power: 4}"]
    ((field, problem),) = check_form(sent).problems.items()
    assert field == "players.2.settings"
    assert "cross.power: 4 is not a list of at least two levels" in problem


def test_added_steps_can_be_moved_past_the_games() -> None:
    sent = form({})
    path = sent.rows["people.path"]
    for kind in STEP_TEMPLATES:
        sent.apply("add-people.path", kind)
    assert built(sent).people is not None
    kinds = [row["kind"] for row in path]
    assert kinds == [[kind] for kind in STEP_TEMPLATES]
    quiz, place = kinds.index(["quiz"]), kinds.index(["games"])
    assert path[quiz]["around"] == ["after"]
    assert sent.apply(f"up-people.path.{quiz}") == f"people.path.{place}"
    assert (path[place]["kind"], path[place]["around"]) == (["quiz"], ["before"])
    assert [*check_form(sent).problems] == [f"people.path.{place + 1}"], "it follows a game"
    sent.apply(f"down-people.path.{place}")
    assert (path[place]["around"], path[place + 1]["around"]) == ([""], ["after"])
    assert sent.apply("add-people.path", "survey") == f"people.path.{len(kinds) - 1}"
    assert path[-1]["kind"] == ["debrief"]
    sent.apply("remove-people.path.0")
    assert path[0]["kind"] == kinds[1]


MONEY = "games.0.values.money"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The browser of a console's owner."""
    folder = tmp_path_factory.mktemp("laboratory")
    with LaboratoryDatabase(folder) as database:
        database.staff.create_owner("owner", QUICK.hash(PASSWORD))
        app = make_console(Laboratory(folder, database, LINKS), "", "cheaptalk", QUICK)
        with TestClient(app) as opened:
            fields = {"csrf": csrf(opened, "/login"), "name": "owner", "password": PASSWORD}
            opened.post("/login", data=fields)
            yield opened


def csrf(client: TestClient, path: str = "/account") -> str:
    form = CSRF.search(client.get(path).text)
    assert form is not None
    return form[1]


class PostedForm(HTMLParser):
    """The fields that a browser would post for the form on a page, without unticked boxes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []
        self.select = ""
        self.textarea = ""
        self.feed(page.partition("<main")[2].partition("<form")[2].partition("</form>")[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name, value = attributes.get("name") or "", attributes.get("value") or ""
        game_specs = ("checkbox", "radio")
        if tag == "input" and (attributes.get("type") not in game_specs or "checked" in attributes):
            self.pairs.append((name, value))
        elif tag == "select":
            self.select = name
        elif tag == "option" and "selected" in attributes:
            self.pairs.append((self.select, value))
        elif tag == "textarea":
            self.textarea = name
            self.pairs.append((name, ""))

    def handle_data(self, data: str) -> None:
        if self.textarea:
            self.pairs[-1] = (self.textarea, self.pairs[-1][1] + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.pairs[-1] = (self.textarea, self.pairs[-1][1].removeprefix("\n"))
            self.textarea = ""


def submit(client: TestClient, sent: StudyForm, deed: str = "check", to: str = "/form") -> str:
    rows = {"do": deed, "new-games": "negotiation", "new-people.path": "survey"}
    pairs = [("csrf", csrf(client)), *sent.pairs(), *rows.items()]
    return client.post(to, content=urlencode(pairs), headers=FORM).text


def nonblank(sent: StudyForm) -> set[tuple[str, str]]:
    return {(name, text) for name, text in sent.pairs() if text.strip()}


def test_page_with_problems_keeps_the_input(client: TestClient) -> None:
    sent = form(
        {
            "name": "<two>",
            "description": "\n one & two",
            MONEY: "100, -5",
            "games.0.values.messages": "true",
            "games.0.values.horizon": "[1\n</textarea><b>",
            "pairing": "all",
            "people.contact": "a@b",
            **player(1, "model", "&", label='"<i>', settings=" a: [\n\tb"),
            **step(0, "games"),
        }
    )
    page = submit(client, sent)
    received = nonblank(StudyForm.read(PostedForm(page).pairs))
    assert {
        pair for pair in received if not pair[0].startswith(("csrf", "new-", "file"))
    } == nonblank(sent)
    problems = check_form(sent).problems
    assert len(problems) == 4
    for name in map(re.escape, problems):
        assert re.search(rf'<[^>]*aria-describedby="[^"]*\bp-{name}" aria-invalid="true"', page)
        assert re.search(rf'<p class="problem" id="p-{name}" data-problem="{name}">[^<]+\.<', page)


def test_rows_can_be_added_and_removed_without_a_script(client: TestClient) -> None:
    sent = form({})
    for deed, focus in (
        ("add-games", 'id="f-games.1.values.scale"'),
        ("add-players", 'id="f-players.2.kind"'),
        ("add-people.path", None),
        ("remove-players.0", None),
        ("remove-games.0", None),
        ("remove-games.9", None),
    ):
        page = submit(client, sent, deed)
        focused = re.findall(r"<[^>]* autofocus\b", page)
        assert [focus in tag for tag in focused if focus] == ([True] if focus else [])
        sent = StudyForm.read(PostedForm(page).pairs)
    assert [row["game"] for row in sent.rows["games"]] == [["negotiation"]]
    assert [row["name"] for row in sent.rows["players"]] == [["boulware"], [""]]
    assert [row["kind"] for row in sent.rows["people.path"]] == [["survey"]]


def test_counts_of_glee_match_the_plan_command(client: TestClient, cheaptalk: Command) -> None:
    printed = json.loads(cheaptalk("plan", "glee", "--no-estimate", "--json").out)
    planned = preset_form("glee").plan
    assert planned is not None
    size = size_of(planned)
    assert {game.game: game.configurations for game in size.games} == printed["configurations"]
    assert size.matches == printed["matches"] == 80_100
    assert size.seatings == len(printed["seatings"])
    assert size.configurations == 1_320
    page = client.get("/form?preset=glee").text
    assert "<b>80,100</b> matches" in page
    assert "<dd>1,320</dd>" in page


def test_cost_matches_the_plan_command_and_is_computed_once(
    client: TestClient, cheaptalk: Command, tmp_path: Path
) -> None:
    model = player(1, "model", "openai/gpt-4o-mini", label="gpt")
    sent = form(model | {"budget.dollars": "0.000001", "games.0.values.horizon": "2"})
    study = built(sent)
    (tmp_path / "pilot.json").write_text(study.model_dump_json(), encoding="utf-8")
    printed = json.loads(cheaptalk("plan", "pilot.json", "--json").out)
    estimator = CostEstimator()
    estimate = estimator.start(plan(study))
    assert estimator.start(plan(study.model_copy(update={"name": "other"}))) is estimate
    assert estimator.start(plan(study.model_copy(update={"instances": 2}))) is not estimate
    assert [*estimate.result().total.as_json()["dollars"]] == printed["estimate"]["dollars"]
    dollars = dollars_shown(estimate.result().total.dollars or Range(0, 0))
    for page in ("/form/cost", "/form"):
        text = submit(client, sent, "estimate", page)
        assert dollars in text
        assert "Budget.dollars allows" in text


def test_start_page_lists_every_preset(client: TestClient) -> None:
    page = client.get("/start").text
    for name in preset_names():
        assert f'href="/form?preset={name}"' in page
    assert "9\xa0scripts · 80,100\xa0matches" in page
    assert "1\xa0person, 1\xa0model · 3,280\xa0matches" in page


NAMES = ("bargaining", "all", "listed", "people", "self", "strategy", "strategies", "person")
MORE = ("model", "recorded", "glee", "equal_split", "openai/gpt-4o", "2026-02-30", "'", "games")
YAML = ("[0.9, 0.9]", "{rounds: 9}", "[a, b]", "{a: {b: [c]}}", "&a [*a]", "? [1]", "<<: 1", "- 1")
VALUES = ("", "!!int ''", "!!bool x", "null", "true", "1e999", ".nan", "0", "-1", "9" * 30)
WORDS = st.sampled_from([*NAMES, *MORE, *YAML, *VALUES]) | st.text(max_size=12)


def leaves(prefix: str, fields: tuple[Field, ...]) -> Iterator[str]:
    for field in fields:
        yield prefix + field.name
        yield from leaves(f"{prefix}{field.name}.", field.fields)


ROW_NAMES = ("around", "pages.0", "items.0.ask", "items.0.answer.kind",
             "items.0.answer.options", "items.0.answer.rows", "items.0.when.0.question",
             "items.0.when.0.value", "treatments.0.key", "text.de", "attention", "kind",
             "name", "label", "settings", "deadline", "away", "when", "text", "game",
             "cases", "instances", "pairing", "seatings", "values.money",
             "values.horizon", "values.messages", "values.names")  # fmt: skip
FIELDS = st.sampled_from(
    [
        *leaves("", tuple(STUDY.values())),
        "sample", "seatings",
        *(f"{kind}.{number}.{name}" for number in (0, 1, 5) for name in ROW_NAMES
          for kind in ("games", "players", "people.path")),
    ]
)  # fmt: skip


@given(st.lists(st.tuples(FIELDS | st.text(max_size=12), WORDS), max_size=12), st.booleans())
def test_arbitrary_forms_can_be_rendered(pairs: list[tuple[str, str]], on_top: bool) -> None:
    sent = StudyForm.read([*(form({}).pairs() if on_top else ()), *pairs])
    checked = check_form(sent)
    assert (checked.study is None) == bool(checked.problems)
    assert check_form(StudyForm.read(sent.pairs())).problems == checked.problems
    assert render_form(checked, "/form")
    assert render_counts(checked)


def test_copied_steps_and_questions_get_names_of_their_own() -> None:
    item = {"items__0__name": "a", "items__0__ask": "?"}
    sent = form({**step(0, "survey", **item), **step(1, "games")})
    assert sent.apply("copy-people.path.0") == "people.path.1"
    assert sent.apply("copy-people.path.1.items.0") == "people.path.1.items.1"
    assert sent.apply("add-people.path", "survey") == "people.path.3"
    path = study_in(check_form(sent)).people.path  # type: ignore[union-attr]
    assert [step.called for step in path] == ["survey", "survey_2", "games", "survey_3"]
    assert [item.name for item in path[1].parts[0]] == ["a", "a_2"]
