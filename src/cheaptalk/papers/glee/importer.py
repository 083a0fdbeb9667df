"""The published games of GLEE, played again by our rules.

A game is a folder with a ``config.json`` and a ``game.csv``. Both releases are read: games between
language models (2024, and newer ones with discounts among the game's settings) and games of people
against a model. In our terms:

* More than 20 rounds of bargaining or negotiation are a hidden horizon, as GLEE does not tell the
  players their number. In persuasion it always does.
* The value of high quality is the larger one of ``v`` and ``c``, which the older release swaps.
* An absent message (empty, ``None`` or ``nan``) where one could be sent is an empty one.
* "Jhon", under whatever caption, is ``john``.
* Every answer counts as ``ok``: GLEE does not record whether it had to be asked again.
* What a player wrote that was passed on to nobody, and whatever else our rules have no place for,
  is kept in the record under ``source``, with the configuration as it was.

A game whose moves our rules refuse is left out, with file, row and reason.
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
from cheaptalk.games.persuasion.events import Signal
from cheaptalk.games.persuasion.rules import Persuasion, Qualities
from cheaptalk.players import ImportedSeat
from cheaptalk.records.imports.files import faults, place_name, read_json, read_text, walk
from cheaptalk.records.imports.importers import Importer, of_folder
from cheaptalk.records.imports.intake import Collection, ForeignGame, Skipped, Unfit
from cheaptalk.records.imports.redaction import names_said, names_to_hide, redact
from cheaptalk.rules import (
    CheaptalkError,
    Deal,
    Game,
    Horizon,
    ReplayMismatch,
    Table,
    give,
    suggest,
)

SYSTEM = "glee"
UNTOLD_ABOVE = 20
"""GLEE names the number of rounds to bargainers and negotiators only up to here."""
PEOPLE = ("otree", "terminal")
"""Player types behind which a person sits."""
STUDY_MODEL = "gemini-1.5-flash"
"""Who plays behind ``otree_LLM``, people's opponent in the human study (GLEE section 4)."""
JOHN = {f"{verb}J{spelt}n": "john" for verb in ("SellTo", "BuyFrom", "DealWith")
        for spelt in ("ho", "oh")}  # fmt: skip
REPLIES = {"AcceptOffer": "accept", "RejectOffer": "reject"} | JOHN
MARKS = {"config.json", "game.csv", "failure_report.txt"}
"""Files of which each marks a folder as a game's."""
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
    """A game's ``config.json``; what changes no rule is not looked at."""

    model_config = ConfigDict(extra="allow")
    rules: ClassVar[type[Game]]
    needed: ClassVar[tuple[str, ...]]
    """The columns, by our names, without which the game cannot be read."""
    decisions: ClassVar[Mapping[str, str]] = {}
    """Our words for GLEE's decisions, where they differ."""

    player_1_type: str
    player_1_args: _Player
    player_2_type: str
    player_2_args: _Player
    game_args: Any
    date: str | None = None
    commit: str | None = None

    @property
    def players(self) -> dict[str, tuple[str, _Player]]:
        """Type and settings by role."""
        return {
            "alice": (self.player_1_type, self.player_1_args),
            "bob": (self.player_2_type, self.player_2_args),
        }

    def names(self) -> dict[str, str]:
        """The public names of those who are not called after their role."""
        called = {role: player.public_name for role, (_, player) in self.players.items()}
        return {role: name for role, name in called.items() if name != role.capitalize()}

    def seats(self) -> dict[str, ImportedSeat]:
        """Who played.

        Raises:
            Unfit: a model without a name.
        """
        return {role: _seat(number, *self.players[role])
                for number, role in enumerate(self.players, start=1)}  # fmt: skip

    def game(self, named: bool) -> Game:
        """Our game with its parameters.

        Args:
            named: whether the players keep public names of their own.

        Raises:
            Unfit: a setting is out of our rules' range.
        """
        known = self.rules.model_fields
        told = {name: value for name, value in self.game_args if name in known}
        names = {"names": self.names()} if named else {}
        try:
            return self.rules(**told | self.parameters() | names)
        except ValidationError as error:
            raise Unfit(f"config.json: {faults(error)}") from None

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The parameters that do not stand in the game's settings as our rules have them."""

    @property
    def spoken(self) -> bool:
        """Whether a player can send words."""
        return bool(self.game_args.messages)

    def columns(self) -> dict[str, str]:
        """Our names of the columns that GLEE names otherwise."""
        return {}


def _seat(number: int, kind: str, player: _Player) -> ImportedSeat:
    if kind in PEOPLE:
        return ImportedSeat(imported=SYSTEM, person=True)
    name = player.model_name or ""
    if kind == "otree_LLM" and name in ("", kind):
        name = STUDY_MODEL
    short = name.rstrip("/").rpartition("/")[2]
    if not short:
        raise Unfit(f'config.json: "player_{number}_args.model_name": is missing')
    return ImportedSeat(imported=SYSTEM, model=short)


