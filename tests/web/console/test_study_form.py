"""The form of a study: parsing, validation and messages."""

import json
import re
from collections.abc import Iterator
from datetime import date
from enum import Enum
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
from cheaptalk.studies.plans.plan import plan
from cheaptalk.studies.presets import preset_names, study_of
from cheaptalk.studies.study import GameGrid, Study
from cheaptalk.web.console.designs.filled_form import NotExpressible, fields_from
from cheaptalk.web.console.designs.parameter_fields import parameter_fields
from cheaptalk.web.console.designs.step_rows import STEP_TEMPLATES, StepFields, path_from
from cheaptalk.web.console.designs.study_fields import (
    GAME_TEXTS,
    PLAYER_TEXTS,
    TEXTS,
    GameFields,
    PlayerFields,
    StudyFields,
)
from cheaptalk.web.console.designs.study_forecast import CostEstimator
from cheaptalk.web.console.designs.study_form import InvalidForm, plan_from, study_from
from cheaptalk.web.console.designs.study_form_page import FormPage, check_form
from tests.conftest import Command
from tests.toys import Guessing
from tests.web.console.form_preview import ADDRESSES, make_form_preview

PIECES = FormPage()
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

FAIR = {"strategies": {"bargaining": "equal_split", "guess_the_average": "best_response"}}


def filled(**changes: Any) -> StudyFields:
    """Return the form of a small study with some of its fields changed."""
    form = fields_from(
        Study.model_validate(
            {
                "name": "pilot",
                "games": [{"game": "bargaining"}],
                "players": {"fair": "equal_split", "firm": "boulware"},
            }
        )
    )
    for name, value in changes.items():
        setattr(form, name, value)
    return form


def posted(form: StudyFields) -> StudyFields:
    """Return a form as a browser sends it back."""
    return StudyFields.read([(name, text.replace("\n", "\r\n")) for name, text in form.pairs()])


@pytest.mark.parametrize("name", preset_names())
def test_presets_round_trip_through_the_form(name: str) -> None:
    study = study_of(name)
    rebuilt = study_from(posted(fields_from(study)))
    assert rebuilt == study
    order = [[*grid.grid] for grid in rebuilt.games]
    assert order == [[*grid.grid] for grid in study.games], "a sample depends on their order"


def test_study_beyond_the_form_raises_error() -> None:
    later = {"name": "later", "instances_from": "pilot", "players": {"fair": "equal_split"}}
    with pytest.raises(NotExpressible, match='the study uses instances of another, "pilot"'):
        fields_from(Study.model_validate(later))


@pytest.mark.parametrize("name", games())
def test_unchanged_game_has_its_default_rules(name: str) -> None:
    game = GameFields(
        name, {parameter: [""] for parameter in parameter_fields(games()[name].rules)}
    )
    players = [PlayerFields("luck", "strategy", "random")]
    study = study_from(filled(games=[game], players=players, pairing="self"))
    assert study.games[0].configurations() == [games()[name].rules()]


@pytest.mark.parametrize("name", games())
def test_every_default_can_be_written_in_its_field(name: str) -> None:
    rules = games()[name].rules
    for parameter, field in parameter_fields(rules).items():
        default = getattr(rules(), parameter)
        values = field.values(field.texts([default]))
        assert getattr(rules.model_validate({parameter: values[0]}), parameter) == default


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Unschooled:
    """A type that no schema can describe."""


class Foreign(Guessing, arbitrary_types_allowed=True):
    """A game of another package, with parameters of many types."""

    when: date = date(2026, 1, 1)
    colour: Colour = Colour.RED
    thing: Unschooled | None = None
    odds: dict[str, tuple[int, ...]] = {}  # noqa: RUF012 - frozen


