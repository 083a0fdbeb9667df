"""The pages of a study's form, as pieces of HTML for whichever page they stand in."""

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
from cheaptalk.reports.pages import environment
from cheaptalk.rules import (
    CheaptalkError,
    Game,
    UnknownName,
    game_box,
    game_title,
    games,
    strategies,
)
from cheaptalk.rules.registry import GAMES
from cheaptalk.studies.estimates.amounts import dollars_shown, shown
from cheaptalk.studies.estimates.estimate import Estimate
from cheaptalk.studies.plans.plan import Plan, plan
from cheaptalk.studies.presets import preset_names, study_of
from cheaptalk.studies.study import Study
from cheaptalk.text import capital, plain
from cheaptalk.web.console.designs.filled_form import NotExpressible, fields_from
from cheaptalk.web.console.designs.parameter_fields import ParameterField, parameter_fields
from cheaptalk.web.console.designs.people_fields import FIELDS, GROUPS, SOURCES
from cheaptalk.web.console.designs.step_rows import BEGINNINGS, WHEN, about_step
from cheaptalk.web.console.designs.study_fields import GameFields, StudyFields
from cheaptalk.web.console.designs.study_form import Unfit, plan_from
from cheaptalk.web.console.designs.study_outlook import (
    Size,
    budget_doubts,
    crowded,
    not_estimated,
    size_of,
    timeless,
    wages,
)

HERE = Path(__file__).parent
NOTHING = Markup()
STYLE = HERE / "static" / "study_form.css"
"""What the pages look like; it stands behind the style sheet of the rooms, whose colours it has."""
SCRIPT = HERE / "static" / "study_form.js"
"""What keeps counts fresh, and adds rows without a reload; the pages work without it."""
PAIRINGS = {
    "all": "everybody with everybody",
    "people": "each person with each of the others",
    "self": "each with itself; in a study with people, only people with one another",
    "self_all": "each with itself, models and scripts too",
    "listed": "the seatings that I list",
}
"""Who meets whom, as people read it."""
OWN_PAIRINGS = {"": "as in the whole study"} | PAIRINGS
"""The same for a single game."""
KINDS = {
    "person": "person in the browser", "model": "language model", "strategy": "strategy",
    "strategies": "strategies by game", "policy": "learned policy",
    "policies": "learned policies", "roster": "roster of players",
}  # fmt: skip
"""Kinds of players, as people read them; others that are registered stand behind these."""


class Addresses(NamedTuple):
    """Where a form is sent, a path each: to be changed or kept, counted, and estimated."""

    form: str
    counts: str
    cost: str


class Look(NamedTuple):
    """What is to be said of a form.

    Attributes:
        form: as it was typed.
        plan: of its study; None where it makes none.
        size: how large that is.
        problems: a sentence for each field that is to be mended, by the field's name.
    """

    form: StudyFields
    plan: Plan | None
    size: Size | None
    problems: dict[str, str]


def look_at(form: StudyFields) -> Look:
    """What is to be said of a form: how large its study is, or what is wrong in which field."""
    try:
        planned = plan_from(form)
    except Unfit as error:
        return Look(form, None, None, error.problems)
    return Look(form, planned, size_of(planned), {})


class GameView(NamedTuple):
    """A game as it stands in the form.

    Attributes:
        number: among the games.
        typed: what stands in its fields.
        about: what the game is, in a line; empty where there is no such game.
        parameters: its parameters, those that stand in the form first, with what is typed.
    """

    number: int
    typed: GameFields
    about: str
    parameters: list[tuple[ParameterField, list[str]]]

    @classmethod
    def of(cls, number: int, typed: GameFields) -> "GameView":
        """A game of the form."""
        try:
            rules: type[Game] = game_box(typed.game).rules
        except UnknownName:
            return cls(number, typed, "", [])
        known = parameter_fields(rules)
        names = dict.fromkeys([*(name for name in typed.values if name in known), *known])
        parameters = [(known[name], typed.values.get(name, [])) for name in names]
        return cls(number, typed, gist(rules), parameters)


class Start(NamedTuple):
    """A study to start from.

    Attributes:
        name: the preset's.
        description: what it is.
        size: how large it is.
        people: whether participants come to it.
        refusal: why the form cannot hold it, so that its YAML is edited instead; empty where it
            can.
    """

    name: str
    description: str
    size: Size
    people: bool
    refusal: str


