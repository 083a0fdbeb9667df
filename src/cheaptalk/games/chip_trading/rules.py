"""Chip trading: players with private values trade coloured chips."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints, field_validator

import cheaptalk as ct
from cheaptalk.rules import RulesError, alternative
from cheaptalk.rules.steps import any_value, no_objection

Colour = Annotated[
    str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=1, max_length=20)
]
PALETTE = (
    "green", "red", "blue", "yellow", "white", "black", "orange", "purple", "pink", "brown", "grey"
)  # fmt: skip
"""The colours that are translated for people; other colours are shown as written."""
Amount = Annotated[ct.rules.Whole, Field(ge=1, le=1_000_000)]
Stocks: TypeAlias = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
"""The number of chips of each colour that each player holds."""


class Proposal(ct.Action):
    """Chips of one colour offered in return for chips of another."""

    give: Colour = Field(description="a colour that you hold")
    give_amount: Amount
    want: Colour = Field(description="another colour of the game")
    want_amount: Amount

    def gain(self, worths: Mapping[str, int]) -> int:
        """Return the proposer's gain from the trade in cents.

        Args:
            worths: the value of a chip of each colour to the proposer, in cents.
        """
        return self.want_amount * worths[self.want] - self.give_amount * worths[self.give]

    @classmethod
    def of(cls, give: str, give_amount: int, want: str, want_amount: int) -> "Proposal":
        """Return a proposal without validation."""
        return cls.unchecked(give=give, give_amount=give_amount, want=want, want_amount=want_amount)

    @property
    def mirrored(self) -> "Proposal":
        """The same trade as seen by the partner, with both sides swapped."""
        return Proposal.of(self.want, self.want_amount, self.give, self.give_amount)


class Response(ct.Action):
    """The answer to a proposal."""

    decision: Literal["accept", "decline"]


class Briefing(ct.Event):
    """Information that a player receives at the start of the match; values are cents per chip.

    ``worths`` are the seat's own values by colour, and ``values`` the numbers from which private
    values are drawn. ``common`` is the colour whose value all players know.
    """

    seat: str
    order: tuple[str, ...]
    common: str
    worths: tuple[tuple[str, int], ...]
    values: tuple[int, ...]
    chips: int
    rounds: int


class Turn(ct.Event):
    """A request to propose a trade; ``worth`` is the total value of the player's chips in cents."""

    turn: int
    turns: int
    stocks: Stocks
    worth: int


class Offered(ct.Event):
    """A trade proposed by another player.

    ``worth`` is the current total value of the seat's chips, and ``after`` their value after the
    trade, in cents; ``able`` is whether the seat holds the requested chips.
    """

    turn: int
    turns: int
    proposer: str
    proposal: Proposal
    stocks: Stocks
    worth: int
    after: int
    able: bool


class TurnEnded(ct.Event):
    """The end of a turn; ``partner`` is None if no one traded."""

    turn: int
    proposer: str
    proposal: Proposal
    partner: str | None


class GameOver(ct.Event):
    """The end of the game, with the player's gain in value and payment, both in cents."""

    stocks: Stocks
    gain: int
    paid: int


Worths: TypeAlias = dict[str, dict[str, int]]
"""The value of a chip in cents, by player and colour."""


class Hands(ct.Instance):
    """The order of proposers, and the players' private values of chips by colour."""

    order: tuple[str, ...]
    values: Worths


class Exchange(ct.rules.Value):
    """One turn: the proposal, the players who accepted it, and the proposer's trading partner."""

    proposer: str
    proposal: Proposal
    willing: tuple[str, ...]
    partner: str | None

    def trade(self, player: str) -> Proposal | None:
        """Return the trade as seen by a player, or None if the player did not trade."""
        if self.partner is not None and player == self.proposer:
            return self.proposal
        return self.proposal.mirrored if player == self.partner else None


class Trading(ct.Outcome):
    """The values of chips to the players, and all turns in order."""

    worths: Worths
    turns: tuple[Exchange, ...]

    def gains(self) -> dict[str, int]:
        """Return each player's gain in cents; negative for a loss."""
        return self.gains_by_turn()[-1]

    def gains_by_turn(self) -> list[dict[str, int]]:
        """Return each player's gain after each turn, in cents."""
        gains, by_turn = dict.fromkeys(self.worths, 0), []
        for turn in self.turns:
            if turn.partner is not None:
                gains[turn.proposer] += turn.proposal.gain(self.worths[turn.proposer])
                gains[turn.partner] -= turn.proposal.gain(self.worths[turn.partner])
            by_turn.append(gains.copy())
        return by_turn


