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
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.games.persuasion.events import Signal
from cheaptalk.games.persuasion.rules import Persuasion, Qualities
from cheaptalk.players import ImportedSeat
from cheaptalk.records.imports.files import faults, place_name, read_json, read_text, walk
from cheaptalk.records.imports.importers import Importer, of_folder
from cheaptalk.records.imports.intake import Collection, ForeignGame, Skipped, Unfit
from cheaptalk.records.imports.redaction import names_said, redact
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


class Terms(NamedTuple):
    """How one game is to be read.

    Attributes:
        game: our game with its parameters.
        columns: our names of the columns that GLEE names otherwise.
        needed: the columns, by our names, without which it cannot be read.
        decisions: our words for GLEE's decisions, where they differ.
    """

    game: Game
    columns: Mapping[str, str]
    needed: tuple[str, ...]
    decisions: Mapping[str, str] = {}


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", protected_namespaces=())


class _Player(_Form):
    model_config = ConfigDict(extra="allow")

    public_name: str = Field(min_length=1, max_length=100)
    model_name: str | None = Field(None, max_length=200)
    delta: float | None = None


class Config(_Form):
    """A game's ``config.json``; what changes no rule is not looked at."""

    model_config = ConfigDict(extra="allow")

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

    def terms(self, named: bool) -> Terms:
        """How to read the game.

        Args:
            named: whether the players keep public names of their own.

        Raises:
            Unfit: a setting is out of our rules' range.
        """
        try:
            return self._terms({"names": self.names()} if named else {})
        except ValidationError as error:
            raise Unfit(f"config.json: {faults(error)}") from None

    @abstractmethod
    def _terms(self, names: dict[str, Any]) -> Terms: ...


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


def _horizon(rounds: int) -> Horizon:
    return Horizon(rounds=rounds, hidden=rounds > UNTOLD_ABOVE)


class _Timed(_Form):
    timeout: float | None = None


class _BargainingArgs(_Timed):
    money_to_divide: float
    max_rounds: int
    complete_information: bool
    messages_allowed: bool
    show_inflation_update: bool = True
    delta_1: float | None = None
    delta_2: float | None = None


class _Bargaining(Config):
    game_args: _BargainingArgs

    def _terms(self, names: dict[str, Any]) -> Terms:
        args = self.game_args
        game = Bargaining(
            money=args.money_to_divide,
            discounts=(
                self._delta(1, self.player_1_args.delta, args.delta_1),
                self._delta(2, self.player_2_args.delta, args.delta_2),
            ),
            horizon=_horizon(args.max_rounds),
            complete_information=args.complete_information,
            messages=args.messages_allowed,
            reminders=args.show_inflation_update,
            **names,
        )
        columns = {f"{name.lower().replace(' ', '_')}_gain": f"{role}_gain"
                   for role, name in self.names().items()}  # fmt: skip
        spoken = ("message",) if args.messages_allowed else ()
        return Terms(game, columns, ("alice_gain", "bob_gain", "decision", *spoken))

    def _delta(self, number: int, *written: float | None) -> float:
        """A discount, which stands with the player, with the game, or with both alike."""
        known = {delta for delta in written if delta is not None}
        if len(known) != 1:
            found = "contradicts" if known else "is missing, and so is"
            raise Unfit(
                f'config.json: "player_{number}_args.delta": {found} "game_args.delta_{number}"'
            )
        return known.pop()


class _NegotiationArgs(_Timed):
    seller_value: float
    buyer_value: float
    product_price_order: float
    max_rounds: int
    complete_information: bool
    messages_allowed: bool


class _Negotiation(Config):
    game_args: _NegotiationArgs

    def _terms(self, names: dict[str, Any]) -> Terms:
        args = self.game_args
        game = Negotiation(
            scale=args.product_price_order,
            seller_factor=args.seller_value,
            buyer_factor=args.buyer_value,
            horizon=_horizon(args.max_rounds),
            complete_information=args.complete_information,
            messages=args.messages_allowed,
            **names,
        )
        spoken = ("message",) if args.messages_allowed else ()
        needed = ("price", "decision", *spoken)
        return Terms(game, {"product_price": "price"}, needed, REPLIES)


class _PersuasionArgs(_Timed):
    p: float
    v: float
    c: float
    product_price: float
    total_rounds: int = 20
    is_myopic: bool
    is_seller_know_cv: bool = True
    is_buyer_know_p: bool = True
    seller_message_type: Signal = "text"
    allow_buyer_message: bool = False


class _Persuasion(Config):
    game_args: _PersuasionArgs

    def _terms(self, names: dict[str, Any]) -> Terms:
        args = self.game_args
        game = Persuasion(
            price=args.product_price,
            prior=args.p,
            value=max(args.v, args.c),  # the older release has the two the other way round
            low_value=min(args.v, args.c),
            horizon=Horizon(rounds=args.total_rounds),
            myopic=args.is_myopic,
            seller_knows_values=args.is_seller_know_cv,
            buyer_knows_prior=args.is_buyer_know_p,
            signal=args.seller_message_type,
            buyer_messages=args.allow_buyer_message,
            **names,
        )
        spoken = ("message",) if args.allow_buyer_message or game.signal == "text" else ()
        return Terms(game, {}, ("round_quality", "decision", *spoken))


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


