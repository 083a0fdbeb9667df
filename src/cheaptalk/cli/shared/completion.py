"""What TAB offers for the values of arguments and options."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

import typer
from typer._click.shell_completion import CompletionItem, add_completion_class, split_arg_string
from typer._completion_classes import BashComplete, FishComplete, ZshComplete, completion_init

import cheaptalk as ct

VARIABLE = "_CHEAPTALK_COMPLETE"
"""The environment variable by which a shell asks what TAB is to offer."""
BREAKS = "=:"
"""Characters at which bash ends words, though they stand within a value."""


def completing() -> bool:
    """Whether a shell asks what TAB is to offer, and nothing else is to be said."""
    return VARIABLE in os.environ


class Typed(NamedTuple):
    """What was typed when TAB was pressed.

    Attributes:
        given: the values of the command's arguments and options so far, by name.
        word: the beginning of the value that is wanted.
    """

    given: Mapping[str, Any]
    word: str


Offer: TypeAlias = Callable[[typer.Context, str], list[str]]
"""What typer calls for the values that TAB offers; it leaves out those that begin otherwise."""


def offering(offer: Callable[[Typed], Iterable[str]]) -> Offer:
    """What TAB offers for a value: nothing where that cannot be found out, and no error."""

    def offered(context: typer.Context, incomplete: str) -> list[str]:
        try:
            return list(offer(Typed(_given(context), incomplete)))
        except Exception:  # noqa: BLE001 - the command itself says what is wrong
            return []

    return offered


def _given(context: typer.Context) -> dict[str, Any]:
    """The values so far, with arguments that the unfinished option kept from being read."""
    arguments = [one.name for one in context.command.params if one.param_type_name == "argument"]
    return context.params | dict(zip(arguments, context.args, strict=False))


def names(known: Callable[[], Iterable[str]]) -> Offer:
    """Names that TAB offers whatever was typed before."""
    return offering(lambda _: known())


def registered(group: str) -> Offer:
    """The names of entry points in a group, without loading what they refer to."""
    return names(lambda: (point.name for point in entry_points(group=group)))


OURS = {
    "cheaptalk.presets": (
        "chip-trading",
        "chip-trading-human",
        "deal-or-no-deal",
        "deal-or-no-deal-human",
        "gama",
        "gama-scripted",
        "gama-settings",
        "glee",
        "glee-human",
        "glee-small",
        "item-bargaining",
        "item-bargaining-heuristics",
        "item-bargaining-strategies",
        "quickstart",
        "self-play",
    ),
    "cheaptalk.rosters": (
        "chip-trading",
        "gama",
        "gama-treatments",
        "glee",
        "item-bargaining",
        "item-bargaining-circles",
        "self-play",
    ),
    "cheaptalk.rubrics": (
        "claims",
        "hallucination",
        "honesty",
        "promises",
        "theme-collaboration",
        "theme-colours",
        "theme-profit",
    ),
}  # fmt: skip
"""The names that this package registers in groups whose entry points refer to several things: its
own need not be loaded, as that takes a second. A test holds them against the registries."""


def listed(group: str, known: Callable[[], Iterable[str]]) -> Iterable[str]:
    """The names of a group, for which things are loaded only where another package adds some."""
    others = any(not point.module.startswith("cheaptalk.") for point in entry_points(group=group))
    return known() if others else OURS[group]


def preset_names() -> Iterable[str]:
    """The names of all presets."""
    return listed("cheaptalk.presets", lambda: ct.studies.preset_names())


games = registered("cheaptalk.games")
presets = names(preset_names)
providers = names(lambda: ct.models.PROVIDERS)
recipes = registered("cheaptalk.recipes")
rubrics = names(lambda: listed("cheaptalk.rubrics", lambda: ct.judges.rubric_names()))


@offering
def styles(typed: Typed) -> Iterable[str]:
    """The styles of the game that stands before."""
    return ct.game_box(typed.given["game"]).styles


@offering
def places(typed: Typed) -> Iterable[str]:
    """The places of the game that stands before."""
    return ct.game_box(typed.given["game"]).rules().places


@offering
def players(typed: Typed) -> Iterable[str]:
    """The strategies of the game that stands before, and the providers of models."""
    return _players([typed.given["game"]])


@offering
def labelled_players(typed: Typed) -> Iterator[str]:
    """``LABEL=`` with the strategies of all games, and with the providers of models."""
    label, equals, _ = typed.word.partition("=")
    if equals:
        yield from (f"{label}={player}" for player in _players(ct.rules.games()))


def _players(of_games: Iterable[str]) -> list[str]:
    known = {strategy for game in of_games for strategy in ct.rules.strategies(game)}
    return sorted(known) + [f"{provider}/" for provider in ct.models.PROVIDERS]


@offering
def rosters(typed: Typed) -> Iterator[str]:
    """The rosters; behind ``NAME:`` the labels of its players, with commas between."""
    name, colon, labels = typed.word.partition(":")
    if not colon:
        yield from listed("cheaptalk.rosters", lambda: ct.players.roster_names())
        return
    chosen = labels.split(",")[:-1]
    for label in ct.players.roster(name).players:
        if label not in chosen:
            yield f"{name}:{','.join([*chosen, label])}"


@offering
def stored_studies(typed: Typed) -> Iterable[str]:
    """The studies in the store."""
    return _stored(typed.given["store"])


@offering
def studies(typed: Typed) -> Iterator[str]:
    """Study files, the studies in the store, and presets."""
    folder = typed.word[: typed.word.rfind("/") + 1]
    for ending in ("yaml", "yml"):
        yield from (f"{folder}{path.name}" for path in sorted(Path(folder).glob(f"*.{ending}")))
    yield from _stored(typed.given["store"])
    yield from preset_names()


def _stored(where: str) -> list[str]:
    """The studies in a store; those of a file are read without what commands need to open one.

    No file is made beside it, as SQLite does unless somebody writes to it and has made them.
    """
    path = Path(where)
    if path.is_file():
        log = Path(f"{path}-wal")
        how = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
        name = f"file:{quote(str(path.absolute()))}?{how}"
        with closing(sqlite3.connect(name, uri=True)) as database:
            return [row[0] for row in database.execute("SELECT name FROM studies ORDER BY name")]
    if "://" in where:
        with ct.Store.open(where) as store:
            return [study.name for study in store.studies()]
    return []


class Bash(BashComplete):
    """Completion in bash, which hands over ``rival=linear`` in three words and wants the last."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The whole words before, and the one that is being typed."""
        words = split_arg_string(os.environ["COMP_WORDS"])
        last = int(os.environ["COMP_CWORD"])
        whole = _whole([*words, *[""] * (last + 1 - len(words))][: last + 1])
        return whole[1:-1], whole[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """The rest of a value, from where bash takes its last word to begin."""
        _, typed = self.get_completion_args()
        begun = max(map(typed.rfind, BREAKS)) + 1
        return str(item.value).removeprefix(typed[:begun])


class Zsh(ZshComplete):
    """Completion in zsh; help is plain text, and rich is not loaded for it."""

    def format_completion(self, item: CompletionItem) -> str:
        """A value, and its help if it has any."""
        parts = [CompletionItem(part) for part in (item.value, item.help) if part]
        return ":".join(super(Zsh, self).format_completion(part) for part in parts)


class Fish(FishComplete):
    """Completion in fish; help is plain text, and rich is not loaded for it."""

    def format_completion(self, item: CompletionItem) -> str:
        """A value, and its help if it has any."""
        return "\t".join(" ".join(part.split()) for part in (item.value, item.help) if part)


def _whole(words: Iterable[str]) -> list[str]:
    """Words that bash divided, as they were typed.

    >>> _whole(["run", "--roster", "glee", ":", "gpt-4o,o3", "--player", "a", "=", ""])
    ['run', '--roster', 'glee:gpt-4o,o3', '--player', 'a=']
    """
    whole: list[str] = []
    open_ = False
    for word in words:
        breaks = bool(word) and set(word) <= set(BREAKS)
        if whole and (breaks or open_):
            whole[-1] += word
        else:
            whole.append(word)
        open_ = breaks
    return whole


def enable() -> None:
    """Let shells ask what TAB is to offer."""
    completion_init()
    add_completion_class(Bash, "bash")
    add_completion_class(Zsh, "zsh")
    add_completion_class(Fish, "fish")