def test_parameters_of_any_type_have_a_field() -> None:
    fields = parameter_fields(Foreign)
    assert {name: field.kind for name, field in fields.items()} == {
        "horizon": "lines", "talk": "choices", "lenient": "choices", "target": "choices",
        "when": "lines", "colour": "choices", "thing": "lines", "odds": "lines", "names": "lines",
    }  # fmt: skip
    assert fields["colour"].options == ("red", "blue")
    assert fields["odds"].values(["{a: [1, 2]}\n\n{b: [3]}"]) == [{"a": [1, 2]}, {"b": [3]}]


def test_several_values_form_a_grid_and_one_is_fixed() -> None:
    values = {
        "money": ["100, 1000"],
        "messages": ["", "false"],
        "horizon": ["3\n{rounds: 9, hidden: true}"],
    }
    study = study_from(filled(games=[GameFields("bargaining", values, instances="7")]))
    assert study.games == [
        GameGrid(
            game="bargaining",
            fixed={"messages": False},
            grid={"money": [100, 1000], "horizon": [3, {"rounds": 9, "hidden": True}]},
            instances=7,
        )
    ]


def test_people_pairing_seats_each_person_with_other_players() -> None:
    players = [
        PlayerFields("ann", "person"),
        PlayerFields("bob", "person", away="equal_split", deadline="60"),
        PlayerFields("fair", "strategies", options=str(FAIR["strategies"])),
    ]
    sizes = [GameFields("bargaining"), GameFields("guess_the_average", {"players": ["3"]})]
    study = study_from(filled(games=sizes, players=players, pairing="people", swap="yes"))
    assert [grid.pairing for grid in study.games] == [
        [["ann", "fair"], ["bob", "fair"]], [{"ann": 1, "fair": 2}, {"bob": 1, "fair": 2}],
    ]  # fmt: skip
    assert study.swap
    assert study.players["bob"].written()["away"] == {"strategy": "equal_split"}
    alike = study_from(filled(players=players, pairing="people"))
    assert alike.pairing == [["ann", "fair"], ["bob", "fair"]]
    assert fields_from(alike).pairing == "people"


def test_self_pairing_seats_only_people_unless_all_are_chosen() -> None:
    players = [PlayerFields("ann", "person"), PlayerFields("luck", "strategy", "random")]
    sizes = [GameFields("bargaining"), GameFields("guess_the_average", {"players": ["3"]})]
    for grids, seated in ((sizes[:1], [["ann", "ann"]]), (sizes[1:], [{"ann": 3}])):
        study = study_from(filled(games=grids, players=players, pairing="self"))
        assert study.pairing == seated
        assert fields_from(study).pairing == "self"
    chosen = study_from(filled(games=sizes[:1], players=players, pairing="self_all"))
    assert chosen.pairing == "self"
    assert fields_from(chosen).pairing == "self_all"


def test_shared_settings_apply_to_models_of_a_roster() -> None:
    players = [
        PlayerFields(kind="roster", name="glee:gpt-4o,o3-mini"),
        PlayerFields(kind="strategy", name="linear"),
    ]
    study = study_from(filled(players=players, models="max_tokens: 500"))
    assert [*study.players] == ["gpt-4o", "o3-mini", "linear"]
    assert study.players["o3-mini"].written()["max_tokens"] == 500


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
    study = Study.model_validate(CROSSED)
    form = fields_from(study)
    assert [(row.label, row.kind, row.name) for row in form.players] == [
        ("firm", "strategy", "linear"), ("seller", "model", ""), ("hawk", "strategy", "boulware"),
    ]  # fmt: skip
    rebuilt = study_from(posted(form))
    assert rebuilt == study
    size = check_form(posted(form)).size
    assert size is not None
    assert "seller crosses model (gpt-4o, gpt-4o-mini) x framing (gain, none): 4 players" in (
        size.crossings
    )


def test_crossed_row_is_seated_by_its_label() -> None:
    form = posted(fields_from(Study.model_validate(CROSSED)))
    form.seatings = "[seller, firm]\n[hawk, firm]"
    assert study_from(form) == Study.model_validate(CROSSED)


