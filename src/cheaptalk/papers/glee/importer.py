"""Importer of GLEE's published games, replayed with cheaptalk's rules.

A game is a folder with a ``config.json`` and a ``game.csv``. Games between language models (2024
and newer) and games of people against a model are supported. Conversion:

* More than 20 rounds of bargaining or negotiation are a hidden horizon, because GLEE doesn't
  disclose the number to players.
* The value of high quality is the larger of ``v`` and ``c``, which the older release swaps.
* A missing message (empty, ``None`` or ``nan``) becomes an empty message if messages are allowed.
* "Jhon" with any decision is ``john``.
* Every answer counts as ``ok``, because GLEE doesn't record repeated requests.
* The record keeps data without another place, and the original configuration, under ``source``.

A game with moves that the rules reject is skipped, with file, row and reason.
"""

import csv
import io
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.games.persuasion.rules import Persuasion, Qualities, Signal
from cheaptalk.players import ImportedSeat
from cheaptalk.records.imports.files import faults, path_name, read_json, read_text, walk
from cheaptalk.records.imports.importing import (
    GameCollection,
    ImportedGame,
    Importer,
    ImportFailed,
    Skipped,
    folder_reader,
)
from cheaptalk.records.imports.redaction import names_said, names_to_hide, redact
from cheaptalk.rules import (
    CheaptalkError,
    Game,
    Horizon,
    Instance,
    ReplayMismatch,
    Table,
    replay_answer,
    suggest,
)

SYSTEM = "glee"
HIDDEN_ABOVE = 20
"""The maximum number of rounds that GLEE discloses in bargaining and negotiation."""
PEOPLE = ("otree", "terminal")
STUDY_MODEL = "gemini-1.5-flash"
"""The model behind ``otree_LLM``, the opponent in the human study (GLEE appendix E)."""
JOHN = {
    f"{verb}J{spelt}n": "john"
    for verb in ("SellTo", "BuyFrom", "DealWith")
    for spelt in ("ho", "oh")
}
REPLIES = {"AcceptOffer": "accept", "RejectOffer": "reject"} | JOHN
MARKS = {"config.json", "game.csv", "failure_report.txt"}
ABSENT = {"", "None", "nan", "NaN"}
QUALITIES = {"high-quality": True, "low-quality": False}
NATURE = "Nature"


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", protected_namespaces=())


class _Player(_Form):
    model_config = ConfigDict(extra="allow")

    public_name: str = Field(min_length=1, max_length=100)
    model_name: str | None = Field(default=None, max_length=200)
    delta: float | None = None


class Config(_Form):
    """The contents of ``config.json``; fields without effect on the rules are ignored."""

    model_config = ConfigDict(extra="allow")
    rules: ClassVar[type[Game]]
    needed: ClassVar[tuple[str, ...]]
    """The required columns, by cheaptalk's names."""
    decisions: ClassVar[Mapping[str, str]] = {}
    """Cheaptalk's names of GLEE's decisions, if the names differ."""

    player_1_type: str
    player_1_args: _Player
    player_2_type: str
    player_2_args: _Player
    game_args: Any
    date: str | None = None
    commit: str | None = None

    @property
    def players(self) -> dict[str, tuple[str, _Player]]:
        """The type and settings of each player, by role."""
        return {
            "alice": (self.player_1_type, self.player_1_args),
            "bob": (self.player_2_type, self.player_2_args),
        }

    def names(self) -> dict[str, str]:
        """Return the players' public names that differ from the role."""
        names = {role: player.public_name for role, (_, player) in self.players.items()}
        return {role: name for role, name in names.items() if name != role.capitalize()}

    def seats(self) -> dict[str, ImportedSeat]:
        return {
            role: _seat(number, *self.players[role])
            for number, role in enumerate(self.players, start=1)
        }

    def game(self, named: bool) -> Game:
        """Return the game with its parameters and, if ``named``, the players' public names."""
        fields = self.rules.model_fields
        values = {name: value for name, value in self.game_args if name in fields}
        names = {"names": self.names()} if named else {}
        try:
            return self.rules.model_validate(values | self.parameters() | names)
        except ValidationError as error:
            raise ImportFailed(f"config.json: {faults(error)}") from None

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return parameters that GLEE's settings contain under other names."""

    @property
    def has_messages(self) -> bool:
        return bool(self.game_args.messages)

    def columns(self) -> dict[str, str]:
        """Return cheaptalk's name of each column that has another name in GLEE."""
        return {}


