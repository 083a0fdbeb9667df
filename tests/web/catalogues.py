"""The texts that catalogues of the rooms must translate."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.pofile import read_po

import cheaptalk.games.bargaining
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
ASKED = (cheaptalk.studies.people.items, cheaptalk.studies.people.path)
"""What asks participants outside games, and says what is wrong with an answer."""
SENTENCE = re.compile("[A-Z][a-z]+ .+")
PLAYED = Path(inspect.getfile(cheaptalk.games.bargaining)).parents[1]
METHODS = [("**.py", "python"), ("**.jinja", "jinja2")]
KEYWORDS = {
    "_": None, "gettext": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2),
    "RoomUnavailable": None, "HTTPException": (2,), "Refused": None, "text": None,
}  # fmt: skip


def catalogue(language: str, name: str) -> Catalog:
    """A catalogue of a language."""
    with (LOCALE / language / "LC_MESSAGES" / f"{name}.po").open("rb") as file:
        return read_po(file, locale=language)


def of_pages() -> set[Message]:
    """What stands in the templates and the code of the rooms, and in that of posted forms."""
    posted = extract_from_file("python", inspect.getfile(cheaptalk.web.posted), KEYWORDS)
    return extracted(ROOMS) | {(None, str(text)) for _, text, _, _ in posted}


def of_games() -> set[Message]:
    """What pages say of our games: titles, descriptions, fields of answers, and their screens."""
    return ({(None, text) for text in _of_games() if text} | extracted(PLAYED)) - of_pages()


def of_participants() -> set[Message]:
    """What participants read outside games: their pages, why they are refused, and items."""
    asked = {(None, text) for module in ASKED for text in _sentences(inspect.getsource(module))}
    return (extracted(PARTICIPANTS) | asked) - of_pages() - of_games()


def extracted(folder: Path) -> set[Message]:
    """The texts in a folder's templates and code that are marked to be translated."""
    options = {"**.jinja": {"trimmed": "false", "silent": "false"}}
    found = extract_from_dir(folder, METHODS, options_map=options, keywords=KEYWORDS)
    return {
        (context, text if isinstance(text, str) else tuple(text))
        for _, _, text, _, context in found
    }  # fmt: skip


def _sentences(source: str) -> Iterator[str]:
    """The sentences in code that are not its docstrings."""
    code = list(ast.walk(ast.parse(source)))
    told = {id(item.value) for item in code if isinstance(item, ast.Expr)}
    for element in code:
        if (
            isinstance(element, ast.Constant)
            and isinstance(element.value, str)
            and id(element) not in told
        ):
            yield from SENTENCE.findall(element.value)


def _of_games() -> Iterator[Text]:
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
