"""People's dialogues of Deal or No Deal (Lewis et al. 2017), played again by our rules.

A line of a published file is a dialogue as one of its two speakers saw it; most dialogues stand
there twice. Both formats are read: the tagged one of ``val.txt`` and ``test.txt``, and the plain
one of ``data.txt``, which holds those dialogues again and all others. In our terms:

* The lines of one dialogue become one match, whichever files they come from. Who spoke first is
  ``player_1``. Messages are kept as they stand in the file.
* A selection is a proposal; first selects the player whose turn it is. Where there was an
  agreement, one selection tells the other.
* Our rules have no move that says "no agreement". Who selected that, or disconnected, has aborted
  the game, and both get nothing: the answer counts as ``refused`` or ``timed_out``, and what was
  selected is kept in the record under ``source``. Where both lines say that a player disconnected
  and neither says who, it is the player whose answer was due.

A dialogue whose next selection no line tells is left out: of a disagreement, the tagged format
tells neither player's, and ``data.txt`` not always both.
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
from cheaptalk.records.imports.files import faults, place_name, read_text, walk
from cheaptalk.records.imports.importers import Importer
from cheaptalk.records.imports.intake import Collection, ForeignGame, Skipped, Unfit
from cheaptalk.records.imports.redaction import names_said, names_to_hide, redact
from cheaptalk.rules import CheaptalkError, Game, ReplayMismatch, Table, give
from cheaptalk.rules.errors import shown

NO_AGREEMENT = "no agreement"
DISCONNECT = "disconnect"
Selection: TypeAlias = Triple | str | None
"""What a player selected: pieces for itself, one of the two words, or None where no one tells."""
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
        ("disagree", None), ("no_agreement", NO_AGREEMENT), ("disconnect", DISCONNECT),
    )
}  # fmt: skip
"""Outputs that are no pieces, and what they tell of each player's selection."""
SYSTEM = "dond"
ABORTS = {NO_AGREEMENT: Kind.REFUSED, DISCONNECT: Kind.TIMED_OUT}
"""What becomes of the question to a player who selected so."""


class View(NamedTuple):
    """A dialogue as a line tells it. Of a pair, the first is that of the player who spoke first.

    Attributes:
        place: file and line.
        counts: the pieces to be divided.
        values: what each player's pieces are worth to it.
        messages: what was said, in turn.
        selections: what each player selected at the end, as far as the line tells.
        agreed: whether the selected pieces were said to fit; None where it is not said.
    """

    place: str
    counts: Triple
    values: tuple[Triple, Triple]
    messages: tuple[str, ...]
    selections: tuple[Selection, Selection]
    agreed: bool | None


def read_dond(
    paths: Sequence[Path | str] | Path | str,
    *,
    keep_names: bool = False,
    names: Sequence[str] = (),
) -> Collection:
    """The dialogues in files, or in the ``.txt`` files of folders, for :func:`take_in`.

    People's first names are taken out of the messages, see
    :mod:`cheaptalk.records.imports.redaction`.

    Args:
        keep_names: leave them in.
        names: names to take out of every dialogue, besides those that are found.

    Raises:
        CheaptalkError: a path does not exist, or no file is there, or names are to be kept and to
            be taken out.
    """
    hidden = names_to_hide(keep_names, names)
    named = [paths] if isinstance(paths, Path | str) else paths
    places = [Path(path) for path in named]
    skipped: list[Skipped] = []
    files = list(chain.from_iterable(_files(path, skipped) for path in places))
    if not files and not skipped:
        raise CheaptalkError(f"{', '.join(map(str, places))}: no .txt file is there")
    games = _games(files, skipped, hidden)
    return Collection(SYSTEM, places[0].resolve().name, games, hidden is None)


def _files(path: Path, skipped: list[Skipped]) -> list[Path]:
    if path.is_dir():
        return [folder / name for folder, names in walk(path, skipped)
                for name in names if name.endswith(".txt")]  # fmt: skip
    if not path.exists():
        raise CheaptalkError(f"{path}: there is no such file or folder")
    return [path]