def test_malformed_factor_is_reported_at_the_settings() -> None:
    form = posted(fields_from(Study.model_validate(CROSSED)))
    form.players[2].options = "cross: {power: 4}"
    with pytest.raises(InvalidForm) as caught:
        study_from(form)
    (problem,) = caught.value.problems.items()
    assert problem[0] == "players.2.options"
    assert problem[1].startswith("players.hawk.cross.power: 4 is not a list of at least two levels")


def test_path_of_participants_round_trips() -> None:
    people = {
        "pay.base": "2.5", "cohorts": "a\n b",
        "title": "{en: Money, de: Geld}", "pay.bonus": "- rate: 0.1", "recruitment.source": "sona",
        "more": "codes: {complete: ''}\npay: {max: 9}",
    }  # fmt: skip
    players = second(label="ann", kind="person")
    steps = [
        StepFields("consent", "", "Do you agree: yes, or no?"), StepFields("quiz", "after"),
        StepFields("games", "", "max: 2"), StepFields("debrief", "", "text: {en: Bye, de: Ade}"),
    ]  # fmt: skip
    study = study_from(filled(players=players, pairing="people", people=people, steps=steps))
    assert study.people is not None
    assert [step.called for step in study.people.steps] == ["consent", "games", "quiz", "debrief"]
    assert study.people.games.max == 2
    assert (study.people.pay.base, study.people.pay.max) == (2.5, 9)
    assert study.people.cohorts == ["a", "b"]
    assert study.people.title == {"en": "Money", "de": "Geld"}
    assert study_from(posted(fields_from(study))) == study


def test_added_steps_can_be_moved_past_the_games() -> None:
    form = filled()
    for kind in STEP_TEMPLATES:
        form.apply("add-step", step=kind)
    path_from(form.steps)
    kinds = [row.kind for row in form.steps]
    assert kinds == [*STEP_TEMPLATES]
    quiz, games = kinds.index("quiz"), kinds.index("games")
    assert form.steps[quiz].when == "after"
    assert form.apply(f"up-steps.{quiz}") == f"steps.{games}"
    assert (form.steps[games].kind, form.steps[games].when) == ("quiz", "before")
    form.apply(f"down-steps.{games}")
    assert [(row.kind, row.when) for row in form.steps[games : games + 2]] == [
        ("games", ""), ("quiz", "after"),
    ]  # fmt: skip
    assert form.apply("add-step", step="survey") == f"steps.{len(kinds) - 1}"
    assert form.steps[-1].kind == "debrief"
    form.apply("remove-steps.0")
    assert form.steps[0].kind == kinds[1]


def game_with(**values: str) -> list[GameFields]:
    return [GameFields("bargaining", {name: [text] for name, text in values.items()})]


def second(**fields: str) -> list[PlayerFields]:
    return [PlayerFields("fair", "strategy", "equal_split"), PlayerFields(**fields)]


