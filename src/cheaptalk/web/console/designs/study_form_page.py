"""The study form as HTML fragments."""

import inspect
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args

from jinja2 import Environment
from markupsafe import Markup

from cheaptalk.learning.policy import policy_names
from cheaptalk.models.catalogue import OURS
from cheaptalk.players.rosters import roster, roster_names
from cheaptalk.players.seats import SEATS
from cheaptalk.records.costs import Cost
from cheaptalk.rules import CheaptalkError, UnknownName, game_title, games, get_game, strategies
from cheaptalk.rules.game import Chat
from cheaptalk.rules.registry import GAMES
from cheaptalk.studies.estimates.amounts import dollars_shown, shown
from cheaptalk.studies.estimates.estimate import Estimate, budget_warnings
from cheaptalk.studies.estimates.participants import preview_participants
from cheaptalk.studies.people.answers import KINDS as ANSWERS
from cheaptalk.studies.plans.plan import plan
from cheaptalk.studies.presets import preset_names, study_of
from cheaptalk.studies.study import Study
from cheaptalk.styles.languages import SOURCE
from cheaptalk.text import capital, plain
from cheaptalk.web.console.designs.fields import Field, Row, fields_of, last_text
from cheaptalk.web.console.designs.pairings import PAIRINGS
from cheaptalk.web.console.designs.posted_form import StudyForm
from cheaptalk.web.console.designs.rows import GRID_FIELDS, PERSON_FIELDS
from cheaptalk.web.console.designs.settings import COMPARISONS
from cheaptalk.web.console.designs.step_rows import (
    ADVANCED,
    QUESTION_TEMPLATES,
    STEP_TEMPLATES,
    about_answer,
    about_step,
    advanced_settings,
    extent_of_step,
    names_in_step,
    step_fields,
)
from cheaptalk.web.console.designs.study_forecast import Size, no_estimate_reason, size_of
from cheaptalk.web.console.designs.study_form import STUDY, CheckedForm
from cheaptalk.web.console.sentences import sentences
from cheaptalk.web.console.translation import templates
from cheaptalk.web.rooms.languages import Language, languages

HERE = Path(__file__).parent
EMPTY = Markup()
ENGLISH = Language(SOURCE)
SCRIPT = HERE / "static" / "study_form.js"
"""Updates counts and adds rows without reloading; the form also works without it."""
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Study": ("name", "description"),
    "Games": ("games", "instances_from"),
    "Players": ("players", "roster", "replace", "models", "factors"),
    "Pairing": ("pairing", "swap"),
    "Participants": ("people",),
}
"""Fields by section of the form; the last section, "Size and budget", has all other fields."""
CHATS = ("null", *get_args(Chat.model_fields["when"].annotation))
"""Values of a game's chat that the form offers; others are written in the study file."""
NOUNS = {
    "bonus": "bonus rule",
    "items": "question",
    "pages": "page",
    "treatments": "treatment",
}
"""Nouns for the members of lists."""
KINDS = {
    "person": "person in a browser",
    "model": "language model",
    "strategies": "strategies by game",
    "policy": "learned policy",
    "policies": "learned policies",
}
"""Display texts of kinds of players; by default their name."""


def render_form(
    checked: CheckedForm,
    address: str,
    hidden: Markup = EMPTY,
    focus: str = "",
    cost: Markup = EMPTY,
    language: Language = ENGLISH,
    file: str = "",
) -> Markup:
    """Render the study form with the study's size; ``focus`` names a field or row.

    ``file`` is the study file. The fragments that change with the form are below its address.
    """
    return _render(
        "study_form.html.jinja",
        language,
        sections=sections(),
        address=address,
        hidden=hidden,
        file=file,
        focus=focus,
        pairings=PAIRINGS,
        own_pairings={"": "as for the whole study"} | PAIRINGS,
        kinds={kind: KINDS.get(kind, kind) for kind in SEATS},
        all_games=list(games()),
        known=known_names(checked.form),
        person_fields=PERSON_FIELDS,
        grid_fields=GRID_FIELDS,
        step_kinds=list(STEP_TEMPLATES),
        question_kinds=list(QUESTION_TEMPLATES),
        comparisons=COMPARISONS,
        nouns=NOUNS,
        page_languages=list(languages().values()),
        text_languages=_text_languages(checked.form),
        **counted(checked, cost),
    )


