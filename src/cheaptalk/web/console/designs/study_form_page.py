"""The study form as HTML fragments."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from cheaptalk.learning.policy import policy_names
from cheaptalk.models.catalogue import OURS
from cheaptalk.players.rosters import roster, roster_names
from cheaptalk.players.seats import SEATS
from cheaptalk.records.costs import Cost
from cheaptalk.reports.pages import environment
from cheaptalk.rules import (
    CheaptalkError,
    Game,
    UnknownName,
    game_title,
    games,
    get_game,
    strategies,
)
from cheaptalk.rules.registry import GAMES
from cheaptalk.studies.estimates.amounts import dollars_shown, shown
from cheaptalk.studies.estimates.estimate import Estimate, doubts
from cheaptalk.studies.estimates.participants import preview_participants
from cheaptalk.studies.plans.plan import Plan, plan
from cheaptalk.studies.presets import preset_names, study_of
from cheaptalk.studies.study import Study
from cheaptalk.text import capital, plain
from cheaptalk.web.console.designs.filled_form import NotExpressible, fields_from
from cheaptalk.web.console.designs.parameter_fields import ParameterField, parameter_fields
from cheaptalk.web.console.designs.people_fields import FIELDS, GROUPS, SOURCES
from cheaptalk.web.console.designs.step_rows import STEP_TEMPLATES, WHEN, about_step
from cheaptalk.web.console.designs.study_fields import GameFields, StudyFields
from cheaptalk.web.console.designs.study_forecast import (
    Size,
    no_estimate_reason,
    size_of,
)
from cheaptalk.web.console.designs.study_form import InvalidForm, plan_from

HERE = Path(__file__).parent
EMPTY = Markup()
SCRIPT = HERE / "static" / "study_form.js"
"""Updates counts and adds rows without reloading; the form also works without it."""
PAIRINGS = {
    "all": "all players with one another",
    "people": "each person with each model, script or policy",
    "self": "self-play; in a study with people, only people with one another",
    "self_all": "self-play, including models and scripts",
    "listed": "listed players by seat",
}
"""Display texts of pairings."""
OWN_PAIRINGS = {"": "as for the whole study"} | PAIRINGS
"""The same for a single game."""
KINDS = {
    "person": "person in a browser", "model": "language model", "strategy": "strategy",
    "strategies": "strategies by game", "policy": "learned policy",
    "policies": "learned policies", "roster": "roster",
}  # fmt: skip
"""Display texts of kinds of players; other registered kinds follow."""


class Addresses(NamedTuple):
    """URLs of the study form and of its size and cost fragments."""

    form: str
    counts: str
    cost: str


class CheckedForm(NamedTuple):
    """A study form with the resulting plan, or with error messages if it is invalid.

    Attributes:
        plan: plan of the form's study; None if the form is invalid.
        size: size of the plan.
        problems: error messages by field name.
    """

    form: StudyFields
    plan: Plan | None
    size: Size | None
    problems: dict[str, str]


def check_form(form: StudyFields) -> CheckedForm:
    """Check a study form: plan its study or collect error messages."""
    try:
        planned = plan_from(form)
    except InvalidForm as error:
        return CheckedForm(form, None, None, error.problems)
    return CheckedForm(form, planned, size_of(planned), {})


class GameView(NamedTuple):
    """A game as the study form displays it.

    Attributes:
        number: index of the game.
        row: texts of the game's fields.
        about: first line of the game's description; empty for an unknown game.
        parameters: parameters with their texts; those in the form come first.
    """

    number: int
    row: GameFields
    about: str
    parameters: list[tuple[ParameterField, list[str]]]

    @classmethod
    def from_row(cls, number: int, row: GameFields) -> "GameView":
        try:
            rules: type[Game] = get_game(row.game).rules
        except UnknownName:
            return cls(number, row, "", [])
        fields = parameter_fields(rules)
        names = dict.fromkeys([*(name for name in row.values if name in fields), *fields])
        parameters = [(fields[name], row.values.get(name, [])) for name in names]
        return cls(number, row, first_line(rules), parameters)


class StartOption(NamedTuple):
    """A preset from which a new study can start.

    Attributes:
        size: size of the preset's study.
        people: whether the study has participants.
        refusal: why the form cannot express the study, so that it opens as YAML; empty otherwise.
    """

    name: str
    description: str
    size: Size
    people: bool
    refusal: str


class FormPage:
    """Renderer of the study form as HTML fragments."""

    def __init__(self) -> None:
        self.templates = environment(HERE / "templates")
        self.templates.filters |= {
            "sentence": sentence, "shown": shown, "dollars": dollars_shown, "lines": lines,
            "thousands": "{:,}".format, "field_title": field_title, "filled_fields": filled_fields,
            "about_step": about_step,
        }  # fmt: skip

    def form(
        self, checked: CheckedForm, addresses: Addresses, hidden: Markup = EMPTY, focus: str = "",
        cost: Markup = EMPTY,
    ) -> Markup:  # fmt: skip
        """Render the study form with the study's size.

        Args:
            addresses: URLs of the form.
            hidden: hidden fields of the page, such as a CSRF token.
            focus: the field or game to focus.
            cost: rendered cost, if requested.
        """
        views = [GameView.from_row(number, game) for number, game in enumerate(checked.form.games)]
        return self.render(
            "study_form.html.jinja", games=views, addresses=addresses, hidden=hidden, focus=focus,
            pairings=PAIRINGS, own_pairings=OWN_PAIRINGS, kinds=kinds(), all_games=list(games()),
            known=known_names(checked.form), groups=GROUPS, sources=SOURCES, when=WHEN,
            step_kinds=list(STEP_TEMPLATES), **counted(checked, cost),
        )  # fmt: skip

    def counts(self, checked: CheckedForm) -> Markup:
        """Render the study's size or, if the form is invalid, the list of errors."""
        return self.render("study_form_counts.html.jinja", **counted(checked))

    def cost(self, study: Study, estimate: Estimate | str | None) -> Markup:
        """Render a cost estimate, the reason why it is missing, or a note that it is pending."""
        warnings = []
        if isinstance(estimate, Estimate):
            warnings = list(doubts(estimate, study.budget, Cost()))
        return self.render("study_form_cost.html.jinja", estimate=estimate, warnings=warnings)

    def start(self, address: str, copies: Sequence[str] = ()) -> Markup:
        """Render the options for starting a study: an empty form, presets or existing studies."""
        return self.render(
            "study_form_start.html.jinja", starts=starts(), address=address, copies=copies
        )

    def render(self, template: str, **values: object) -> Markup:
        text = self.templates.get_template(template).render(**values)
        return Markup(text)  # noqa: S704 - escaped in the template


