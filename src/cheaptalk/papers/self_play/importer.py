"""Importer of recorded human dialogues of Deal or No Deal (Lewis et al. 2017).

A line of a published file is a dialogue from the perspective of one of its two speakers; most
dialogues appear twice. The importer supports the tagged format of ``val.txt`` and ``test.txt``, and
the plain format of ``data.txt``, which contains all dialogues. Conversion:

* All lines of a dialogue, from all files, become one match. The first speaker is ``player_1``.
  Messages are unchanged.
* A selection is a proposal; the player whose turn it is selects first. With an agreement, one
  selection determines the other.
* The rules have no "no agreement" move. A player who selected "no agreement" or disconnected has
  aborted the game, and both players get nothing. The answer counts as ``refused`` or ``timed_out``,
  and the record keeps the selection under ``source``. If lines report a disconnection without
  naming the player, the player whose answer was due has disconnected.

A dialogue is skipped if no line contains a required selection. After a disagreement, the tagged
format lacks both players' selections, and ``data.txt`` sometimes lacks one. The data
don't show whether the player proposed a division, selected "no agreement" or disconnected.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, cycle
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pydantic import ValidationError

from cheaptalk.games.deal_or_no_deal.contexts import KINDS, Triple, rest, worth
from cheaptalk.games.deal_or_no_deal.rules import PLAYERS, DealOrNoDeal, Opening
from cheaptalk.players import ImportedSeat, Kind
from cheaptalk.records.identity import digest
from cheaptalk.records.imports.files import faults, files_in, path_name, read_text
from cheaptalk.records.imports.importing import (
    GameCollection,
    ImportedGame,
    Importer,
    ImportFailed,
    Skipped,
)
from cheaptalk.records.imports.redaction import names_said, names_to_hide, redact
from cheaptalk.rules import CheaptalkError, Game, ReplayMismatch, Table, replay_answer
from cheaptalk.rules.errors import shown

NO_AGREEMENT = "no agreement"
DISCONNECT = "disconnect"
Selection: TypeAlias = Triple | str | None
"""A player's selection: the player's items, one of the two words above, or None if unknown."""
_TAGGED = re.compile(
    r"<input> (.*) </input> <dialogue> (.*) </dialogue> <output> (.*) </output> "
    r"<partner_input> (.*) </partner_input>"
)
_PLAIN = re.compile(
    r"((?:\S+ ){5}\S+) ((?:YOU|THEM):.*) <eos> reward=(.+) (agree|disagree) ((?:\S+ ){5}\S+)"
)
_CONTEXT = re.compile(r"\d+( \d+){5}", re.ASCII)
_ITEMS = re.compile(r"item0=(\d{1,3}) item1=(\d{1,3}) item2=(\d{1,3})", re.ASCII)
_SELECTION = "<selection>"
_WORDS = {
    " ".join([f"<{word}>"] * 6): selected
    for word, selected in (
        ("disagree", None),
        ("no_agreement", NO_AGREEMENT),
        ("disconnect", DISCONNECT),
    )
}
"""Selections of both players for outputs without items."""
SYSTEM = "dond"
ABORTS = {NO_AGREEMENT: Kind.REFUSED, DISCONNECT: Kind.TIMED_OUT}
"""The kind of answer for a selection that aborts the game."""


class View(NamedTuple):
    """A dialogue as recorded in one line of a file; the first speaker's data come first.

    ``agreed`` is whether the selections are recorded as compatible; None if not recorded.
    """

    location: str
    counts: Triple
    values: tuple[Triple, Triple]
    messages: tuple[str, ...]
    selections: tuple[Selection, Selection]
    agreed: bool | None


def read_dond(
    paths: Sequence[Path | str] | Path | str, *, keep_names: bool = False, names: Sequence[str] = ()
) -> GameCollection:
    """Return the dialogues in the given files or in the ``.txt`` files of folders, for import.

    First names are removed from messages; see :mod:`cheaptalk.records.imports.redaction`.

    Args:
        keep_names: whether to keep first names.
        names: further names to remove from every dialogue.

    Raises:
        CheaptalkError: a path doesn't exist, there is no file, or ``names`` and ``keep_names`` are
            both given.
    """
    hidden = names_to_hide(keep_names, names)
    named = [paths] if isinstance(paths, Path | str) else paths
    sources = [Path(path) for path in named]
    skipped: list[Skipped] = []
    ignored: list[str] = []
    files = list(chain.from_iterable(_files(path, skipped, ignored) for path in sources))
    if not files and not skipped:
        raise CheaptalkError(f"{', '.join(map(str, sources))}: contains no .txt files")
    games = _games(files, skipped, hidden)
    return GameCollection(SYSTEM, games, sources[0].resolve().name, hidden is None, ignored)


def _files(path: Path, skipped: list[Skipped], ignored: list[str]) -> list[Path]:
    if path.is_dir():
        return files_in(path, ".txt", skipped, ignored)
    if not path.exists():
        raise CheaptalkError(f"{path}: no such file or folder")
    return [path]


def _games(
    files: Iterable[Path], skipped: list[Skipped], hidden: frozenset[str] | None
) -> Iterator[ImportedGame | Skipped]:
    """Yield the files and lines that cannot be read, then a game or an error for each dialogue."""
    dialogues: dict[str, list[View]] = {}
    for path in files:
        for view in _views(path, skipped):
            id_ = digest(SYSTEM, view.counts, view.values, *view.messages)
            dialogues.setdefault(id_, []).append(view)
    yield from skipped
    game = DealOrNoDeal()
    for id_, views in dialogues.items():
        try:
            yield _game(game, id_, views, hidden)
        except ImportFailed as reason:
            yield Skipped(_location(views), str(reason))


def _views(path: Path, skipped: list[Skipped]) -> Iterator[View]:
    name = path_name(path.parent, path)
    try:
        lines = enumerate(read_text(path).split("\n"), start=1)
    except ImportFailed as error:
        skipped.append(Skipped(name, str(error).removeprefix(f"{path.name}: ")))
        return
    lines_by_number = {number: text for number, line in lines if (text := line.removesuffix("\r"))}
    if all(map(is_context, lines_by_number.values())):
        reason = "contains contexts instead of dialogues" if lines_by_number else "is empty"
        skipped.append(Skipped(name, reason))
        return
    for number, line in lines_by_number.items():
        location = f"{name}, line {number}"
        try:
            yield read_line(location, line)
        except ImportFailed as error:
            skipped.append(Skipped(location, str(error)))


def _game(
    game: Game, id_: str, views: Sequence[View], hidden: frozenset[str] | None
) -> ImportedGame:
    """Combine all lines of a dialogue into a game without the ``hidden`` names (None keeps all)."""
    view, location = views[0], _location(views)
    context = {"counts": view.counts, "values": view.values}
    try:
        instance = Opening.model_validate({"context": context, "first": PLAYERS[0]})
    except ValidationError as error:
        raise ImportFailed(faults(error)) from None
    selections = _selections(views)
    names: Set[str] = set()
    if hidden is not None:
        names = hidden | names_said(zip(cycle(PLAYERS), view.messages), PLAYERS)
    messages = [redact(text, names) for text in view.messages]
    table = Table(game, instance, f"{SYSTEM}/{id_}")
    try:
        for number, (message, _) in enumerate(messages):
            replay_answer(table, number, PLAYERS[number % 2], {"message": message})
        failures = _select(table, selections)
    except ReplayMismatch as mismatch:
        raise ImportFailed(str(mismatch)) from None
    source: dict[str, Any] = {"system": SYSTEM, "id": id_, "folder": location}
    if failures:
        source["selections"] = dict(zip(PLAYERS, selections, strict=True))
    seats = dict.fromkeys(game.seats, ImportedSeat(imported=SYSTEM, person=True))
    return ImportedGame(
        id_, table, seats, source, location, sum(count for _, count in messages), failures
    )


def _location(views: Sequence[View]) -> str:
    return "; ".join(view.location for view in views)


def _selections(views: Sequence[View]) -> list[Selection]:
    """Each player's selection, or None; raise ImportFailed if the lines contradict each other."""
    selections: list[Selection] = []
    for number, player in enumerate(PLAYERS):
        recorded = {view.selections[number] for view in views} - {None}
        if len(recorded) > 1:
            raise ImportFailed(f"the lines contain different selections of {player}")
        selections.append(recorded.pop() if recorded else None)
    agreed = {view.agreed for view in views} - {None}
    if len(agreed) > 1:
        raise ImportFailed("the lines contradict each other on whether there was an agreement")
    counts = views[0].counts
    claims = [claim for claim in selections if isinstance(claim, tuple)]
    if agreed == {True} and len(claims) == 1 and None in selections:
        claims.append(rest(counts, claims[0]))
        selections[selections.index(None)] = claims[1]
    if agreed and len(claims) == 2 and (rest(counts, claims[0]) == claims[1]) not in agreed:
        if False in agreed:
            raise ImportFailed("the selections are compatible, but recorded as a disagreement")
        raise ImportFailed("the selections are incompatible, but recorded as an agreement")
    return selections