def render_counts(checked: CheckedForm, language: Language = ENGLISH) -> Markup:
    """Render the study's size or, if the form is invalid, the list of errors."""
    return _render("study_form_counts.html.jinja", language, **counted(checked))


def render_cost(
    study: Study, estimate: Estimate | str | None, language: Language = ENGLISH
) -> Markup:
    """Render a cost estimate, the reason why it is missing, or a note that it is pending."""
    warnings: list[str] = []
    if isinstance(estimate, Estimate):
        warnings += budget_warnings(estimate, study.budget, Cost())
    return _render("study_form_cost.html.jinja", language, estimate=estimate, warnings=warnings)


def render_start(address: str, copies: Sequence[str], language: Language) -> Markup:
    """Render the presets and studies from which a new study can start."""
    values = {"starts": starts(), "address": address, "copies": copies}
    return _render("study_form_start.html.jinja", language, **values)


def _render(template: str, language: Language, **values: object) -> Markup:
    text = _templates(language).get_template(template).render(**values)
    return Markup(text)  # noqa: S704 - escaped in the template


@cache
def _templates(language: Language) -> Environment:
    environment = templates(language, HERE / "templates")
    counted_nouns = environment.filters["counted"]
    text = sentences(language.code).translated
    environment.filters |= {
        "kinds_of_players": lambda size: ", ".join(
            counted_nouns(number, kind) for kind, number in size.kinds.items()
        ),
        "sentence": lambda written: sentence(text(written)),
        "shown": lambda amount: text(shown(amount)),
        "dollars": lambda amount: text(dollars_shown(amount)),
        "lines": lambda text: text.count("\n") + 1,
        "thousands": language.writing.number,
        "field_title": partial(field_title, language=language),
        "about_step": about_step,
        "about_answer": about_answer,
        "step_fields": step_fields,
        "answer_fields": lambda kind: (
            list(fields_of(ANSWERS[kind]).values()) if kind in ANSWERS else []
        ),
        "later_of_step": lambda kind: ADVANCED,
        "shown_as": lambda value, field: (
            text(plain(field.display_text(value))) if field.kind == "choice" else value
        ),
        "prefixed": lambda name, prefix: prefix + name,
        "extent_of_step": extent_of_step,
        "names_in_step": names_in_step,
        "about_game": about_game,
        "parameters": parameters,
        "last_text": last_text,
    }
    environment.tests["named_in"] = is_named
    environment.globals["later_fields"] = later_fields
    return environment


def answer_fields(kind: str) -> list[Field]:
    """Return the settings of a kind of answer."""
    return [*fields_of(ANSWERS[kind]).values()] if kind in ANSWERS else []


def is_named(name: str, problems: Collection[str]) -> bool:
    """Return whether a field, or one within it, has a problem."""
    return any(key == name or key.startswith(f"{name}.") for key in problems)


def later_fields(name: str, form: StudyForm) -> tuple[str, ...]:
    """Return the settings that the form shows on request for the members of a list."""
    texts, inner = form.at(name)
    return advanced_settings(last_text(texts, "kind"), inner)


def _text_languages(form: StudyForm) -> list[tuple[str, str]]:
    names = {code: language.name for code, language in languages().items()}
    return [(code, names.get(code, code)) for code in form.language_codes]


def sections() -> dict[str, list[Field]]:
    """Return the fields of the form by section; fields without a section are in the last one."""
    placed = {name for names in SECTIONS.values() for name in names}
    rest = [field for name, field in STUDY.items() if name not in placed]
    return {title: [STUDY[name] for name in names] for title, names in SECTIONS.items()} | {
        "Size and budget": rest
    }


def counted(checked: CheckedForm, cost: Markup = EMPTY) -> dict[str, object]:
    """Return the template variables for displaying a study's size."""
    size = checked.plan and size_of(checked.plan)
    return {
        "form": checked.form,
        "study": checked.study,
        "size": size,
        "problems": checked.problems,
        "note": size and no_estimate_reason(size),
        "cost": cost,
        "preview": checked.plan and preview_participants(checked.plan),
    }


