"""TAB completion of the values of arguments and options."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, redirect_stdout
from importlib.metadata import entry_points
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import typer

import cheaptalk as ct

VARIABLE = "_CHEAPTALK_COMPLETE"
"""Environment variable that a shell sets to request completions."""
BREAKS = "=:"
"""Characters at which bash splits words, even inside a value."""


def completing() -> bool:
    """Return whether a shell requests completions; the command must then print nothing else."""
    return VARIABLE in os.environ


Completer: TypeAlias = Callable[[typer.Context, str], list[str]]
"""A function that Typer calls for completions; Typer drops values that do not match the word."""


def completer(complete: Callable[[Mapping[str, Any], str], Iterable[str]]) -> Completer:
    """Return a completer that suggests no values if the completion function fails.

    The function gets the values of arguments and options so far, by name, and the typed beginning
    of the value to complete.
    """

    def completions(context: typer.Context, incomplete: str) -> list[str]:
        parameters = context.command.params
        arguments = [item.name for item in parameters if item.param_type_name == "argument"]
        unparsed = dict(zip(arguments, context.args, strict=False))
        try:
            return list(complete(context.params | unparsed, incomplete))
        except Exception:  # noqa: BLE001 - the command itself reports the error
            return []

    return completions


def names(values: Callable[[], Iterable[str]]) -> Completer:
    """Return a completer of values that do not depend on the command line."""
    return completer(lambda _given, _word: values())


def registered(group: str) -> Completer:
    """Return a completer of the names of entry points in a group, without loading them."""
    return names(lambda: (point.name for point in entry_points(group=group)))


BUILT_IN = {
    "cheaptalk.presets": (
        "chip-trading chip-trading-human deal-or-no-deal deal-or-no-deal-human gama "
        "gama-appendix-g gama-scripted gama-settings glee glee-human glee-small item-bargaining "
        "item-bargaining-heuristics item-bargaining-walk public-goods-punishment quickstart "
        "self-play trust ultimatum-strategy-method"
    ),
    "cheaptalk.rosters": (
        "chip-trading chip-trading-small current gama gama-treatments glee item-bargaining "
        "item-bargaining-circles self-play"
    ),
    "cheaptalk.rubrics": (
        "claims hallucination honesty promises theme-collaboration theme-colours theme-profit"
    ),
}
"""Names that this package registers, by group. Loading their entry points would take a second."""


def listed(group: str, load: Callable[[], Iterable[str]]) -> Iterable[str]:
    """Return an entry-point group's names; load the group only if other packages add names."""
    others = any(not point.module.startswith("cheaptalk.") for point in entry_points(group=group))
    return load() if others else BUILT_IN[group].split()


games = registered("cheaptalk.games")
presets = names(lambda: listed("cheaptalk.presets", lambda: ct.studies.preset_names()))
providers = names(lambda: ct.models.PROVIDERS)
recipes = registered("cheaptalk.recipes")
rubrics = names(lambda: listed("cheaptalk.rubrics", lambda: ct.judges.rubric_names()))


@completer
def styles(given: Mapping[str, Any], _word: str) -> Iterable[str]:
    """Complete the prompt styles of the given game."""
    return ct.get_game(given["game"]).styles


@completer
def seats(given: Mapping[str, Any], _word: str) -> Iterable[str]:
    """Complete the seats of the given game."""
    return ct.get_game(given["game"]).rules().seats


@completer
def players(given: Mapping[str, Any], _word: str) -> Iterable[str]:
    """Complete the strategies of the given game, and the model providers."""
    return _players([given["game"]])


@completer
def labelled_players(_given: Mapping[str, Any], word: str) -> Iterator[str]:
    """Complete ``LABEL=`` with the strategies of all games and the model providers."""
    label, equals, _ = word.partition("=")
    if equals:
        yield from (f"{label}={player}" for player in _players(ct.rules.games()))


def _players(of_games: Iterable[str]) -> list[str]:
    strategies = {strategy for game in of_games for strategy in ct.rules.strategies(game)}
    return sorted(strategies) + [f"{provider}/" for provider in ct.models.PROVIDERS]


@completer
def rosters(_given: Mapping[str, Any], word: str) -> Iterator[str]:
    """Complete the names of rosters or, after ``NAME:``, the labels of that roster's players."""
    name, colon, labels = word.partition(":")
    if not colon:
        yield from listed("cheaptalk.rosters", lambda: ct.players.roster_names())
        return
    chosen = labels.split(",")[:-1]
    for label in ct.players.roster(name).players:
        if label not in chosen:
            yield f"{name}:{','.join([*chosen, label])}"


@completer
def stored_studies(given: Mapping[str, Any], _word: str) -> Iterable[str]:
    """Suggest names of studies in the store."""
    return _stored(given["store"])


@completer
def studies(given: Mapping[str, Any], word: str) -> Iterator[str]:
    """Complete study files, the studies in the store, and presets."""
    folder = word[: word.rfind("/") + 1]
    for ending in ("yaml", "yml"):
        yield from (f"{folder}{path.name}" for path in sorted(Path(folder).glob(f"*.{ending}")))
    yield from _stored(given["store"])
    yield from listed("cheaptalk.presets", lambda: ct.studies.preset_names())


def _stored(store: str) -> list[str]:
    """Return the names of a store's studies, without creating files beside an SQLite store."""
    path = Path(store)
    if path.is_file():
        log = Path(f"{path}-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
        name = f"file:{quote(str(path.absolute()))}?{mode}"
        with closing(sqlite3.connect(name, uri=True)) as database:
            return [row[0] for row in database.execute("SELECT name FROM studies ORDER BY name")]
    if "://" in store:
        with ct.Store.open(store) as opened:
            return [study.name for study in opened.studies()]
    return []


@contextmanager
def joined_words() -> Iterator[None]:
    """Let bash complete values that contain characters at which it splits words."""
    if os.environ.get(VARIABLE) != "complete_bash":
        yield
        return
    last = int(os.environ["COMP_CWORD"])
    words = [*os.environ["COMP_WORDS"].split("\n"), *[""] * (last + 1)]
    joined = _joined(words[: last + 1])
    os.environ |= {"COMP_WORDS": "\n".join(joined), "COMP_CWORD": str(len(joined) - 1)}
    start = max(map(joined[-1].rfind, BREAKS)) + 1
    candidates = StringIO()
    try:
        with redirect_stdout(candidates):
            yield
    finally:  # Typer exits; a candidate replaces bash's last word, the end of the value
        for line in candidates.getvalue().splitlines():
            typer.echo(line.removeprefix(joined[-1][:start]))


def _joined(words: Iterable[str]) -> list[str]:
    """Join the parts into which bash splits words.

    >>> _joined(["run", "--roster", "glee", ":", "gpt-4o,o3", "--player", "a", "=", ""])
    ['run', '--roster', 'glee:gpt-4o,o3', '--player', 'a=']
    """
    joined: list[str] = []
    after_break = False
    for word in words:
        is_break = bool(word) and set(word) <= set(BREAKS)
        if joined and (is_break or after_break):
            joined[-1] += word
        else:
            joined.append(word)
        after_break = is_break
    return joined
