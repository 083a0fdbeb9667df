"""GLEE's configurations in our terms."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.games.persuasion.events import Signal
from cheaptalk.games.persuasion.rules import Persuasion
from cheaptalk.players import ImportedSeat
from cheaptalk.records.importers.files import faults
from cheaptalk.records.importers.intake import Unfit
from cheaptalk.rules import Game, Horizon, suggest

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
