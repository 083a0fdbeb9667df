"""The texts that catalogues of the rooms must translate."""

import inspect
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po

import cheaptalk.web.rooms
from cheaptalk.rules import game_title, games
from cheaptalk.rules.registry import GAMES, OURS
from cheaptalk.web.rooms.forms import fields, option_label
from cheaptalk.web.rooms.languages import LOCALE
from cheaptalk.web.rooms.server import about, gist

Message = str | tuple[str, ...]
ROOMS = Path(inspect.getfile(cheaptalk.web.rooms)).parent
METHODS = [("**.py", "python"), ("**.jinja", "jinja2")]
KEYWORDS = {
    "_": None, "gettext": None, "ngettext": (1, 2), "NotHere": None, "HTTPException": (2,),
}  # fmt: skip


def catalogue(language: str, name: str) -> Catalog:
    """A catalogue of a language."""
    with (LOCALE / language / "LC_MESSAGES" / f"{name}.po").open("rb") as file:
        return read_po(file, locale=language)


def of_pages() -> set[Message]:
    """What stands in the templates and the code of the rooms."""
    options = {"**.jinja": {"trimmed": "false", "silent": "false"}}
    found = extract_from_dir(ROOMS, METHODS, options_map=options, keywords=KEYWORDS)
    return {
        message if isinstance(message, str) else tuple(message) for _, _, message, _, _ in found
    }


def of_games() -> set[Message]:
    """What pages say of our games: titles, descriptions, and the fields of their answers."""
    return {one for one in _of_games() if one} - of_pages()


def _of_games() -> Iterator[Message]:
    for name, box in games().items():
        if GAMES.origin(name) != OURS:
            continue
        game = box.rules()
        yield from (game_title(name), gist(game), about(game), *game.payoff_units().values())
        yield from (game.called(place).rpartition(" ")[0] for place in game.places)
        for action in box.rules.actions:
            for field in fields(action.model_json_schema()):
                yield from (field.label, field.about[:1].upper() + field.about[1:])
                yield from map(option_label, field.options)