def _seat(number: int, kind: str, player: _Player) -> ImportedSeat:
    if kind in PEOPLE:
        return ImportedSeat(imported=SYSTEM, person=True)
    name = player.model_name or ""
    if kind == "otree_LLM" and name in ("", kind):
        name = STUDY_MODEL
    short = name.rstrip("/").rpartition("/")[2]
    if not short:
        raise ImportFailed(f'config.json: "player_{number}_args.model_name" is missing')
    return ImportedSeat(imported=SYSTEM, model=short)


class _Timed(_Form):
    timeout: float | None = None


class _OfferArgs(_Timed):
    max_rounds: int
    complete_information: bool
    messages: bool = Field(alias="messages_allowed")

    @property
    def horizon(self) -> Horizon:
        fields = {"rounds": self.max_rounds, "hidden": self.max_rounds > HIDDEN_ABOVE}
        return Horizon.model_validate(fields)


class _BargainingArgs(_OfferArgs):
    money: float = Field(alias="money_to_divide")
    reminders: bool = Field(default=True, alias="show_inflation_update")
    delta_1: float | None = None
    delta_2: float | None = None


class _Bargaining(Config):
    rules = Bargaining
    needed = ("alice_gain", "bob_gain", "decision")
    game_args: _BargainingArgs

    def parameters(self) -> dict[str, Any]:
        args = self.game_args
        first = self._delta(1, self.player_1_args.delta, args.delta_1)
        second = self._delta(2, self.player_2_args.delta, args.delta_2)
        return {"discounts": (first, second), "horizon": args.horizon}

    def columns(self) -> dict[str, str]:
        names = {role: name.lower().replace(" ", "_") for role, name in self.names().items()}
        return {f"{name}_gain": f"{role}_gain" for role, name in names.items()}

    def _delta(self, number: int, *recorded: float | None) -> float:
        distinct = {delta for delta in recorded if delta is not None}
        if len(distinct) != 1:
            problem = "contradicts" if distinct else "is missing, and so is"
            raise ImportFailed(
                f'config.json: "player_{number}_args.delta": {problem} "game_args.delta_{number}"'
            )
        return distinct.pop()


class _NegotiationArgs(_OfferArgs):
    seller_factor: float = Field(alias="seller_value")
    buyer_factor: float = Field(alias="buyer_value")
    scale: float = Field(alias="product_price_order")


class _Negotiation(Config):
    rules = Negotiation
    needed = ("price", "decision")
    decisions = REPLIES
    game_args: _NegotiationArgs

    def parameters(self) -> dict[str, Any]:
        return {"horizon": self.game_args.horizon}

    def columns(self) -> dict[str, str]:
        return {"product_price": "price"}


class _PersuasionArgs(_Timed):
    prior: float = Field(alias="p")
    v: float
    c: float
    price: float = Field(alias="product_price")
    total_rounds: int = 20
    myopic: bool = Field(alias="is_myopic")
    seller_knows_values: bool = Field(default=True, alias="is_seller_know_cv")
    buyer_knows_prior: bool = Field(default=True, alias="is_buyer_know_p")
    signal: Signal = Field(default="text", alias="seller_message_type")
    buyer_messages: bool = Field(default=False, alias="allow_buyer_message")

    @property
    def messages(self) -> bool:
        return self.buyer_messages or self.signal == "text"


class _Persuasion(Config):
    rules = Persuasion
    needed = ("round_quality", "decision")
    game_args: _PersuasionArgs

    def parameters(self) -> dict[str, Any]:
        args = self.game_args
        worths = sorted([args.v, args.c])  # the older release has the two the other way round
        horizon = Horizon(rounds=args.total_rounds)
        return {"low_value": worths[0], "value": worths[1], "horizon": horizon}


FAMILIES: dict[str, type[Config]] = {
    "bargaining": _Bargaining,
    "negotiation": _Negotiation,
    "persuasion": _Persuasion,
}