def read_glee(folder: Path, *, redact_names: bool = False, names: Sequence[str] = ()) -> Collection:
    """The games in a folder and all folders below it, for :func:`take_in`.

    Args:
        redact_names: take people's first names out of the messages, see
            :mod:`cheaptalk.records.imports.redaction`.
        names: names to take out besides those that are found; giving any implies the former.

    Raises:
        CheaptalkError: there is no such folder, or no game in it.
    """
    if not folder.is_dir():
        what = "is a file; name its folder" if folder.exists() else "there is no such folder"
        raise CheaptalkError(f"{folder}: {what}")
    closed: list[Skipped] = []
    found = [inner for inner, files in walk(folder, closed) if MARKS.intersection(files)]
    if not found and not closed:
        raise CheaptalkError(f"{folder}: no folder in it holds a config.json or a game.csv")
    reader = _GleeReader(folder, redact_names or bool(names), tuple(names))
    return Collection(SYSTEM, folder.resolve().name, chain(closed, map(reader.read, found)))


class _Row(NamedTuple):
    """One row of ``game.csv``: its number as spreadsheets count, and the cells that hold something,
    by our names of the columns."""

    number: int
    player: str
    round: int
    cells: dict[str, str]

    def unfit(self, reason: str) -> Unfit:
        return Unfit(f"game.csv, row {self.number}: {reason}")


@dataclass
class _GleeReader:
    root: Path
    redact_names: bool
    names: tuple[str, ...]

    def read(self, folder: Path) -> ForeignGame | Skipped:
        place = place_name(self.root, folder)
        try:
            return self._game(folder, place)
        except Unfit as reason:
            return Skipped(place, str(reason))

    def _game(self, folder: Path, place: str) -> ForeignGame:
        written = read_json(folder / "config.json")
        config = read_config(written)
        terms = config.terms(named=not self.redact_names)
        rows = _rows(read_text(folder / "game.csv"), terms)
        roles = _roles(config)
        redactions = 0
        if self.redact_names:
            names = self._names(config, rows, roles)
            rows, redactions = _redacted(rows, names)
            written = _map_text(written, lambda text: redact(text, names)[0])
        deal, moves = _dealt(terms, rows)
        id_ = place_name(folder, folder)
        table = Table(terms.game, deal, f"{SYSTEM}/{id_}")
        unused = _replay(table, moves, roles, terms.decisions)
        source = {
            "system": SYSTEM, "id": id_, "folder": place, "date": config.date,
            "commit": config.commit, "config": written, "unused": unused,
        }  # fmt: skip
        return ForeignGame(id_, place, table, config.seats(), source, redactions)

    def _names(self, config: Config, rows: Iterable[_Row], roles: Mapping[str, str]) -> set[str]:
        """The names to take out of one game."""
        said = [(roles[row.player], row.cells["message"]) for row in rows
                if row.player in roles and "message" in row.cells]  # fmt: skip
        people = [role for role, seat in config.seats().items() if seat.person]
        return {*self.names, *config.names().values(), *names_said(said, people)}


def _rows(text: str, terms: Terms) -> list[_Row]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [terms.columns.get(name, name) for name in next(lines, [])]
        _check_header(header, terms)
        rows = [_row(number, header, line) for number, line in enumerate(lines, start=2) if line]
    except csv.Error as error:
        raise Unfit(f"game.csv, line {lines.line_num}: {error}") from None
    if not rows:
        raise Unfit("game.csv: has no rows")
    return rows


def _check_header(header: list[str], terms: Terms) -> None:
    if not header:
        raise Unfit("game.csv: is empty")
    theirs = {ours: name for name, ours in terms.columns.items()}
    for name in ("player", "round", *terms.needed):
        if header.count(name) != 1:
            problem = "stands there twice" if name in header else "is missing"
            raise Unfit(f'game.csv: column "{theirs.get(name, name)}" {problem}')


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


def _roles(config: Config) -> dict[str, str]:
    """The roles of those who stand in the player column; myopic buyers are nobody in particular."""
    called = {player.public_name: role for role, (_, player) in config.players.items()}
    return {"Alice": "alice", "Bob": "bob", "the buyer": "bob"} | called


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
    """The same data with every text changed."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {key: _map_text(value, change) for key, value in data.items()}
    return [_map_text(value, change) for value in data] if isinstance(data, list) else data


def _dealt(terms: Terms, rows: list[_Row]) -> tuple[Deal, list[_Row]]:
    """What nature decided, and the players' rows."""
    game = terms.game
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
        ask = next(iter(table.unanswered()), None)
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


IMPORTER = Importer("Import published games of GLEE.", of_folder(read_glee))