def _games(
    files: Iterable[Path], skipped: list[Skipped], hidden: frozenset[str] | None
) -> Iterator[ForeignGame | Skipped]:
    """The games of all files; what cannot be read comes first."""
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
        except Unfit as reason:
            yield Skipped(_place(views), str(reason))


def _views(path: Path, skipped: list[Skipped]) -> Iterator[View]:
    """The dialogues in a file; lines that hold none are skipped."""
    name = place_name(path.parent, path)
    try:
        lines = enumerate(read_text(path).split("\n"), start=1)
    except Unfit as reason:
        skipped.append(Skipped(name, str(reason).removeprefix(f"{path.name}: ")))
        return
    written = {number: text for number, line in lines if (text := line.removesuffix("\r"))}
    if all(map(is_context, written.values())):
        skipped.append(Skipped(name, "holds contexts, no dialogue" if written else "is empty"))
        return
    for number, line in written.items():
        place = f"{name}, line {number}"
        try:
            yield read_line(place, line)
        except Unfit as reason:
            skipped.append(Skipped(place, str(reason)))


def _game(
    game: Game, id_: str, views: Sequence[View], hidden: frozenset[str] | None
) -> ForeignGame:
    """A dialogue, from all lines that tell of it; names are taken out unless ``hidden`` is None."""
    view, place = views[0], _place(views)
    context = {"counts": view.counts, "values": view.values}
    try:
        deal = Opening.model_validate({"context": context, "first": PLAYERS[0]})
    except ValidationError as error:
        raise Unfit(faults(error)) from None
    selections = _selections(views)
    names: Set[str] = set()
    if hidden is not None:
        names = hidden | names_said(zip(cycle(PLAYERS), view.messages), PLAYERS)
    messages = [redact(text, names) for text in view.messages]
    table = Table(game, deal, f"{SYSTEM}/{id_}")
    try:
        for number, (message, _) in enumerate(messages):
            give(table, number, PLAYERS[number % 2], {"message": message})
        failures = _select(table, selections)
    except ReplayMismatch as mismatch:
        raise Unfit(str(mismatch)) from None
    source: dict[str, Any] = {"system": SYSTEM, "id": id_, "folder": place}
    if failures:
        source["selections"] = dict(zip(PLAYERS, selections, strict=True))
    seats = dict.fromkeys(game.places, ImportedSeat(imported=SYSTEM, person=True))
    return ForeignGame(
        id_, place, table, seats, source, sum(count for _, count in messages), failures
    )


def _place(views: Sequence[View]) -> str:
    return "; ".join(view.place for view in views)


def _selections(views: Sequence[View]) -> list[Selection]:
    """What each player selected, as far as any line tells.

    Raises:
        Unfit: the lines contradict each other.
    """
    found: list[Selection] = []
    for number, player in enumerate(PLAYERS):
        told = {view.selections[number] for view in views} - {None}
        if len(told) > 1:
            raise Unfit(f"the lines contradict each other on what {player} selected")
        found.append(told.pop() if told else None)
    said = {view.agreed for view in views} - {None}
    if len(said) > 1:
        raise Unfit("the lines contradict each other on whether there was an agreement")
    counts = views[0].counts
    claims = [claim for claim in found if isinstance(claim, tuple)]
    if said == {True} and len(claims) == 1 and None in found:
        claims.append(rest(counts, claims[0]))
        found[found.index(None)] = claims[1]
    if said and len(claims) == 2 and (rest(counts, claims[0]) == claims[1]) not in said:
        raise Unfit(f"the selections {'do not ' if True in said else ''}fit, unlike what is said")
    return found


def _select(table: Table, selections: Sequence[Selection]) -> dict[int, Kind]:
    """Give a table the selections, to the first that aborts the game.

    Returns:
        What became of a question that was not answered, by request.

    Raises:
        Unfit: a selection is not known.
    """
    while not table.over:
        (ask,) = table.pending.values()
        selected = selections[PLAYERS.index(ask.seat)]
        request = table.requests
        if selected is None:
            raise Unfit(f"what {ask.seat} selected stands in no line that was read")
        if isinstance(selected, str):
            give(table, request, ask.seat, None)
            return {request: ABORTS[selected]}
        give(table, request, ask.seat, dict(zip(KINDS, selected, strict=True)))
    return {}


