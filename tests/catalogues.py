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
from typing import get_args

import jinja2
from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as Entry
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.pofile import read_po, write_po

import cheaptalk
import cheaptalk.papers.glee.quizzes
import cheaptalk.studies.people.answers
import cheaptalk.studies.people.items
import cheaptalk.studies.people.path
import cheaptalk.web.posted
from cheaptalk.games.chip_trading.rules import PALETTE
from cheaptalk.games.deal_or_no_deal.contexts import KINDS as ITEM_KINDS
from cheaptalk.reports.recipes.parts import RECIPES
from cheaptalk.rules import game_title, games
from cheaptalk.rules.game_spec import LANGUAGES, LOCALE
from cheaptalk.rules.registry import GAMES, OURS
from cheaptalk.studies.people.answers import KINDS as ANSWERS
from cheaptalk.studies.people.protocol import Ending
from cheaptalk.studies.people.steps import PROMPT, STEPS
from cheaptalk.studies.presets import PRESETS, study_of
from cheaptalk.studies.status import Stage
from cheaptalk.text import capital, plain
from cheaptalk.web.console.account_pages import ROLES
from cheaptalk.web.console.authentication import TABS
from cheaptalk.web.console.designs.fields import Field, fields_of
from cheaptalk.web.console.designs.pairings import PAIRINGS
from cheaptalk.web.console.designs.rows import GRID_FIELDS, PERSON_FIELDS
from cheaptalk.web.console.designs.settings import COMPARISONS
from cheaptalk.web.console.designs.step_rows import about_answer, about_step, step_fields
from cheaptalk.web.console.designs.study_form import STUDY
from cheaptalk.web.console.designs.study_form_page import (
    CHATS,
    KINDS,
    NOUNS,
    SECTIONS,
    about_game,
)
from cheaptalk.web.console.participants.selection import STATES
from cheaptalk.web.console.sentences import nouns
from cheaptalk.web.console.translation import HtmlTranslation
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.rooms.forms import fields as action_fields
from cheaptalk.web.rooms.forms import option_label
from cheaptalk.web.rooms.rooms import Stage as RoomStage
from tests.composed import composed, counted_nouns

Text = str | tuple[str, ...]
Message = tuple[str | None, Text]
"""The context of a message, and its text or its singular and plural."""
SOURCE = LANGUAGES[0]
PACKAGE = Path(inspect.getfile(cheaptalk)).parent
WEB = PACKAGE / "web"
SENTENCE = re.compile(
    "(?:[A-Z][a-z]*|%[(][a-z]+[)]s) .+[.:?!\u2026\u201d]|Your questions or comments"
)
COUNTED = re.compile(r"""counted\(["'](.+?)["']\)""")
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
    shared = [PACKAGE / "styles" / name for name in ("phrases.jinja", "chat.jinja")]
    paths = [*PACKAGE.glob("games/*/styles/people.jinja"), *shared]
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
    people = cheaptalk.studies.people
    modules = (people.answers, people.items, people.path)
    texts = {(None, text) for module in modules for text in _sentences(inspect.getsource(module))}
    quizzes = extract(Path(inspect.getfile(cheaptalk.papers.glee.quizzes)))
    return extract(WEB / "participants") | texts | quizzes | {(None, PROMPT)}


def console() -> set[Message]:
    """Return the texts of the researchers' pages: templates, notices, errors and form fields."""
    environment = jinja2.Environment(
        autoescape=True, extensions=["jinja2.ext.i18n", HtmlTranslation]
    )
    found: set[Message] = set()
    for path in (WEB / "console").rglob("*.jinja"):
        source = path.read_text(encoding="utf-8")
        for _, function, text in environment.extract_translations(source):  # type: ignore[attr-defined]
            parts = [text] if isinstance(text, str) else [part for part in text if part]
            found.add((None, tuple(parts[:2]) if function == "ngettext" else parts[0]))
        nouns_here = [*COUNTED.findall(source), "person", "model", "script"]
        found |= {(None, nouns(noun)) for noun in nouns_here}
    found |= {(None, nouns(noun)) for noun in counted_nouns(PACKAGE)}
    found |= {(None, text) for text in composed(PACKAGE)}
    for path in [*(WEB / "console").rglob("*.py"), WEB / "laboratory" / "study_status.py"]:
        found |= {(None, text) for text in _sentences(path.read_text(encoding="utf-8"))}
        found |= {message for message in extract(path) if isinstance(message[1], tuple)}
    return found | {(None, text) for text in _form_texts() if text}


def _form_texts() -> Iterator[str]:
    """Yield names of states, and labels and descriptions of the study form's fields."""
    yield from (*TABS, *Role, *ROLES.values(), *Stage, *RoomStage, *STATES)
    yield from map(plain, (*get_args(Ending), *STEPS))
    yield from map(about_step, STEPS)
    yield from map(about_answer, ANSWERS)
    yield from (*map(capital, ANSWERS), *map(capital, map(plain, STEPS)))
    yield from (*COMPARISONS.values(), *NOUNS.values(), "entry", "condition", "game", "step")
    yield from (*SECTIONS, *PAIRINGS.values(), *KINDS.values(), "Size and budget", "paused")
    yield from (study_of(name).description for name in PRESETS if PRESETS.origin(name) == OURS)
    yield from (RECIPES[name].title for name in RECIPES if RECIPES.origin(name) == OURS)
    yield from ("as for the whole study", "yes", "no", "none", *CHATS)
    fields = [*STUDY.values(), *PERSON_FIELDS, *GRID_FIELDS]
    for name, game_spec in games().items():
        if GAMES.origin(name) == OURS:
            fields += fields_of(game_spec.rules).values()
            yield about_game(name)
    for kind in STEPS:
        fields += step_fields(kind)
    for answer in ANSWERS.values():
        fields += fields_of(answer).values()
    for field in fields:
        yield from _field_texts(field)


def _field_texts(field: Field) -> Iterator[str]:
    yield from (field.label, field.meaning)
    if field.kind == "choice":
        shown = map(plain, map(field.display_text, field.options))
        yield from (text for text in shown if text.isascii() and not text.isdecimal())
    for part in field.fields:
        yield from _field_texts(part)


def _sentences(source: str) -> Iterator[str]:
    """Yield the sentences in code that are neither in docstrings nor parts of f-strings."""
    code = list(ast.walk(ast.parse(source)))
    hidden = {id(item.value) for item in code if isinstance(item, ast.Expr)}  # docstrings
    hidden |= {id(part) for item in code if isinstance(item, ast.JoinedStr) for part in item.values}
    for element in code:
        if (
            isinstance(element, ast.Constant)
            and isinstance(element.value, str)
            and id(element) not in hidden
            and SENTENCE.fullmatch(element.value)
            and "%(num)s" not in element.value
        ):
            yield element.value


def _names() -> Iterator[Text]:
    yield from (*PALETTE, *ITEM_KINDS, *(kind.removesuffix("s") for kind in ITEM_KINDS))
    for name, game_spec in games().items():
        if GAMES.origin(name) != OURS:
            continue
        game = game_spec.rules()
        yield from (game_title(name), *(set(game.payoff_units().values()) - {"dollars"}), "Player")
        for action in game_spec.rules.actions:
            for field in action_fields(action.model_json_schema()):
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
    "console": console,
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


def names_of(language: str) -> list[str]:
    """Return the names of a language's catalogues; the console need not be translated."""
    return [name for name in SOURCES if name != "console" or path_of(language, name).exists()]


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
        for name in names_of(language):
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