Written = dict[str, Any]
GAMES = [StepFields("games")]
NOTATIONS = ("1_0", "017", "0x10", "1:30", "nan", ".nan", ".inf", "inf")
BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"name": "two words"}, "name", "is not a valid name"),
    ({"seed": "one"}, "seed", "integer"),
    ({"instances": "0"}, "instances", "greater than or equal to 1"),
    ({"repeats": "1,5"}, "repeats", "integer"),
    ({"dollars": "1,000"}, "dollars", "is ambiguous"),
    ({"dollars": "-3"}, "dollars", "greater than 0"),
    ({"dollars": "7,5"}, "dollars", "number"),
    *(({"dollars": text}, "dollars", "digits only") for text in NOTATIONS),
    *(
        ({"people": {"pay.base": text}, "steps": GAMES}, "people.pay.base", "digits only")
        for text in NOTATIONS
    ),
    ({"games": game_with(money="100, 1_0")}, "games.0.value.money", "digits only"),
    ({"limits": "{call: 3}"}, "limits", 'did you mean "calls"'),
    ({"dollars": "5", "limits": "dollars: 3"}, "limits", "in the field for it"),
    ({"models": "{temperatur: 1}"}, "models", 'did you mean "temperature"'),
    ({"models": "warm"}, "models", "are not settings"),
    ({"unanswered": "refused: shrug"}, "unanswered", "keep"),
    ({"steps": [StepFields("consent")]}, "steps.0.text", "text"),
    ({"steps": [*GAMES, StepFields("consnt", "", "x")]}, "steps.1.text", "consent"),
    ({"steps": [*GAMES, StepFields("survey", "", "items: [{nam: a}]")]}, "steps.1.text", "name"),
    ({"steps": [*GAMES, *GAMES]}, "steps", "exactly one step"),
    ({"people": {"title": "Money"}}, "steps", "add the steps"),
    ({"people": {"pay.base": "much"}, "steps": GAMES}, "people.pay.base", "a number"),
    ({"people": {"pay.bonus": "- rat: 1"}, "steps": GAMES}, "people.pay.bonus", '"rate"'),
    (
        {"people": {"recruitment.source": "code"}, "steps": GAMES},
        "people.recruitment.source",
        "requires a list of codes under invited",
    ),
    (
        {"people": {"more": "pay: {base: 1}", "pay.base": "2"}, "steps": GAMES},
        "people.more",
        "in the field for it",
    ),
    ({"people": {"more": "pay: 1", "pay.base": "2"}, "steps": GAMES}, "people.more", "NAME: VALUE"),
    ({"sample": "many"}, "sample", "integer"),
    ({"sample": "999999"}, "sample", "only 4 are possible"),
    ({"pairing": "listed"}, "seatings", "is not a pairing"),
    ({"pairing": "listed", "seatings": "[fair, frim]"}, "seatings", 'did you mean "firm"'),
    ({"pairing": "listed", "seatings": "[fair"}, "seatings", "a bracket or quote is not closed"),
    ({"pairing": "people"}, "pairing", "a person and another kind of player"),
    ({"pairing": "some"}, "pairing", "is not a pairing"),
    ({"games": []}, "games", "at least one game"),
    ({"games": [GameFields("bargining")]}, "games.0.game", 'did you mean "bargaining"'),
    ({"games": game_with(money="100, -5")}, "games.0.value.money", "greater than 0"),
    ({"games": game_with(money="100, ten")}, "games.0.value.money", "number"),
    ({"games": game_with(money="10,000")}, "games.0.value.money", "write 10000 or"),
    ({"games": game_with(messages="maybe")}, "games.0.value.messages", "true or false"),
    ({"games": game_with(discounts="[0.9, 0.9]\n[0.9")}, "games.0.value.discounts", "value 2"),
    (
        {"games": game_with(discounts="[0.9, 1.9]")},
        "games.0.value.discounts",
        "less than or equal to 1",
    ),
    ({"games": game_with(mony="3")}, "games.0.game", 'did you mean "money"'),
    (
        {"games": game_with(money=", ".join(map(str, range(1, 10_002))))},
        "games.0.game",
        "10,000 configurations",
    ),
    (
        {"games": [GameFields("negotiation", {"price_limit": ["1"]})]},
        "games.0.value.price_limit",
        "at least seller_factor",
    ),
    (
        {"games": [GameFields("bargaining", {"money": ["5"]}, cases="{money: 3}")]},
        "games.0.cases",
        "set more than once",
    ),
    (
        {"games": [GameFields("bargaining", cases="{mony: 3}")]},
        "games.0.cases",
        'did you mean "money"',
    ),
    (
        {"games": [GameFields("bargaining", pairing="listed", seatings="[fair]")]},
        "games.0.seatings",
        "has 2 (alice, bob)",
    ),
    (
        {"games": [GameFields("bargaining", instances="-1")]},
        "games.0.instances",
        "greater than or equal to 1",
    ),
    (
        {
            "games": [GameFields("guess_the_average")],
            "players": [PlayerFields(str(n), "model", f"openai/{n}") for n in range(4)],
        },
        "pairing",
        "more than 100,000 ways",
    ),
    ({"players": []}, "players", "at least one player"),
    (
        {"players": second(kind="strategy", name="equal_spilt")},
        "players.1.name",
        'did you mean "equal_split"',
    ),
    ({"players": second(kind="robot", name="r2")}, "players.1.kind", "unknown kind of player"),
    (
        {"players": second(label="fair", kind="strategy", name="linear")},
        "players.1.label",
        "duplicate label",
    ),
    (
        {"players": second(label="a\tb", kind="strategy", name="linear")},
        "players.1.label",
        "is not a label",
    ),
    ({"players": second(kind="model", name="gpt-4o")}, "players.1.name", "gpt-4o"),
    (
        {"players": second(kind="model", name="openai/gpt-4o", options="temperature: 7")},
        "players.1.options",
        "less than or equal to 2",
    ),
    (
        {"players": second(label="new", kind="strategies", options="bargaining: equal_spilt")},
        "players.1.options",
        'did you mean "equal_split"',
    ),
    (
        {"players": second(label="new", kind="strategies", options="bargining: linear")},
        "players.1.options",
        'did you mean "bargaining"',
    ),
    (
        {"players": second(kind="strategy", name="fixed_demand", options="share: 7")},
        "players.1.options",
        "less than or equal to 1",
    ),
    (
        {"players": second(kind="model", name="openai/gpt-4o", options="model: x/y")},
        "players.1.options",
        "in the field for it",
    ),
    ({"players": second(kind="roster", name="gle")}, "players.1.name", 'did you mean "glee"'),
    ({"players": second(kind="roster", name="/etc/passwd")}, "players.1.name", "unknown roster"),
    ({"players": second(kind="person", deadline="soon")}, "players.1.deadline", "number"),
    ({"players": second(kind="person", away="linear")}, "players.1.away", "requires a deadline"),
]


