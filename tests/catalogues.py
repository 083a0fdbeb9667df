"""Update the translation catalogues: add new texts, remove unused ones, and list what is missing.

Run it after changing texts that people read::

    python -m tests.catalogues          # update the catalogues of all languages
    python -m tests.catalogues pt       # begin a translation into Portuguese
    python -m tests.catalogues --check  # only report; exit with 1 if a catalogue is stale

Most texts are extracted from templates and code. The sentences of game rules and scripts contain
names and numbers, so that their English catalogues ``refusals.po`` and ``spoken.po`` list them.
"""

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from io import BytesIO
from pathlib import Path

from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as Entry
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.pofile import read_po, write_po

import cheaptalk
import cheaptalk.papers.glee.quizzes
import cheaptalk.studies.people.items
import cheaptalk.studies.people.path
import cheaptalk.web.posted
from cheaptalk.games.chip_trading.rules import PALETTE
from cheaptalk.games.deal_or_no_deal.contexts import KINDS
from cheaptalk.rules import game_title, games
from cheaptalk.rules.game_spec import LANGUAGES, LOCALE
from cheaptalk.rules.registry import GAMES, OURS
from cheaptalk.studies.people.steps import PROMPT
from cheaptalk.web.rooms.forms import fields, option_label

Text = str | tuple[str, ...]
Message = tuple[str | None, Text]
"""The context of a message, and its text or its singular and plural."""
SOURCE = LANGUAGES[0]
PACKAGE = Path(inspect.getfile(cheaptalk)).parent
WEB = PACKAGE / "web"
SENTENCE = re.compile("[A-Z][a-z]+ .+")
METHODS = [("**.py", "python"), ("**.jinja", "jinja2")]
OPTIONS = {"**.jinja": {"trimmed": "false", "silent": "false"}}
KEYWORDS = {
    "_": None, "gettext": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2), "counted": (1, 2),
    "RoomUnavailable": None, "HTTPException": (2,), "Refused": None, "text": None,
    "_question": (1,),
}  # fmt: skip
WIDTH = 100
VOLATILE = tuple(
    f'"{name}'
    for name in ("Project", "Report", "POT", "PO-Rev", "Last-T", "Language-Team", "Generated")
)
"""The beginnings of header lines that would change with every update."""


def extract(path: Path) -> set[Message]:
    """Return the messages in a file or in all files of a folder."""
    if path.is_dir():
        found = extract_from_dir(path, METHODS, options_map=OPTIONS, keywords=KEYWORDS)
        return {(context, _text(text)) for _, _, text, _, context in found}
    method = "python" if path.suffix == ".py" else "jinja2"
    entries = extract_from_file(method, path, keywords=KEYWORDS)
    return {(context, _text(text)) for _, text, _, context in entries}


def _text(found: str | Iterable[str]) -> Text:
    return found if isinstance(found, str) else tuple(found)


def prompts() -> set[Message]:
    """Return the texts of the prompt styles for people."""
    paths = [*PACKAGE.glob("games/*/styles/people.jinja"), PACKAGE / "styles/phrases.jinja"]
    return {message for path in paths for message in extract(path)} | extract(
        PACKAGE / "styles/languages.py"
    )


def rooms() -> set[Message]:
    """Return the texts of the rooms and of posted forms."""
    return extract(WEB / "rooms") | extract(WEB / "posted.py")


def game_screens() -> set[Message]:
    """Return the texts of our games: titles, descriptions, answer fields and screens."""
    paths = PACKAGE.glob("games/*/screen.html.jinja")
    texts = {(None, text) for text in _names() if text}
    return texts | {message for path in paths for message in extract(path)}


def participants() -> set[Message]:
    """Return the texts for participants outside games: pages, error messages and items."""
    modules = (cheaptalk.studies.people.items, cheaptalk.studies.people.path)
    texts = {(None, text) for module in modules for text in _sentences(inspect.getsource(module))}
    quizzes = extract(Path(inspect.getfile(cheaptalk.papers.glee.quizzes)))
    return extract(WEB / "participants") | texts | quizzes | {(None, PROMPT)}


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


