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
from cheaptalk.rules import game_box, game_title, games
from cheaptalk.rules.registry import GAMES, OURS
from cheaptalk.web.rooms.forms import fields, option_label
from cheaptalk.web.rooms.languages import LOCALE

Message = str | tuple[str, ...]
ROOMS = Path(inspect.getfile(cheaptalk.web.rooms)).parent
PARTICIPANTS = Path(inspect.getfile(cheaptalk.web.participants)).parent
ASKED = (cheaptalk.studies.people.items, cheaptalk.studies.people.path)
"""What asks participants outside games, and says what is wrong with an answer."""
SENTENCE = re.compile("[A-Z][a-z]+ .+")
PLAYED = Path(inspect.getfile(cheaptalk.games.bargaining)).parents[1]
METHODS = [("**.py", "python"), ("**.jinja", "jinja2")]
KEYWORDS = {
    "_": None, "gettext": None, "ngettext": (1, 2), "NotHere": None, "HTTPException": (2,),
    "Refused": None, "text": None,
}  # fmt: skip


def catalogue(language: str, name: str) -> Catalog:
    """A catalogue of a language."""
    with (LOCALE / language / "LC_MESSAGES" / f"{name}.po").open("rb") as file:
        return read_po(file, locale=language)


def of_pages() -> set[Message]:
    """What stands in the templates and the code of the rooms, and in that of posted forms."""
    posted = extract_from_file("python", inspect.getfile(cheaptalk.web.posted), KEYWORDS)
    return extracted(ROOMS) | {str(one) for _, one, _, _ in posted}


def of_games() -> set[Message]:
    """What pages say of our games: titles, descriptions, fields of answers, and their screens."""
    return ({one for one in _of_games() if one} | extracted(PLAYED)) - of_pages()


def of_participants() -> set[Message]:
    """What participants read outside games: their pages, why they are refused, and items."""
    asked = {one for module in ASKED for one in _sentences(inspect.getsource(module))}
    return (extracted(PARTICIPANTS) | asked) - of_pages() - of_games()


def extracted(folder: Path) -> set[Message]:
    """The texts in a folder's templates and code that are marked to be translated."""
    options = {"**.jinja": {"trimmed": "false", "silent": "false"}}
    found = extract_from_dir(folder, METHODS, options_map=options, keywords=KEYWORDS)
    return {one if isinstance(one, str) else tuple(one) for _, _, one, _, _ in found}


def _sentences(source: str) -> Iterator[str]:
    """The sentences in code that are not its docstrings."""
    code = list(ast.walk(ast.parse(source)))
    told = {id(one.value) for one in code if isinstance(one, ast.Expr)}
    for one in code:
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in told:
            yield from SENTENCE.findall(one.value)


def _of_games() -> Iterator[Message]:
    yield from game_box("chip_trading").rules().colours  # type: ignore[attr-defined]
    yield from (*KINDS, *(kind.removesuffix("s") for kind in KINDS))
    for name, box in games().items():
        if GAMES.origin(name) != OURS:
            continue
        game = box.rules()
        yield from (game_title(name), *game.payoff_units().values())
        yield from (game.called(place).rpartition(" ")[0] for place in game.places)
        for action in box.rules.actions:
            for field in fields(action.model_json_schema()):
                yield from (field.label, field.about[:1].upper() + field.about[1:])
                yield from map(option_label, field.options)