@pytest.mark.parametrize(("changes", "field", "problem"), BAD, ids=[f"{w}"[:50] for w, _, _ in BAD])
def test_problems_are_reported_at_their_field(
    changes: dict[str, Any], field: str, problem: str
) -> None:
    with pytest.raises(InvalidForm) as error:
        plan_from(filled(**changes))
    assert [*error.value.problems] == [field]
    assert problem in error.value.problems[field]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """Return a client of the form preview."""
    with TestClient(make_form_preview()) as opened:
        yield opened


class PostedForm(HTMLParser):
    """The fields that a browser would post for the form on a page, without unticked boxes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []
        self.select = ""
        self.textarea = ""
        self.feed(page.partition("<form")[2].partition("</form>")[0])

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


def submit(client: TestClient, form: StudyFields, deed: str = "check", to: str = "/form") -> str:
    """Submit a form, and return the resulting page."""
    pairs = [*form.pairs(), ("do", deed), ("new-game", "negotiation")]
    return client.post(to, content=urlencode(pairs), headers=FORM).text


def test_page_with_problems_keeps_the_input(client: TestClient) -> None:
    parameters = {"money": ["100, -5"], "messages": ["true"], "horizon": ["[1\n</textarea><b>"]}
    form = filled(
        name="<two>",
        description="\n one & two",
        games=[GameFields("bargaining", parameters)],
        players=second(label='"<i>', kind="model", name="&", options=" a: [\n\tb"),
    )
    page = submit(client, form)
    posted_form = StudyFields.read(PostedForm(page).pairs)
    nonblank = {name: [*filter(None, texts)] for name, texts in posted_form.games[0].values.items()}
    posted_form.games[0].values = {name: texts for name, texts in nonblank.items() if texts}
    assert posted_form == form
    problems = check_form(form).problems
    assert len(problems) == 4
    for name in map(re.escape, problems):
        assert re.search(rf'<[^>]*aria-describedby="[^"]*\bp-{name}" aria-invalid="true"', page)
        assert re.search(rf'<p class="problem" id="p-{name}" data-problem="{name}">[^<]+\.<', page)


def test_rows_can_be_added_and_removed_without_a_script(client: TestClient) -> None:
    form = filled()
    for deed, focus in (
        ("add-game", 'id="f-games.1.value.scale"'),
        ("add-player", 'id="f-players.2.kind"'),
        ("remove-players.0", None),
        ("remove-games.0", None),
        ("remove-games.9", None),
    ):
        page = submit(client, form, deed)
        focused = re.findall(r"<[^>]* autofocus\b", page)
        assert [focus in tag for tag in focused if focus] == ([True] if focus else [])
        form = StudyFields.read(PostedForm(page).pairs)
    assert [game.game for game in form.games] == ["negotiation"]
    assert [row.label for row in form.players] == ["firm", ""]


def test_counts_of_glee_match_the_plan_command(client: TestClient, cheaptalk: Command) -> None:
    printed = json.loads(cheaptalk("plan", "glee", "--no-estimate", "--json").out)
    size = check_form(posted(fields_from(study_of("glee")))).size
    assert size is not None
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
    players = second(label="gpt", kind="model", name="openai/gpt-4o-mini")
    form = filled(players=players, dollars="0.000001", games=game_with(horizon="2"))
    study = study_from(form)
    (tmp_path / "pilot.json").write_text(study.model_dump_json(), encoding="utf-8")
    printed = json.loads(cheaptalk("plan", "pilot.json", "--json").out)
    estimator = CostEstimator()
    estimate = estimator.start(plan(study))
    assert estimator.start(plan(study.model_copy(update={"name": "other"}))) is estimate
    assert estimator.start(plan(study.model_copy(update={"instances": 2}))) is not estimate
    assert [*estimate.result().total.as_json()["dollars"]] == printed["estimate"]["dollars"]
    estimator.close()
    dollars = dollars_shown(estimate.result().total.dollars or Range(0, 0))
    for page in ("/form/cost", "/form"):
        text = submit(client, form, "estimate", page)
        assert dollars in text
        assert "Budget.dollars allows" in text


def test_start_page_lists_every_preset(client: TestClient) -> None:
    page = client.get("/").text
    for name in preset_names():
        assert f'href="/form?preset={name}"' in page
    assert "9 scripts · 80,100 matches" in page
    assert "1 person, 1 model · 3,280 matches" in page


NAMES = ("bargaining", "all", "listed", "people", "self", "strategy", "strategies", "person")
MORE = ("model", "recorded", "roster", "glee", "equal_split", "openai/gpt-4o", "2026-02-30", "'")
YAML = ("[0.9, 0.9]", "{rounds: 9}", "[a, b]", "{a: {b: [c]}}", "&a [*a]", "? [1]", "<<: 1", "- 1")
VALUES = ("", "!!int ''", "!!bool x", "null", "true", "1e999", ".nan", "0", "-1", "9" * 30)
WORDS = st.sampled_from([*NAMES, *MORE, *YAML, *VALUES]) | st.text(max_size=12)
PARAMETERS = [f"value.{name}" for name in parameter_fields(games()["bargaining"].rules)]
OF_GAMES = [*GAME_TEXTS, *PARAMETERS]
FIELDS = st.sampled_from(
    [
        *TEXTS,
        *(f"games.{number}.{name}" for number in (0, 7) for name in OF_GAMES),
        *(f"players.{number}.{name}" for number in (0, 1, 5) for name in PLAYER_TEXTS),
    ]
)


@given(st.lists(st.tuples(FIELDS | st.text(max_size=12), WORDS), max_size=12), st.booleans())
def test_arbitrary_forms_can_be_rendered(pairs: list[tuple[str, str]], on_top: bool) -> None:
    form = StudyFields.read([*(filled().pairs() if on_top else ()), *pairs])
    checked = check_form(form)
    assert (checked.size is None) == bool(checked.problems)
    reread = StudyFields.read(form.pairs())
    assert check_form(reread).problems == checked.problems
    assert PIECES.form(checked, ADDRESSES)
    assert PIECES.counts(checked)