def _names() -> Iterator[Text]:
    yield from (*PALETTE, *KINDS, *(kind.removesuffix("s") for kind in KINDS))
    for name, game_spec in games().items():
        if GAMES.origin(name) != OURS:
            continue
        game = game_spec.rules()
        yield from (game_title(name), *(set(game.payoff_units().values()) - {"dollars"}), "Player")
        for action in game_spec.rules.actions:
            for field in fields(action.model_json_schema()):
                if field.name.partition("_")[0] in game.seats:
                    continue  # pages show the name of the seat
                yield from (field.label, field.about[:1].upper() + field.about[1:])
                yield from map(option_label, field.options)


def listed(name: str, language: str = SOURCE) -> set[Message]:
    """Return the messages that a catalogue contains."""
    return {(entry.context, _text(entry.id)) for entry in catalogue(language, name) if entry.id}


SOURCES: dict[str, Callable[[], set[Message]]] = {
    "rooms": rooms,
    "prompts": prompts,
    "games": game_screens,
    "participants": participants,
    "refusals": partial(listed, "refusals"),
    "spoken": partial(listed, "spoken"),
}
"""The functions that return the texts of each catalogue; a text is in the first one that has it."""


@cache
def texts() -> dict[str, set[Message]]:
    """Return the messages of each catalogue."""
    found: dict[str, set[Message]] = {}
    for name, source in SOURCES.items():
        earlier: set[Message] = set().union(*found.values())
        found[name] = source() - earlier
    return found


def path_of(language: str, name: str) -> Path:
    return LOCALE / language / f"{name}.po"


def catalogue(language: str, name: str) -> Catalog:
    """Read a catalogue; a missing one is empty."""
    path = path_of(language, name)
    if not path.exists():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def updated(language: str, name: str) -> Catalog:
    """Return a catalogue with exactly the current texts; similar old texts become fuzzy."""
    template = Catalog()
    for context, text in texts()[name]:
        template.add(text, context=context)
    current = catalogue(language, name)
    current.update(template)
    for entry in incomplete(current):
        if earlier := translated(language).get((entry.context, _text(entry.id))):
            entry.string = earlier
            entry.flags.discard("fuzzy")
    current.obsolete.clear()
    kind = "Texts" if language != SOURCE else "Source texts and their English wording"
    current.header_comment = (
        f"# {kind}: {name}, {Locale.parse(language).get_language_name('en')}.\n"
        "# Update with: make catalogues"
    )
    return current


@cache
def translated(language: str) -> dict[Message, Text]:
    """Return all translations into a language, because texts can move between catalogues."""
    entries = [entry for name in SOURCES for entry in catalogue(language, name)]
    return {
        (entry.context, _text(entry.id)): _text(entry.string or "")
        for entry in entries
        if entry.id and all(_strings(entry)) and not entry.fuzzy
    }


def incomplete(current: Catalog) -> list[Entry]:
    """Return the entries that are fuzzy or not translated."""
    entries = [entry for entry in current if entry.id]
    return [entry for entry in entries if entry.fuzzy or not all(_strings(entry))]


def _strings(entry: Entry) -> tuple[str, ...]:
    return (entry.string,) if isinstance(entry.string, str) else tuple(entry.string or [""])


def write(language: str, name: str, current: Catalog) -> None:
    path = path_of(language, name)
    path.parent.mkdir(exist_ok=True)
    written = BytesIO()
    write_po(written, current, width=WIDTH, no_location=True, sort_output=True)
    lines = written.getvalue().decode().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(VOLATILE)), "utf-8")


def is_stale(language: str, name: str) -> bool:
    """Return whether a catalogue lacks current texts or has unused ones."""
    return listed(name, language) != texts()[name]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Update the translation catalogues.")
    parser.add_argument("languages", nargs="*", help="language codes; by default all", default=[])
    parser.add_argument("--check", action="store_true", help="only report stale catalogues")
    options = parser.parse_args(arguments)
    problems = 0
    for language in options.languages or LANGUAGES[1:]:
        translated(language)
        for name in SOURCES:
            current = updated(language, name)
            entries = incomplete(current)
            problems += is_stale(language, name) + len(entries)
            if not options.check:
                write(language, name, current)
            if is_stale(language, name) or entries:
                summary = f"{language}/{name}.po: {len(current)} texts, {len(entries)} incomplete"
                print(summary)  # noqa: T201 - a program
            for entry in entries:
                print(f"  {'fuzzy' if entry.fuzzy else 'missing'}: {entry.id}")  # noqa: T201
    return 1 if options.check and problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
