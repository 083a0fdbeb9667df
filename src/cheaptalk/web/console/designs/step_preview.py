"""Preview of a step of a study as participants see it, rendered by the templates of their pages."""

from functools import partial
from types import SimpleNamespace
from typing import Any

from markupsafe import Markup

from cheaptalk.rules.errors import Location
from cheaptalk.studies.people.answers import RANGE
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.page_texts.files import template_text
from cheaptalk.studies.people.page_texts.page_templates import render_page
from cheaptalk.studies.people.page_texts.texts import in_language
from cheaptalk.studies.people.path import Page
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.people.steps import (
    CustomPage,
    Games,
    Instructions,
    Payment,
    Quiz,
    Step,
    located_steps,
)
from cheaptalk.studies.study import Study
from cheaptalk.web.console.designs.posted_form import StudyForm
from cheaptalk.web.console.designs.study_form import FormReader
from cheaptalk.web.participants.admission.entry import FOLDER, PAGE_STYLE
from cheaptalk.web.participants.texts import PageTexts, day_text, plain_prose, shortest_deadline
from cheaptalk.web.rooms.languages import Language, languages
from cheaptalk.web.rooms.pages import about, gist, templates


def step_of_row(form: StudyForm, row: str) -> Location | None:
    """Return the location of the step in a row of the form, such as ``1``; None if it is none."""
    steps = {str(number): location for location, number in FormReader(form).steps.items()}
    location = steps.get(row)
    return None if location is None else location[2:]


def render_step(study: Study, location: Location, code: str) -> str | None:
    """Return a step's pages as HTML, one below the other, in the language with a code.

    The result is None for steps whose pages depend on what has happened before: games, quizzes
    about them, and payments.
    """
    protocol = study.people
    steps = {} if protocol is None else _steps(protocol)
    step = steps.get(location)
    if protocol is None or step is None or isinstance(step, Games | Payment | Quiz):
        return None
    pay = protocol.pay
    language = languages(pay.currency, points=pay.points)[code]
    environment = templates(language, FOLDER / "templates")
    texts = PageTexts(
        protocol,
        language,
        shortest_deadline(study),
        {},
        lambda name: protocol.files.get(name, ""),
    )
    pages = [_values(study, protocol, page, texts) for page in _pages(step)]
    common = {
        "title": in_language(protocol.title, code) or study.name,
        "preview": True,
        "text_version": 1,
        "style": PAGE_STYLE,
        "words": texts.inline,
        "prose": texts.block,
        "question_texts": texts.question,
        "range_problem": RANGE,
        "day": partial(day_text, code=code),
        "participant": SimpleNamespace(
            problems={},
            entered={},
            plays={},
            notice=None,
            pause=None,
            hidden_since=None,
            ending=None,
        ),
        "entered": lambda name: "",
        "wrong": (),
        "read": (),
        "root": "",
        "token": "preview",
        "number_of_page": 0,
        "number": 0,
        "here": "",
        "besides": "",
        "me": "",
        "pay": pay,
        "own": False,
        "drawn": False,
        "finished": False,
        "withdrawn_pay": 0,
        "answered": False,
        "progress": None,
        "platform": False,
        "expels": False,
        "contact": "",
        "logo": "",
    }
    template = environment.get_template("step.html.jinja")
    cards = [_card(template.render(common | values)) for values in pages]
    return environment.get_template("step_preview.html.jinja").render(common, cards=cards)


def _card(html: str) -> Markup:
    """Return the part of a participant's page that the step determines."""
    start, end = html.index("<article"), html.index("</article>")
    return Markup(html[start:end] + "</article>")  # noqa: S704 - escaped in the template


def _steps(protocol: Protocol) -> dict[Location, Step]:
    """Return the steps of a protocol by the location in the rows of the form."""
    return {
        tuple(part for part in location if part != Games.kind): step
        for location, step in located_steps(protocol.path)
    }


def _pages(step: Step) -> list[Page]:
    if isinstance(step, Instructions):
        return [Page("", 1, 0, step, (), part) for part in range(len(step.pages) + step.game)]
    if isinstance(step, CustomPage):
        return [Page("", 1, 0, step, tuple(step.items))]
    return [Page("", 1, 0, step, tuple(items), part) for part, items in enumerate(step.parts)]


def _values(study: Study, protocol: Protocol, page: Page, texts: PageTexts) -> dict[str, Any]:
    step = page.step
    values: dict[str, Any] = {"page": page, "of": 1}
    if isinstance(step, Instructions):
        values["of"] = len(step.pages) + step.game
        values["text"] = (
            texts.block(step.pages[page.part])
            if page.part < len(step.pages)
            else _game(study, texts.language)
        )
    elif isinstance(step, CustomPage):
        values["own_page"] = partial(_own_page, protocol, page, texts)
    return values


def _game(study: Study, language: Language) -> Markup:
    """Return the description of the study's first game."""
    configurations = [game for grid in study.games for game in grid.configurations()[:1]]
    if not configurations:
        return Markup("")
    game = configurations[0]
    return plain_prose(language.text(gist(game)), language.text(about(game)))


def _own_page(protocol: Protocol, page: Page, texts: PageTexts, render: Any) -> Markup:
    assert isinstance(page.step, CustomPage)
    template = template_text(texts.plain(page.step.template), protocol.files) or ""
    fields: dict[str, Any] = {item.name: _field(render, item) for item in page.items}
    return render_page(template, fields, texts.value, texts.image_url, texts.language.code)


def _field(render: Any, item: Item) -> Any:
    return render(item)