def _select(table: Table, selections: Sequence[Selection]) -> dict[int, Kind]:
    """Replay the selections; return the request and kind of the answer that aborts the game."""
    while not table.over:
        (ask,) = table.pending.values()
        selected = selections[PLAYERS.index(ask.actor)]
        request = table.requests
        if selected is None:
            raise ImportFailed("the lines lack a required selection")
        if isinstance(selected, str):
            replay_answer(table, request, ask.actor, None)
            return {request: ABORTS[selected]}
        replay_answer(table, request, ask.actor, dict(zip(KINDS, selected, strict=True)))
    return {}


def is_context(line: str) -> bool:
    """Return whether a line contains one player's counts and values instead of a dialogue."""
    return _CONTEXT.fullmatch(line) is not None


def read_line(location: str, line: str) -> View:
    """Parse a line of either format; raise ImportFailed if a part cannot be parsed."""
    selections: tuple[Selection, Selection]
    if tagged := _TAGGED.fullmatch(line):
        own, dialogue, output, partner = tagged.groups()
        messages, you_began, selection = _talk(dialogue)
        if selection:
            raise ImportFailed(f'"dialogue": contains the selection {shown(selection)}')
        selections, agreed = _output(output)
        counts, own_values = _input("input", own)
    elif plain := _PLAIN.fullmatch(line):
        own, dialogue, reward, status, partner = plain.groups()
        messages, you_began, selection = _talk(dialogue)
        counts, own_values = _input("input", own)
        selected = _selected(selection, reward, own_values)
        selections = (selected, None)
        agreed = status == "agree" if isinstance(selected, tuple) else None
    else:
        raise ImportFailed("matches neither of the two formats of the published files")
    partner_counts, partner_values = _input("partner_input", partner)
    if counts != partner_counts:
        raise ImportFailed('"partner_input": the counts differ from those of "input"')
    values = (own_values, partner_values)
    if not you_began:
        values, selections = values[::-1], selections[::-1]
    return View(location, counts, values, messages, selections, agreed)