Stock: TypeAlias = dict[str, int]
"""The number of chips of each colour that one player holds."""
Holdings: TypeAlias = dict[str, Stock]
"""The stocks of all players, by player."""


def visible_stocks(holdings: Holdings) -> Stocks:
    """Convert the players' holdings to the tuples that events contain."""
    return tuple([(player, tuple(stock.items())) for player, stock in holdings.items()])


def read(stocks: Stocks) -> Holdings:
    """Convert the tuples that events contain to the players' holdings."""
    return {player: dict(stock) for player, stock in stocks}


def worth(stock: Mapping[str, int], worths: Mapping[str, int]) -> int:
    """Return the value of a stock in cents, given the value of a chip of each colour."""
    return sum([number * worths[colour] for colour, number in stock.items()])


def chips(number: int, colour: str) -> str:
    """Describe a number of chips of one colour.

    >>> chips(1, "red"), chips(3, "blue"), chips(0, "green")
    ('1 red chip', '3 blue chips', 'no green chips')
    """
    return f"{number or 'no'} {colour} chip{'' if number == 1 else 's'}"


def can_give(stock: Mapping[str, int], trade: Proposal) -> bool:
    """Return whether a player has enough chips to make a trade."""
    return stock[trade.give] >= trade.give_amount


def move(stock: Stock, trade: Proposal) -> None:
    """Update the proposer's stock after a trade."""
    stock[trade.give] -= trade.give_amount
    stock[trade.want] += trade.want_amount


def exchange(proposer: Stock, partner: Stock, trade: Proposal) -> None:
    """Update the stocks of the proposer and the partner after a trade."""
    move(proposer, trade)
    partner[trade.give] += trade.give_amount
    partner[trade.want] -= trade.want_amount


Cents = Annotated[int, Field(ge=1, le=10_000, strict=True)]


