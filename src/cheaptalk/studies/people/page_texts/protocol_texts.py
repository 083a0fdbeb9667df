"""Checks of a protocol's texts: placeholders, conditions, images, links and templates of pages."""

from collections.abc import Iterable, Mapping

from cheaptalk.rules import suggest
from cheaptalk.rules.errors import LocatedError, shown
from cheaptalk.studies.people.answers import Invalid
from cheaptalk.studies.people.conditions import When
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.page_texts.files import TEMPLATE, is_path, suffix_of, template_text
from cheaptalk.studies.people.page_texts.markdown import LINK, images_in, links_in
from cheaptalk.studies.people.page_texts.page_templates import check_page_template
from cheaptalk.studies.people.page_texts.texts import placeholders, texts_in, versions
from cheaptalk.studies.people.steps import CustomPage, Games, Step, located_steps

AMOUNTS = ("show_up", "base", "game", "aborted", "max", "max_total", "min_total")
"""Settings under ``pay`` that texts can contain as placeholders."""
SETTINGS = (*AMOUNTS, "waiting", "lobby", "deadline")
"""Placeholders with settings of the study."""
OF_GAME = ("treatment", "payoff")
"""Placeholders with values of the latest game."""


def check_path(path: Iterable[Step], files: Mapping[str, str]) -> None:
    """Check the texts, conditions and templates of a path's steps.

    Raises:
        LocatedError: a text uses an unknown placeholder or file, a condition never holds, or a
            template is not valid.
    """
    known: dict[str, Item | None] = {}
    for location, step in located_steps(path):
        try:
            if isinstance(step, Games):
                _check_attention(step)
                known |= {"payoff": None, "treatment": None}
                continue
            if len(location) > 1:
                known["treatment"] = None
            _check_when(step.when, known)
            _check_step(step, known, files)
        except ValueError as error:
            raise LocatedError(str(error), *location) from None
        for item in _items(step):
            known |= dict.fromkeys(item.columns.values(), item)


def _items(step: Step) -> list[Item]:
    return [item for part in step.parts for item in part]


def _check_step(step: Step, known: dict[str, Item | None], files: Mapping[str, str]) -> None:
    for location, words in texts_in(step):
        if "items" not in location:
            check_words(words, known, files)
    here = dict(known)
    for item in _items(step):
        if item.name in (*SETTINGS, *OF_GAME):
            raise ValueError(
                f'"{item.name}" is the name of a placeholder; choose another name for the item'
            )
        if len(step.parts) > 1 and step.kind not in ("survey", "screening"):
            raise ValueError(
                f"{step.kind}: an item can't depend on another one of the same page; ask the other "
                "one in an earlier step"
            )
        _check_when(item.when, here)
        for _, words in texts_in(item):
            check_words(words, here, files)
        here |= dict.fromkeys(item.columns.values(), item)
    if isinstance(step, CustomPage):
        _check_template(step, known, files)


def check_words(
    words: str | dict[str, str], known: Iterable[str], files: Mapping[str, str]
) -> None:
    """Check the placeholders, images and links of a text."""
    names = [*known, *SETTINGS]
    for name in placeholders(words):
        if name not in names:
            where = "is not known at this step" if name in OF_GAME else "is unknown"
            raise ValueError(
                f"the placeholder {{{name}}} {where}; use the name of an earlier item or one of "
                f"{', '.join([*SETTINGS, *OF_GAME])}, or double the braces to show them"
            )
    for text in versions(words):
        for image in images_in(text) if "![" in text else ():
            _check_image(image, files)
        for link in links_in(text) if "](" in text else ():
            if not LINK.match(link):
                raise ValueError(f"the link {shown(link)} must start with https:// or mailto:")


def _check_image(name: str, files: Mapping[str, str]) -> None:
    if name not in files or suffix_of(name) == TEMPLATE:
        raise ValueError(
            f"the image {shown(name)} is not among the study's files; put it into the folder of "
            "the study file or, in the laboratory, upload it on the page Files"
        )


def _check_attention(step: Games) -> None:
    if step.attention is not None:
        for name in placeholders(step.attention.text):
            if name != "word":
                raise ValueError(f"attention: the placeholder {{{name}}} is unknown; use {{word}}")


def _check_when(when: When, known: Mapping[str, Item | None]) -> None:
    for name, condition in when.items():
        if name not in known:
            raise ValueError(
                f"when: unknown answer {suggest(name, list(known))}; a condition refers to an item "
                "of an earlier step, or to an earlier item of the same step"
            )
        if (item := known[name]) is None:
            continue  # a value of the latest game
        if condition.bounds and not item.answer.numeric:
            raise ValueError(f"when: {name} is not a number, so it can't have bounds; list answers")
        for text in (*condition.any_of, *condition.none_of):
            try:
                item.answer.value(text)
            except Invalid:
                raise ValueError(
                    f"when: {shown(text)} is not a possible answer to {name}; use another value"
                ) from None


def _check_template(step: CustomPage, known: Iterable[str], files: Mapping[str, str]) -> None:
    dotted = [item.name for item in step.items if "." in item.name]
    if dotted:
        raise ValueError(f"page: {dotted[0]} has a dot; items of a page have names without dots")
    images = [name for name in files if suffix_of(name) != TEMPLATE]
    for template in versions(step.template):
        text = template_text(template, files)
        if text is None:
            raise ValueError(
                f"page: the template {shown(template)} is not among the study's files; put it into "
                "the folder of the study file or, in the laboratory, upload it on the page Files, "
                f"with a name that ends with {TEMPLATE}"
            )
        items = [item.name for item in step.items]
        name = template if is_path(template) else "template"
        check_page_template(name, text, items, [*known, *SETTINGS], images)