def counted(checked: CheckedForm, cost: Markup = EMPTY) -> dict[str, object]:
    """Return the template variables for displaying a study's size."""
    note = None if checked.size is None else no_estimate_reason(checked.size)
    return {
        "form": checked.form, "size": checked.size, "problems": checked.problems, "note": note,
        "cost": cost,
        "preview": checked.plan and preview_participants(checked.plan),
    }  # fmt: skip


def field_title(name: str, form: StudyFields) -> str:
    """Return the display name of a form field.

    >>> form = StudyFields(games=[GameFields("bargaining")])
    >>> field_title("games.0.value.money", form), field_title("players.1.name", form)
    ('Bargaining, money', 'Player 2, name')
    """
    parts = name.split(".")
    if parts[0] == "people":
        return f"Participants, {FIELDS[name.removeprefix('people.')].label}"
    if parts[0] == "steps" and len(parts) == 3:
        return f"Step {int(parts[1]) + 1}, {plain(form.steps[int(parts[1])].kind)}"
    if parts[0] not in ("games", "players") or len(parts) < 3:
        return capital(name)
    number = int(parts[1])
    owner = f"Player {number + 1}" if parts[0] == "players" else _title(form.games[number].game)
    return owner if parts[-1] == "game" else f"{owner}, {plain(parts[-1])}"


def _title(game: str) -> str:
    return game_title(game) if game in GAMES else "Game"


def sentence(text: str) -> str:
    """Capitalize a message and end it with a full stop.

    >>> sentence("should be more than 0")
    'Should be more than 0.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def filled_fields(texts: Mapping[str, str]) -> list[str]:
    """Return the names of form fields that are filled in."""
    return [name for name, text in texts.items() if text.strip()]


def lines(text: str) -> int:
    """Return the number of lines of a text, at least 1."""
    return text.count("\n") + 1


def first_line(rules: type[Game]) -> str:
    """Return the first line of a game's docstring."""
    return inspect.cleandoc(rules.__doc__ or "").partition("\n")[0]


def kinds() -> dict[str, str]:
    """Return the display names of all player kinds."""
    return KINDS | {key: key for key in SEATS if key not in KINDS}


def known_names(form: StudyFields) -> dict[str, str]:
    """Return a description of each known strategy, policy, model and roster by name."""
    studied = dict.fromkeys(game.game for game in form.games if game.game in GAMES)
    names = {name: f"strategy of {game}" for game in studied for name in strategies(game)}
    policies = dict.fromkeys(policy_names(), "learned policy")
    return names | policies | _roster_names()


@cache
def _roster_names() -> dict[str, str]:
    return dict(_listed_by_rosters())


def _listed_by_rosters() -> Iterator[tuple[str, str]]:
    for name in roster_names():
        try:
            players = roster(name)
        except (CheaptalkError, ValueError):
            continue  # a broken roster of another package is reported when it is used
        yield name, f"roster: {players.description}"
        for entry in players.entries().values():
            if isinstance(entry.get("model"), str):
                yield entry["model"], f"model in the roster {name}"
    yield from ((f"{provider}/", f"prefix of {provider} models") for provider in OURS)


@cache
def starts() -> list[StartOption]:
    """Return all presets from which a new study can start."""
    return list(_starts())


def _starts() -> Iterator[StartOption]:
    for name in preset_names():
        try:
            study = study_of(name)
            size = size_of(plan(study))
        except CheaptalkError:
            continue  # a broken preset of another package is reported when it is used
        refusal = ""
        try:
            fields_from(study)
        except NotExpressible as error:
            refusal = str(error)
        yield StartOption(name, study.description, size, study.people is not None, refusal)