class ChipTrading(ct.Game):
    """Trade of coloured chips among players with private values (Strategic Tradeoffs, section 3).

    All players start with the same chips. A chip of the first colour has the same value for all
    players; the values of the other colours are drawn for each player and are private. In every
    round each player, in an order drawn at the start, proposes one trade: chips of one colour for
    chips of another. The others accept or decline privately and simultaneously; a player who does
    not hold the requested chips can only decline. If several accept, one of them is drawn to trade.
    All players see the proposals, the trades and everyone's chips, but not who else would have
    accepted.
    """

    name = "chip_trading"
    payoff_unit = "dollars"
    roles = ("player",)
    events = (Briefing, Turn, Offered, TurnEnded, GameOver)
    actions = (Proposal, Response)
    instance_type = Hands
    outcome_type = Trading

    players: int = Field(default=3, ge=2, le=20, strict=True)
    """The number of players."""
    colours: tuple[Colour, ...] = Field(
        default=("green", "red", "blue"), min_length=2, max_length=12
    )
    """The colours of the chips; the first one has a common value."""
    chips: int = Field(default=10, ge=1, le=1_000, strict=True)
    """Each player's initial number of chips per colour."""
    common_value: Cents = 50
    """The value of a chip of the first colour to all players, in cents."""
    values: tuple[Cents, ...] = Field(
        default=tuple(range(10, 101, 10)), min_length=1, max_length=100
    )
    """The possible values of a chip of another colour in cents, all equally likely."""
    rounds: int = Field(default=3, ge=1, le=1_000, strict=True)
    """The number of times that each player proposes."""

    @field_validator("colours", "values")
    @classmethod
    def _no_doubles(cls, values: tuple[str | int, ...]) -> tuple[str | int, ...]:
        for value in values:
            if values.count(value) > 1:
                raise ValueError(f"{value} occurs more than once")
        return values

    @property
    def seats(self) -> dict[str, str]:
        return ct.rules.numbered_seats("player", self.players)

    def draw_instance(self, chance: ct.Chance) -> Hands:
        seats = tuple(self.seats)
        private = self.colours[1:]
        values = {
            seat: {colour: chance("value", seat, colour).pick(self.values) for colour in private}
            for seat in seats
        }
        return Hands.unchecked(order=tuple(chance("order").shuffled(seats)), values=values)

    def play(self, instance: Hands, chance: ct.Chance) -> ct.Play[Trading]:
        worths = self._worths(instance)
        holdings = {seat: dict.fromkeys(self.colours, self.chips) for seat in self.seats}
        initial = {seat: worth(stock, worths[seat]) for seat, stock in holdings.items()}
        values = initial.copy()
        for seat, seat_worths in worths.items():
            common = (
                self.colours[0],
                tuple(seat_worths.items()),
                self.values,
                self.chips,
                self.rounds,
            )
            yield ct.Tell(seat, Briefing(seat, instance.order, *common))
        turns: list[Exchange] = []
        for number in range(1, self.rounds * self.players + 1):
            proposer = instance.order[(number - 1) % self.players]
            proposal, willing = yield from self._turn(number, proposer, worths, holdings, values)
            partner = chance("partner", number).pick(willing) if willing else None
            if partner is not None:
                exchange(holdings[proposer], holdings[partner], proposal)
                values[proposer] += proposal.gain(worths[proposer])
                values[partner] -= proposal.gain(worths[partner])
            yield ct.Tell(tuple(worths), TurnEnded(number, proposer, proposal, partner))
            turns.append(
                Exchange.unchecked(
                    proposer=proposer, proposal=proposal, willing=willing, partner=partner
                )
            )
        stocks = visible_stocks(holdings)
        for seat, value in values.items():
            gain = value - initial[seat]
            yield ct.Tell(seat, GameOver(stocks, gain, max(0, gain)))
        return Trading.unchecked(worths=worths, turns=tuple(turns))

    def _turn(
        self,
        number: int,
        proposer: str,
        worths: Worths,
        holdings: Holdings,
        values: Mapping[str, int],
    ) -> ct.Play[tuple[Proposal, tuple[str, ...]]]:
        """Run one turn; return the proposal and the players who accepted it."""
        when, stocks = (number, self.rounds * self.players), visible_stocks(holdings)
        objection = partial(self._objection, holdings[proposer])
        turn = Turn(*when, stocks, values[proposer])
        proposal: Proposal = yield ct.Ask(
            proposer, Proposal, turn, objection, partial(_trades, holdings[proposer])
        )
        requests = []
        for seat, stock in holdings.items():
            if seat != proposer:
                new_worth = values[seat] - proposal.gain(worths[seat])
                able = stock[proposal.want] >= proposal.want_amount
                event = Offered(*when, proposer, proposal, stocks, values[seat], new_worth, able)
                refusal = no_objection if able else partial(_refusal, event)
                alternatives = any_value if able else _decline
                requests.append(ct.Ask(seat, Response, event, refusal, alternatives))
        answers: Mapping[str, Response] = yield tuple(requests)
        return proposal, tuple(p for p, answer in answers.items() if answer.decision == "accept")

    def _worths(self, instance: Hands) -> Worths:
        """Return the values of all colours; raise an error if instance and game do not match."""
        values, private = instance.values.values(), set(self.colours[1:])
        if sorted(instance.order) != sorted(self.seats) or set(instance.values) != set(self.seats):
            raise RulesError("the instance and the game have different players")
        if any(
            set(by_colour) != private or not {*by_colour.values()} <= {*self.values}
            for by_colour in values
        ):
            raise RulesError("the instance and the game have different colours or values")
        common = {self.colours[0]: self.common_value}
        return {
            seat: {colour: (common | instance.values[seat])[colour] for colour in self.colours}
            for seat in self.seats
        }

    def _objection(self, stock: Stock, proposal: Proposal) -> str | None:
        for colour in (proposal.give, proposal.want):
            if colour not in self.colours:
                return f'"{colour}" is not a colour; the colours are {", ".join(self.colours)}'
        if proposal.give == proposal.want:
            return "the chips you give and the chips you want must differ in colour"
        if not can_give(stock, proposal):
            held = stock[proposal.give]
            return f"you hold {'only ' if held else ''}{chips(held, proposal.give)}"
        return None

    def payoffs(self, outcome: Trading) -> dict[str, float]:
        """The gain in value of the player's chips in dollars, or 0 after a loss."""
        return {seat: max(0, gain) / 100 for seat, gain in outcome.gains().items()}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        highest = self.common_value + (len(self.colours) - 1) * max(self.values)
        return {"player": (0.0, (self.players - 1) * self.chips * highest / 100)}

    def secrets(self, instance: Hands) -> Iterator[ct.rules.Secret]:
        for seat, values in instance.values.items():
            for colour, value in values.items():
                new_value = self.values[(self.values.index(value) + 1) % len(self.values)]
                changed = instance.values | {seat: values | {colour: new_value}}
                yield ct.rules.Secret(
                    frozenset({seat}), self, Hands(order=instance.order, values=changed)
                )


def _trades(stock: Stock) -> list[ct.rules.Schema]:
    return [
        alternative(
            give=colour,
            give_amount=range(1, held + 1),
            want=[other for other in stock if other != colour],
        )
        for colour, held in stock.items()
        if held
    ]


def _decline() -> list[ct.rules.Schema]:
    return [alternative(decision="decline")]


def _refusal(offered: Offered, response: Response) -> str | None:
    if response.decision == "decline":
        return None
    return f"you do not hold {chips(offered.proposal.want_amount, offered.proposal.want)}"
