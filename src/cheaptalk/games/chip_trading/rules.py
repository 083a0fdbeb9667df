"""Chip trading: players with private values trade coloured chips."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated

from pydantic import Field, field_validator

from cheaptalk.games.chip_trading.events import (
    Briefing,
    Colour,
    Exchange,
    GameOver,
    Hands,
    Holdings,
    Offered,
    Proposal,
    Response,
    Stock,
    Trading,
    Turn,
    TurnEnded,
    Worths,
    can_give,
    chips,
    exchange,
    visible_stocks,
    worth,
)
from cheaptalk.rules import Ask, Chance, Game, Play, RulesError, Secret, Tell, numbered
from cheaptalk.rules.steps import no_objection

Cents = Annotated[int, Field(ge=1, le=10_000, strict=True)]


class ChipTrading(Game):
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
        return numbered("player", self.players)

    def draw_instance(self, chance: Chance) -> Hands:
        seats = tuple(self.seats)
        private = self.colours[1:]
        values = {
            seat: {colour: chance("value", seat, colour).pick(self.values) for colour in private}
            for seat in seats
        }
        return Hands.unchecked(order=tuple(chance("order").shuffled(seats)), values=values)

    def play(self, instance: Hands, chance: Chance) -> Play[Trading]:
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
            yield Tell(seat, Briefing(seat, instance.order, *common))
        turns: list[Exchange] = []
        for number in range(1, self.rounds * self.players + 1):
            proposer = instance.order[(number - 1) % self.players]
            proposal, willing = yield from self._turn(number, proposer, worths, holdings, values)
            partner = chance("partner", number).pick(willing) if willing else None
            if partner is not None:
                exchange(holdings[proposer], holdings[partner], proposal)
                values[proposer] += proposal.gain(worths[proposer])
                values[partner] -= proposal.gain(worths[partner])
            yield Tell(tuple(worths), TurnEnded(number, proposer, proposal, partner))
            turns.append(
                Exchange.unchecked(
                    proposer=proposer, proposal=proposal, willing=willing, partner=partner
                )
            )
        stocks = visible_stocks(holdings)
        for seat, value in values.items():
            gain = value - initial[seat]
            yield Tell(seat, GameOver(stocks, gain, max(0, gain)))
        return Trading.unchecked(worths=worths, turns=tuple(turns))

    def _turn(
        self,
        number: int,
        proposer: str,
        worths: Worths,
        holdings: Holdings,
        values: Mapping[str, int],
    ) -> Play[tuple[Proposal, tuple[str, ...]]]:
        """Run one turn; return the proposal and the players who accepted it."""
        when, stocks = (number, self.rounds * self.players), visible_stocks(holdings)
        objection = partial(self._objection, holdings[proposer])
        turn = Turn(*when, stocks, values[proposer])
        proposal: Proposal = yield Ask(proposer, Proposal, turn, objection)
        requests = []
        for seat, stock in holdings.items():
            if seat != proposer:
                new_worth = values[seat] - proposal.gain(worths[seat])
                able = stock[proposal.want] >= proposal.want_amount
                event = Offered(*when, proposer, proposal, stocks, values[seat], new_worth, able)
                refusal = no_objection if able else partial(_refusal, event)
                requests.append(Ask(seat, Response, event, refusal))
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

    def secrets(self, instance: Hands) -> Iterator[Secret]:
        for seat, values in instance.values.items():
            for colour, value in values.items():
                new_value = self.values[(self.values.index(value) + 1) % len(self.values)]
                changed = instance.values | {seat: values | {colour: new_value}}
                yield Secret(frozenset({seat}), self, Hands(order=instance.order, values=changed))


def _refusal(offered: Offered, response: Response) -> str | None:
    if response.decision == "decline":
        return None
    return f"you do not hold {chips(offered.proposal.want_amount, offered.proposal.want)}"