def read_config(data: object) -> Config:
    """Return a game's validated configuration; raise ImportFailed if a setting is unknown."""
    if not isinstance(data, dict):
        raise ImportFailed("config.json: must be a JSON object")
    kind = data.get("game_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise ImportFailed(
            f'config.json: "game_type": unknown game {suggest(str(kind), list(FAMILIES))}'
        )
    try:
        return FAMILIES[kind].model_validate(data)
    except ValidationError as error:
        raise ImportFailed(f"config.json: {faults(error)}") from None


def read_glee(
    folder: Path | str, *, keep_names: bool = False, names: Sequence[str] = ()
) -> GameCollection:
    """Return GLEE's published games in a folder and its subfolders, ready to import.

    First names are removed from games of people; see :mod:`cheaptalk.records.imports.redaction`.

    Args:
        keep_names: whether to keep first names.
        names: further names to remove from every game.

    Raises:
        CheaptalkError: the folder doesn't exist or contains no games, or ``names`` and
            ``keep_names`` are both given.
    """
    hidden = names_to_hide(keep_names, names)
    folder = Path(folder)
    unreadable: list[Skipped] = []
    folders, ignored = [], []
    for inner, files in walk(folder, unreadable):
        if MARKS.intersection(files):
            folders.append(inner)
        else:
            ignored += [path_name(folder, inner / file) for file in files]
    if not folders and not unreadable:
        raise CheaptalkError(f"{folder} contains no config.json or game.csv, even in subfolders")
    games = (_game(inner, path_name(folder, inner), hidden) for inner in folders)
    known = chain(unreadable, games)
    return GameCollection(SYSTEM, known, folder.resolve().name, hidden is None, ignored)


class _Row(NamedTuple):
    """A row of ``game.csv``: the spreadsheet's row number, and non-empty cells by column."""

    number: int
    player: str
    round: int
    cells: dict[str, str]

    def unfit(self, reason: str) -> ImportFailed:
        return ImportFailed(f"game.csv, row {self.number}: {reason}")


def _game(folder: Path, location: str, hidden: frozenset[str] | None) -> ImportedGame | Skipped:
    """Load the game in a folder and remove the ``hidden`` names (None keeps all names)."""
    try:
        data = read_json(folder / "config.json")
        config = read_config(data)
        seats = config.seats()
        people = [role for role, seat in seats.items() if seat.person]
        if not people and not hidden:
            hidden = None
        game = config.game(named=True)
        if hidden is not None:
            game = config.game(named=False)
        rows = _rows(read_text(folder / "game.csv"), config)
        named = {player.public_name: role for role, (_, player) in config.players.items()}
        # myopic buyers have no name
        roles = {"Alice": "alice", "Bob": "bob", "the buyer": "bob"} | named
        redactions = 0
        if hidden is not None:
            messages = [
                (roles[row.player], row.cells["message"])
                for row in rows
                if row.player in roles and "message" in row.cells
            ]
            names = {*hidden, *config.names().values(), *names_said(messages, people)}
            rows, redactions = _redacted(rows, names)
            data = _map_text(data, lambda text: redact(text, names)[0])
        instance, moves = _instance_and_moves(game, rows)
        id_ = path_name(folder, folder)
        table = Table(game, instance, f"{SYSTEM}/{id_}")
        unused = _replay(table, moves, roles, config.decisions)
        source = {
            "system": SYSTEM,
            "id": id_,
            "folder": location,
            "date": config.date,
            "commit": config.commit,
            "config": data,
            "unused": unused,
        }
        return ImportedGame(id_, table, seats, source, location, redactions)
    except ImportFailed as reason:
        return Skipped(location, str(reason))


def _rows(text: str, config: Config) -> list[_Row]:
    columns = config.columns()
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [columns.get(name, name) for name in next(lines, [])]
        if not header:
            raise ImportFailed("game.csv: is empty")
        original = {column: name for name, column in columns.items()}
        for name in ("player", "round", *config.needed, *["message"] * config.has_messages):
            if header.count(name) != 1:
                problem = "is duplicated" if name in header else "is missing"
                raise ImportFailed(f'game.csv: column "{original.get(name, name)}" {problem}')
        rows = [_row(number, header, line) for number, line in enumerate(lines, start=2) if line]
    except csv.Error as error:
        raise ImportFailed(f"game.csv, line {lines.line_num}: {error}") from None
    if not rows:
        raise ImportFailed("game.csv: has no rows")
    return rows