def is_context(line: str) -> bool:
    """Whether a line is half a context, as in the file of contexts, and no dialogue."""
    return _CONTEXT.fullmatch(line) is not None


def read_line(place: str, line: str) -> View:
    """A line of either format.

    Raises:
        Unfit: it is of no known format, or a part of it cannot be read.
    """
    selections: tuple[Selection, Selection]
    if tagged := _TAGGED.fullmatch(line):
        own, said, output, partner = tagged.groups()
        messages, you_began, selection = _talk(said)
        if selection:
            raise Unfit(f'"dialogue": selects {shown(selection)} before the output')
        selections, agreed = _output(output)
        (counts, mine), (others, theirs) = _input("input", own), _input("partner_input", partner)
    elif plain := _PLAIN.fullmatch(line):
        own, said, reward, status, partner = plain.groups()
        messages, you_began, selection = _talk(said)
        (counts, mine), (others, theirs) = _input("input", own), _input("partner_input", partner)
        selected = _selected(selection, reward, mine)
        selections = (selected, None)
        agreed = status == "agree" if isinstance(selected, tuple) else None
    else:
        raise Unfit("is in neither of the two formats of the published files")
    if counts != others:
        raise Unfit('"partner_input": has other counts than the player\'s own')
    values = (mine, theirs)
    if not you_began:
        values, selections = values[::-1], selections[::-1]
    return View(place, counts, values, messages, selections, agreed)


def _input(field: str, text: str) -> tuple[Triple, Triple]:
    """Counts and values of books, hats and balls."""
    if not is_context(text):
        raise Unfit(f'"{field}": {shown(text)} is not six whole numbers')
    books, book, hats, hat, balls, ball = map(int, text.split())
    return (books, hats, balls), (book, hat, ball)


def _talk(said: str) -> tuple[tuple[str, ...], bool, str]:
    """The messages of a dialogue, whether the own player began, and the selection at its end."""
    speakers: list[str] = []
    texts: list[str] = []
    for number, turn in enumerate(said.split(" <eos> "), start=1):
        speaker, _, text = turn.partition(": ")
        if speaker not in ("YOU", "THEM"):
            raise Unfit(f'"dialogue", turn {number}: begins with neither "YOU: " nor "THEM: "')
        if speakers and speaker == speakers[-1]:
            raise Unfit(f'"dialogue", turn {number}: {speaker} is not to speak again')
        speakers.append(speaker)
        texts.append(text)
    *messages, last = texts
    if not last.startswith(_SELECTION):
        raise Unfit('"dialogue": does not end with a selection')
    return tuple(messages), speakers[0] == "YOU", last.removeprefix(_SELECTION).strip()


def _output(text: str) -> tuple[tuple[Selection, Selection], bool | None]:
    """Both players' selections, the own one first, and whether they are said to fit."""
    if text in _WORDS:
        word = _WORDS[text]
        return (word, word), False if word is None else None
    own, theirs = " ".join(text.split(" ")[:3]), " ".join(text.split(" ")[3:])
    return (_items("output", own), _items("output", theirs)), True


def _selected(text: str, reward: str, values: Triple) -> Selection:
    """The own selection; the reward must be what it is worth, or the same word."""
    if text in (NO_AGREEMENT, DISCONNECT):
        expected = text
        selected: Selection = text
    else:
        claim = _items("selection", text)
        selected, expected = claim, str(worth(values, claim))
    if reward != expected:
        raise Unfit(f'"reward": is {shown(reward)}; by the selection {expected}')
    return selected


def _items(field: str, text: str) -> Triple:
    found = _ITEMS.fullmatch(text)
    if found is None:
        raise Unfit(f'"{field}": {shown(text)} is not item0=N item1=N item2=N')
    books, hats, balls = map(int, found.groups())
    return books, hats, balls


NOTES = {"deal_or_no_deal": {"turns": "the published files do not say how many there could be"}}
IMPORTER = Importer("Import people's dialogues of Deal or No Deal.", read_dond, NOTES)
