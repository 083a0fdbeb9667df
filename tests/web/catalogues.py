"""Texts of the rooms that catalogues must translate."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.pofile import read_po

import cheaptalk.games.bargaining
import cheaptalk.studies.people.answers
import cheaptalk.studies.people.items
import cheaptalk.studies.people.path
import cheaptalk.web.participants
import cheaptalk.web.posted
import cheaptalk.web.rooms
from cheaptalk.games.deal_or_no_deal.contexts import KINDS
from cheaptalk.rules import game_title, games, get_game
from cheaptalk.rules.registry import GAMES, OURS
from cheaptalk.web.rooms.forms import fields, option_label
from cheaptalk.web.rooms.languages import LOCALE

Text = str | tuple[str, ...]
Message = tuple[str | None, Text]
"""The context of a message, and its text or its singular and plural."""
ROOMS = Path(inspect.getfile(cheaptalk.web.rooms)).parent
PARTICIPANTS = Path(inspect.getfile(cheaptalk.web.participants)).parent
MODULES = (
    cheaptalk.studies.people.answers,
    cheaptalk.studies.people.items,
    cheaptalk.studies.people.path,
)
"""Modules with the questions and error messages for participants outside games."""
SENTENCE = re.compile("[A-Z][a-z]+ .+")
PLAYED = Path(inspect.getfile(cheaptalk.games.bargaining)).parents[1]
METHODS = [("**.py", "python"), ("**.jinja", "jinja2")]
KEYWORDS = {
    "_": None, "gettext": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2),
    "RoomUnavailable": None, "HTTPException": (2,), "Refused": None, "text": None,
}  # fmt: skip


def catalogue(language: str, name: str) -> Catalog:
    with (LOCALE / language / "LC_MESSAGES" / f"{name}.po").open("rb") as file:
        return read_po(file, locale=language)


@cache
def page_texts() -> set[Message]:
    """Return the texts in the templates and code of the rooms and of posted forms."""
    posted = extract_from_file("python", inspect.getfile(cheaptalk.web.posted), KEYWORDS)
    return extract(ROOMS) | {(None, str(text)) for _, text, _, _ in posted}


@cache
def game_texts() -> set[Message]:
    """Return the texts of our games: titles, descriptions, answer fields and screens."""
    return ({(None, text) for text in _game_texts() if text} | extract(PLAYED)) - page_texts()


@cache
def participant_texts() -> set[Message]:
    """Return the texts for participants outside games: pages, error messages and items."""
    texts = {(None, text) for module in MODULES for text in _sentences(inspect.getsource(module))}
    return (extract(PARTICIPANTS) | texts) - page_texts() - game_texts()


def extract(folder: Path) -> set[Message]:
    options = {"**.jinja": {"trimmed": "false", "silent": "false"}}
    messages = extract_from_dir(folder, METHODS, options_map=options, keywords=KEYWORDS)
    return {
        (context, text if isinstance(text, str) else tuple(text))
        for _, _, text, _, context in messages
    }


def _sentences(source: str) -> Iterator[str]:
    """Yield the sentences in code that are not in docstrings."""
    code = list(ast.walk(ast.parse(source)))
    docstrings = {id(item.value) for item in code if isinstance(item, ast.Expr)}
    for element in code:
        if (
            isinstance(element, ast.Constant)
            and isinstance(element.value, str)
            and id(element) not in docstrings
        ):
            yield from SENTENCE.findall(element.value)


def _game_texts() -> Iterator[Text]:
    yield from get_game("chip_trading").rules().colours  # type: ignore[attr-defined]
    yield from (*KINDS, *(kind.removesuffix("s") for kind in KINDS))
    for name, game_spec in games().items():
        if GAMES.origin(name) != OURS:
            continue
        game = game_spec.rules()
        yield from (game_title(name), *game.payoff_units().values())
        yield from (game.called(place).rpartition(" ")[0] for place in game.seats)
        for action in game_spec.rules.actions:
            for field in fields(action.model_json_schema()):
                yield from (field.label, field.about[:1].upper() + field.about[1:])
                yield from map(option_label, field.options)