def _row(number: int, header: list[str], line: list[str]) -> _Row:
    if len(line) != len(header):
        raise ImportFailed(
            f"game.csv, row {number}: has {len(line)} cells, but the header has {len(header)}"
        )
    cells = {name: cell for name, cell in zip(header, line, strict=True) if cell not in ABSENT}
    text = cells.pop("round", "")
    try:
        round_ = int(text.removesuffix(".0"))
    except ValueError:
        raise ImportFailed(f'game.csv, row {number}: "round": "{text}" is not an integer') from None
    return _Row(number, cells.pop("player", ""), round_, cells)


def _redacted(rows: Iterable[_Row], names: set[str]) -> tuple[list[_Row], int]:
    """Remove the given names from all texts in the rows, and count the removals."""
    unchanged = {"alice_gain", "bob_gain", "price", "decision", "round_quality", "product_worth"}
    redacted, total = [], 0
    for row in rows:
        cells = dict(row.cells)
        for column in cells.keys() - unchanged:
            cells[column], count = redact(cells[column], names)
            total += count
        redacted.append(row._replace(cells=cells))
    return redacted, total


def _map_text(data: Any, change: Callable[[str], str]) -> Any:
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {key: _map_text(value, change) for key, value in data.items()}
    return [_map_text(value, change) for value in data] if isinstance(data, list) else data


def _instance_and_moves(game: Game, rows: list[_Row]) -> tuple[Instance, list[_Row]]:
    if not isinstance(game, Persuasion):
        return game.instance_type(), rows
    qualities: list[bool] = []
    moves: list[_Row] = []
    for row in rows:
        if row.player != NATURE:
            moves.append(row)
            continue
        if row.round != len(qualities) + 1 or len(moves) != 2 * len(qualities):
            raise row.unfit(f"round {row.round} of Nature is out of order")
        qualities.append(_quality(game, row))
    if len(qualities) != game.horizon.rounds:
        raise ImportFailed(f"game.csv: has {len(qualities)} of {game.horizon.rounds} rounds")
    return Qualities(qualities=tuple(qualities)), moves


def _quality(game: Persuasion, row: _Row) -> bool:
    quality = row.cells.get("round_quality", "")
    if quality not in QUALITIES:
        raise row.unfit(f'"round_quality": "{quality}" is not one of {", ".join(QUALITIES)}')
    high = QUALITIES[quality]
    worth = game.price * (game.value if high else game.low_value)
    stated = row.cells.get("product_worth", "")
    try:
        agrees = not stated or math.isclose(float(stated), worth, rel_tol=1e-9, abs_tol=1e-9)
    except ValueError:
        agrees = False
    if not agrees:
        raise row.unfit(
            f'"product_worth": is {stated}; expected {worth:,.15g} from the configuration'
        )
    return high


def _replay(
    table: Table, moves: Iterable[_Row], roles: Mapping[str, str], decisions: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Replay recorded rows with cheaptalk's rules, and return the values that remain unused."""
    seats = {seat.name: seat.seat for seat in table.game.actors}
    unused = []
    for row in moves:
        request = table.requests
        ask = next(iter(table.pending.values()), None)
        if ask is None:
            raise row.unfit("the game has already ended")
        due = (seats[ask.actor], request // 2 + 1)
        if (roles.get(row.player), row.round) != due:
            raise row.unfit(
                f'is round {row.round} of "{row.player}"; round {due[1]} of '
                f"{due[0].capitalize()} is due"
            )
        fields = {name: row.cells[name] for name in ask.action.model_fields if name in row.cells}
        if "message" in ask.action.model_fields:
            fields.setdefault("message", "")
        if "decision" in fields:
            fields["decision"] = decisions.get(fields["decision"], fields["decision"])
        try:
            replay_answer(table, request, ask.actor, fields)
        except ReplayMismatch as mismatch:
            raise row.unfit(str(mismatch)) from None
        remaining = {name: cell for name, cell in row.cells.items() if name not in fields}
        if remaining:
            unused.append({"request": request, "cells": remaining})
    if not table.over:
        raise ImportFailed("game.csv: the game has not ended after the last row")
    return unused


NOTES = {
    "bargaining": {
        "reminders": "in GLEE only for responders, never for proposers",
        "complete_information": "even if no, GLEE's reminders tell responders the rival's discount "
        "from round 2",
    }
}
IMPORTER = Importer("Import published games of GLEE.", folder_reader(read_glee), NOTES)