class FormPage:
    """Renders the pieces."""

    def __init__(self) -> None:
        self.templates = environment(HERE / "templates")
        self.templates.filters |= {
            "sentence": sentence, "shown": shown, "dollars": dollars_shown, "lines": lines,
            "thousands": "{:,}".format, "field_title": field_title, "written": written,
            "about_step": about_step,
        }  # fmt: skip

    def form(
        self,
        look: Look,
        to: Addresses,
        hidden: Markup = NOTHING,
        at: str = "",
        cost: Markup = NOTHING,
    ) -> Markup:
        """The whole form with its counts.

        Args:
            to: where it is sent.
            hidden: fields that the page adds, such as a token.
            at: the field, or the game, that one goes on with.
            cost: what :meth:`cost` says, where that was asked for.
        """
        views = [GameView.of(number, game) for number, game in enumerate(look.form.games)]
        return self.render(
            "study_form.html.jinja", games=views, to=to, hidden=hidden, at=at, pairings=PAIRINGS,
            own_pairings=OWN_PAIRINGS, kinds=kinds(), all_games=list(games()),
            known=known_names(look.form), groups=GROUPS, sources=SOURCES, when=WHEN,
            step_kinds=list(BEGINNINGS), **counted(look, cost),
        )  # fmt: skip

    def counts(self, look: Look) -> Markup:
        """How large the study is, or what is to be mended."""
        return self.render("study_form_counts.html.jinja", **counted(look))

    def cost(self, study: Study, takes: Estimate | str | None) -> Markup:
        """What a study's models may cost, or why that cannot be found out; None until it is."""
        doubts = list(budget_doubts(takes, study)) if isinstance(takes, Estimate) else []
        return self.render("study_form_cost.html.jinja", takes=takes, doubts=doubts)

    def start(self, address: str, copies: Sequence[str] = ()) -> Markup:
        """What a new study can start from.

        Args:
            address: the page of the form; ``?preset=NAME`` and ``?copy=NAME`` are put behind it.
            copies: names of studies of which a copy can be made.
        """
        return self.render(
            "study_form_start.html.jinja", starts=starts(), address=address, copies=copies
        )

    def render(self, template: str, **values: object) -> Markup:
        """A template's text, which is escaped already."""
        text = self.templates.get_template(template).render(**values)
        return Markup(text)  # noqa: S704 - escaped in the template


def counted(look: Look, cost: Markup = NOTHING) -> dict[str, object]:
    """What the template of the counts shows."""
    note = None if look.size is None else not_estimated(look.size)
    study = None if look.plan is None else look.plan.study
    return {
        "form": look.form, "size": look.size, "problems": look.problems, "note": note, "cost": cost,
        "wages": wages(study.people) if study and study.people else "",
        "timeless": timeless(study) if study else [],
        "crowded": crowded(look.plan) if look.plan else "",
    }  # fmt: skip


def field_title(name: str, form: StudyFields) -> str:
    """What people call a field, by its name.

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
    whose = f"Player {number + 1}" if parts[0] == "players" else _title(form.games[number].game)
    return whose if parts[-1] == "game" else f"{whose}, {plain(parts[-1])}"


def _title(game: str) -> str:
    return game_title(game) if game in GAMES else "Game"


def sentence(text: str) -> str:
    """What is wrong, as a sentence.

    >>> sentence("should be more than 0")
    'Should be more than 0.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def written(typed: Mapping[str, str]) -> list[str]:
    """The names of fields in which something is written."""
    return [name for name, text in typed.items() if text.strip()]


def lines(text: str) -> int:
    """How many lines a text has, an empty one too."""
    return text.count("\n") + 1


def gist(rules: type[Game]) -> str:
    """What a game is, in a line: the first of its docstring."""
    return inspect.cleandoc(rules.__doc__ or "").partition("\n")[0]


def kinds() -> dict[str, str]:
    """All kinds of players, as people read them."""
    return KINDS | {key: key for key in SEATS if key not in KINDS}


def known_names(form: StudyFields) -> dict[str, str]:
    """Names that players may have, with what each is: strategies, policies, models and rosters."""
    here = dict.fromkeys(game.game for game in form.games if game.game in GAMES)
    named = {name: f"strategy of {game}" for game in here for name in strategies(game)}
    policies = dict.fromkeys(policy_names(), "learned policy")
    return named | policies | _of_rosters()


@cache
def _of_rosters() -> dict[str, str]:
    return dict(_listed_by_rosters())


def _listed_by_rosters() -> Iterator[tuple[str, str]]:
    for name in roster_names():
        try:
            players = roster(name)
        except (CheaptalkError, ValueError):
            continue  # another package's roster is broken; whoever asks for it is told
        yield name, f"roster: {players.description}"
        for entry in players.entries().values():
            if isinstance(entry.get("model"), str):
                yield entry["model"], f"model of the roster {name}"
    yield from ((f"{provider}/", f"a model of {provider}: add its name") for provider in OURS)


@cache
def starts() -> list[Start]:
    """All presets to start from."""
    return list(_starts())


def _starts() -> Iterator[Start]:
    for name in preset_names():
        try:
            study = study_of(name)
            size = size_of(plan(study))
        except CheaptalkError:
            continue  # another package's preset is broken; whoever plays it is told
        try:
            fields_from(study)
        except NotExpressible as error:
            yield Start(name, study.description, size, study.people is not None, str(error))
        else:
            yield Start(name, study.description, size, study.people is not None, "")