class _Timed(_Form):
    timeout: float | None = None


class _OfferArgs(_Timed):
    max_rounds: int
    complete_information: bool
    messages: bool = Field(alias="messages_allowed")

    @property
    def horizon(self) -> Horizon:
        return Horizon(rounds=self.max_rounds, hidden=self.max_rounds > UNTOLD_ABOVE)


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
        called = {role: name.lower().replace(" ", "_") for role, name in self.names().items()}
        return {f"{name}_gain": f"{role}_gain" for role, name in called.items()}

    def _delta(self, number: int, *written: float | None) -> float:
        """A discount, which stands with the player, with the game, or with both alike."""
        known = {delta for delta in written if delta is not None}
        if len(known) != 1:
            found = "contradicts" if known else "is missing, and so is"
            raise Unfit(
                f'config.json: "player_{number}_args.delta": {found} "game_args.delta_{number}"'
            )
        return known.pop()


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
    """A game's configuration, checked.

    Raises:
        Unfit: it is none of GLEE's, or one with settings that are not known here.
    """
    if not isinstance(data, dict):
        raise Unfit("config.json: is no JSON object")
    kind = data.get("game_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise Unfit(f'config.json: "game_type": unknown game {suggest(str(kind), list(FAMILIES))}')
    try:
        return FAMILIES[kind].model_validate(data)
    except ValidationError as error:
        raise Unfit(f"config.json: {faults(error)}") from None


def read_glee(
    folder: Path | str, *, keep_names: bool = False, names: Sequence[str] = ()
) -> Collection:
    """The games in a folder and all folders below it, for :func:`take_in`.

    People's first names are taken out of the messages of the games that people played, see
    :mod:`cheaptalk.records.imports.redaction`.

    Args:
        keep_names: leave them in.
        names: names to take out of every game, besides those that are found.

    Raises:
        CheaptalkError: there is no such folder, or no game in it, or names are to be kept and to be
            taken out.
    """
    hidden = names_to_hide(keep_names, names)
    folder = Path(folder)
    closed: list[Skipped] = []
    found = [inner for inner, files in walk(folder, closed) if MARKS.intersection(files)]
    if not found and not closed:
        raise CheaptalkError(f"{folder}: no folder in it holds a config.json or a game.csv")
    games = (_game(inner, place_name(folder, inner), hidden) for inner in found)
    return Collection(SYSTEM, folder.resolve().name, chain(closed, games), hidden is None)


class _Row(NamedTuple):
    """One row of ``game.csv``: its number as spreadsheets count, and the cells that hold something,
    by our names of the columns."""

    number: int
    player: str
    round: int
    cells: dict[str, str]

    def unfit(self, reason: str) -> Unfit:
        return Unfit(f"game.csv, row {self.number}: {reason}")


def _game(folder: Path, place: str, hidden: frozenset[str] | None) -> ForeignGame | Skipped:
    """The game in a folder; these names and people's are taken out, unless it is None."""
    try:
        written = read_json(folder / "config.json")
        config = read_config(written)
        seats = config.seats()
        people = [role for role, seat in seats.items() if seat.person]
        if not people and not hidden:
            hidden = None
        game = config.game(named=True)
        if hidden is not None:
            game = config.game(named=False)
        rows = _rows(read_text(folder / "game.csv"), config)
        called = {player.public_name: role for role, (_, player) in config.players.items()}
        # myopic buyers are nobody in particular
        roles = {"Alice": "alice", "Bob": "bob", "the buyer": "bob"} | called
        redactions = 0
        if hidden is not None:
            said = [(roles[row.player], row.cells["message"]) for row in rows
                    if row.player in roles and "message" in row.cells]  # fmt: skip
            names = {*hidden, *config.names().values(), *names_said(said, people)}
            rows, redactions = _redacted(rows, names)
            written = _map_text(written, lambda text: redact(text, names)[0])
        deal, moves = _dealt(game, rows)
        id_ = place_name(folder, folder)
        table = Table(game, deal, f"{SYSTEM}/{id_}")
        unused = _replay(table, moves, roles, config.decisions)
        source = {
            "system": SYSTEM, "id": id_, "folder": place, "date": config.date,
            "commit": config.commit, "config": written, "unused": unused,
        }  # fmt: skip
        return ForeignGame(id_, place, table, seats, source, redactions)
    except Unfit as reason:
        return Skipped(place, str(reason))


def _rows(text: str, config: Config) -> list[_Row]:
    columns = config.columns()
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [columns.get(name, name) for name in next(lines, [])]
        if not header:
            raise Unfit("game.csv: is empty")
        theirs = {ours: name for name, ours in columns.items()}
        for name in ("player", "round", *config.needed, *["message"] * config.spoken):
            if header.count(name) != 1:
                problem = "stands there twice" if name in header else "is missing"
                raise Unfit(f'game.csv: column "{theirs.get(name, name)}" {problem}')
        rows = [_row(number, header, line) for number, line in enumerate(lines, start=2) if line]
    except csv.Error as error:
        raise Unfit(f"game.csv, line {lines.line_num}: {error}") from None
    if not rows:
        raise Unfit("game.csv: has no rows")
    return rows


def _row(number: int, header: list[str], line: list[str]) -> _Row:
    if len(line) != len(header):
        raise Unfit(f"game.csv, row {number}: has {len(line)} cells, the header has {len(header)}")
    cells = {name: cell for name, cell in zip(header, line, strict=True) if cell not in ABSENT}
    counted = cells.pop("round", "")
    try:
        round_ = int(counted.removesuffix(".0"))
    except ValueError:
        raise Unfit(f'game.csv, row {number}: "round": "{counted}" is no whole number') from None
    return _Row(number, cells.pop("player", ""), round_, cells)


def _redacted(rows: Iterable[_Row], names: set[str]) -> tuple[list[_Row], int]:
    """The rows with the names taken out of all that is text, and how many there were."""
    fixed = {"alice_gain", "bob_gain", "price", "decision", "round_quality", "product_worth"}
    done, total = [], 0
    for row in rows:
        cells = dict(row.cells)
        for column in cells.keys() - fixed:
            cells[column], count = redact(cells[column], names)
            total += count
        done.append(row._replace(cells=cells))
    return done, total


def _map_text(data: Any, change: Callable[[str], str]) -> Any:
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {key: _map_text(value, change) for key, value in data.items()}
    return [_map_text(value, change) for value in data] if isinstance(data, list) else data


def _dealt(game: Game, rows: list[_Row]) -> tuple[Deal, list[_Row]]:
    """What nature decided, and the players' rows."""
    if not isinstance(game, Persuasion):
        return game.deal_type(), rows
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
        raise Unfit(f"game.csv: has {len(qualities)} of {game.horizon.rounds} rounds")
    return Qualities(qualities=tuple(qualities)), moves


def _quality(game: Persuasion, row: _Row) -> bool:
    """Whether the round's product is of high quality; what it is worth must agree."""
    written = row.cells.get("round_quality", "")
    if written not in QUALITIES:
        raise row.unfit(f'"round_quality": "{written}" is none of {", ".join(QUALITIES)}')
    high = QUALITIES[written]
    worth = game.price * (game.value if high else game.low_value)
    stated = row.cells.get("product_worth", "")
    try:
        agrees = not stated or math.isclose(float(stated), worth, rel_tol=1e-9, abs_tol=1e-9)
    except ValueError:
        agrees = False
    if not agrees:
        raise row.unfit(f'"product_worth": is {stated}; by the configuration {worth:,.15g}')
    return high


def _replay(
    table: Table, moves: Iterable[_Row], roles: Mapping[str, str], decisions: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Play the rows at our table.

    Returns:
        Cells that our rules have no place for, by request.

    Raises:
        Unfit: a row is out of order or illegal, or the game does not end with the last one.
    """
    seated = {seat.name: seat.place for seat in table.game.seats}
    unused = []
    for row in moves:
        request = table.requests
        ask = next(iter(table.pending.values()), None)
        if ask is None:
            raise row.unfit("the game is over before it")
        due = (seated[ask.seat], request // 2 + 1)
        if (roles.get(row.player), row.round) != due:
            raise row.unfit(f'is round {row.round} of "{row.player}"; round {due[1]} of '
                            f"{due[0].capitalize()} is due")  # fmt: skip
        fields = {name: row.cells[name] for name in ask.action.model_fields if name in row.cells}
        if "message" in ask.action.model_fields:
            fields.setdefault("message", "")
        if "decision" in fields:
            fields["decision"] = decisions.get(fields["decision"], fields["decision"])
        try:
            give(table, request, ask.seat, fields)
        except ReplayMismatch as mismatch:
            raise row.unfit(str(mismatch)) from None
        left = {name: cell for name, cell in row.cells.items() if name not in fields}
        if left:
            unused.append({"request": request, "cells": left})
    if not table.over:
        raise Unfit("game.csv: the game is not over after its last row")
    return unused


NOTES = {
    "bargaining": {
        "reminders": "in GLEE of responders only, never of proposers",
        "complete_information": "also where it is no, GLEE's reminders tell responders the rival's "
        "discount from round 2 on",
    }
}
IMPORTER = Importer("Import published games of GLEE.", of_folder(read_glee), NOTES)