def field_title(name: str, form: StudyForm, language: Language = ENGLISH) -> str:
    """Return the display name of a form field.

    >>> form = StudyForm(games=[{"game": ["bargaining"]}])
    >>> field_title("games.0.values.money", form), field_title("players.1.name", form)
    ('Bargaining, money', 'Player 2, name')
    >>> field_title("people.pay.base", form)
    'Participants, pay, base'
    """
    match name.split("."):
        case ["games", number, *_, last]:
            game = last_text(form.rows["games"][int(number)], "game")
            title, names = game_title(game) if game in GAMES else "Game", [last]
            names = [] if last == "game" else names
        case ["players", number, last]:
            title, names = f"Player {int(number) + 1}", [last]
        case ["people", "path", number, *rest]:
            kind = last_text(form.rows["people.path"][int(number)], "kind")
            title, names = f"Step {int(number) + 1}", [kind, *_numbered(rest)]
        case ["people", *rest]:
            title, names = "Participants", _numbered(rest)
        case [first, *names]:
            title = capital(plain(first))
    return ", ".join([_label(title, language), *(_label(plain(name), language) for name in names)])


def _numbered(names: Sequence[str]) -> list[str]:
    """Return the parts of a field's name with the number of a member after its noun.

    >>> _numbered(["items", "0", "ask"])
    ['question 1', 'ask']
    """
    parts: list[str] = []
    for name in names:
        if name.isdecimal() and parts:
            parts[-1] = f"{NOUNS.get(parts[-1], parts[-1])} {int(name) + 1}"
        else:
            parts.append(name)
    return parts


def _label(text: str, language: Language) -> str:
    """Return a label in a language, whose catalogue has it with a capital letter."""
    label = sentences(language.code).translated(capital(text))
    return text if label == capital(text) else label


def sentence(text: str) -> str:
    """Capitalize a message and end it with a full stop.

    >>> sentence("should be more than 0")
    'Should be more than 0.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def about_game(name: str) -> str:
    """Return the first line of a game's description; empty for an unknown game."""
    try:
        return inspect.cleandoc(get_game(name).rules.__doc__ or "").partition("\n")[0]
    except UnknownName:
        return ""


def parameters(row: Row) -> list[tuple[Field, list[str]]]:
    """Return a game's parameters with their texts: those in the form first, chat and names last."""
    try:
        fields = fields_of(get_game(last_text(row, "game")).rules)
    except UnknownName:
        return []
    fields = {**fields, "chat": fields["chat"]._replace(kind="choice", options=CHATS)}
    typed = [name.removeprefix("values.") for name in row if name.startswith("values.")]
    names = dict.fromkeys([*(name for name in typed if name in fields), *fields])
    ordered = sorted(names, key=lambda name: name in ("chat", "names"))
    return [(fields[name], row.get(f"values.{name}", [])) for name in ordered]


def known_names(form: StudyForm) -> dict[str, str]:
    """Return a description of each known strategy, policy and model by name."""
    studied = dict.fromkeys(last_text(row, "game") for row in form.rows["games"])
    names = {
        name: f"strategy of {game}"
        for game in studied
        if game in GAMES
        for name in strategies(game)
    }
    return names | dict.fromkeys(policy_names(), "learned policy") | _models()


@cache
def _models() -> dict[str, str]:
    names: dict[str, str] = {}
    for name in roster_names():
        with suppress(CheaptalkError, ValueError):  # a broken roster of another package
            entries: Mapping[str, Mapping[str, Any]] = roster(name).entries()
            models = (entry.get("model") for entry in entries.values())
            names |= {model: f"model in the roster {name}" for model in models if model}
    return names | {f"{provider}/": f"prefix of {provider} models" for provider in OURS}


@cache
def starts() -> list[tuple[str, Study, Size]]:
    """Return all presets from which a new study can start: name, study and its size."""
    options = []
    for name in preset_names():
        with suppress(CheaptalkError):  # a broken preset of another package
            study = study_of(name)
            options.append((name, study, size_of(plan(study))))
    return options