def _input(field: str, text: str) -> tuple[Triple, Triple]:
    """A player's counts and values of books, hats and balls."""
    if not is_context(text):
        raise ImportFailed(f'"{field}": {shown(text)} is not six integers')
    books, book, hats, hat, balls, ball = map(int, text.split())
    return (books, hats, balls), (book, hat, ball)


def _talk(dialogue: str) -> tuple[tuple[str, ...], bool, str]:
    """The messages, whether the line's speaker began, and the final selection."""
    speakers: list[str] = []
    texts: list[str] = []
    for number, turn in enumerate(dialogue.split(" <eos> "), start=1):
        speaker, _, text = turn.partition(": ")
        if speaker not in ("YOU", "THEM"):
            raise ImportFailed(f'"dialogue", turn {number}: must begin with "YOU: " or "THEM: "')
        if speakers and speaker == speakers[-1]:
            raise ImportFailed(
                f'"dialogue", turn {number}: {speaker} must not speak twice in a row'
            )
        speakers.append(speaker)
        texts.append(text)
    *messages, last = texts
    if not last.startswith(_SELECTION):
        raise ImportFailed('"dialogue": must end with a selection')
    return tuple(messages), speakers[0] == "YOU", last.removeprefix(_SELECTION).strip()


def _output(text: str) -> tuple[tuple[Selection, Selection], bool | None]:
    """The selections of the speaker and the partner, and whether they are compatible."""
    if text in _WORDS:
        word = _WORDS[text]
        return (word, word), False if word is None else None
    own, partner = " ".join(text.split(" ")[:3]), " ".join(text.split(" ")[3:])
    return (_items("output", own), _items("output", partner)), True


def _selected(text: str, reward: str, values: Triple) -> Selection:
    """The speaker's selection; the recorded reward must equal its value."""
    if text in (NO_AGREEMENT, DISCONNECT):
        expected = text
        selected: Selection = text
    else:
        claim = _items("selection", text)
        selected, expected = claim, str(worth(values, claim))
    if reward != expected:
        raise ImportFailed(f'"reward": is {shown(reward)}; expected {expected} from the selection')
    return selected


def _items(field: str, text: str) -> Triple:
    match = _ITEMS.fullmatch(text)
    if match is None:
        raise ImportFailed(f'"{field}": {shown(text)} is not item0=N item1=N item2=N')
    books, hats, balls = map(int, match.groups())
    return books, hats, balls


NOTES = {"deal_or_no_deal": {"turns": "the published files do not contain the maximum"}}
IMPORTER = Importer("Import people's dialogues of Deal or No Deal.", read_dond, NOTES)
