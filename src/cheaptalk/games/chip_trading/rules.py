"""Chip trading: players who do not know each other's values trade coloured chips."""

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
    Offered,
    Proposal,
    Response,
    Trading,
    Turn,
    TurnEnded,
    Worths,
)
from cheaptalk.games.chip_trading.stocks import (
    Holdings,
    Stock,
    can_give,
    chips,
    exchange,
    shown,
    worth,
)
from cheaptalk.rules import Ask, Chance, Game, Play, RulesError, Secret, Tell, numbered
from cheaptalk.rules.steps import no_objection

Cents = Annotated[int, Field(ge=1, le=10_000, strict=True)]


class ChipTrading(Game):
    """Trade of coloured chips among players with private values (Strategic Tradeoffs, section 3).

    All players start with the same chips. A chip of the first colour is worth the same to
    everybody; what chips of the other colours are worth is drawn for each player, who alone is
    told. In every round each player, in an order drawn at the start, proposes one trade: chips of
    one colour for chips of another. The others accept or decline in private and all at once; who
    does not hold the chips wanted can only decline. If several accept, one of them is drawn to
    trade. All see what was proposed, who traded with whom, and who holds which chips; who else
    would have accepted, nobody learns.
    """

    name = "chip_trading"
    payoff_unit = "dollars"
    roles = ("player",)
    events = (Briefing, Turn, Offered, TurnEnded, GameOver)
    actions = (Proposal, Response)
    deal_type = Hands
    outcome_type = Trading

    players: int = Field(default=3, ge=2, le=20, strict=True)
    """How many players there are."""
    colours: tuple[Colour, ...] = Field(
        default=("green", "red", "blue"), min_length=2, max_length=12
    )
    """The colours of the chips, the one first whose worth is common to all players."""
    chips: int = Field(default=10, ge=1, le=1_000, strict=True)
    """How many chips of each colour every player starts with."""
    common_value: Cents = 50
    """What a chip of the first colour is worth to everybody, in cents."""
    values: tuple[Cents, ...] = Field(
        default=tuple(range(10, 101, 10)), min_length=1, max_length=100
    )
    """What a chip of another colour can be worth, in cents, each equally likely."""
    rounds: int = Field(default=3, ge=1, le=1_000, strict=True)
    """How many times each player proposes."""

    @field_validator("colours", "values")
    @classmethod
    def _no_doubles(cls, given: tuple[str | int, ...]) -> tuple[str | int, ...]:
        for one in given:
            if given.count(one) > 1:
                raise ValueError(f"{one} is in it twice")
        return given

    @property
    def places(self) -> dict[str, str]:
        return numbered("player", self.players)

    def deal(self, chance: Chance) -> Hands:
        places = tuple(self.places)
        values = {
            place: {
                colour: chance("value", place, colour).pick(self.values)
                for colour in self.colours[1:]
            }
            for place in places
        }
        return Hands.unchecked(order=tuple(chance("order").shuffled(places)), values=values)

    def play(self, deal: Hands, chance: Chance) -> Play[Trading]:
        worths = self._worths(deal)
        holdings = {place: dict.fromkeys(self.colours, self.chips) for place in self.places}
        before = {place: worth(stock, worths[place]) for place, stock in holdings.items()}
        values = before.copy()
        for place, own in worths.items():
            known = (self.colours[0], tuple(own.items()), self.values, self.chips, self.rounds)
            yield Tell(place, Briefing(place, deal.order, *known))
        turns: list[Exchange] = []
        for number in range(1, self.rounds * self.players + 1):
            proposer = deal.order[(number - 1) % self.players]
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
        stocks = shown(holdings)
        for place, value in values.items():
            gain = value - before[place]
            yield Tell(place, GameOver(stocks, gain, max(0, gain)))
        return Trading.unchecked(worths=worths, turns=tuple(turns))

    def _turn(
        self,
        number: int,
        proposer: str,
        worths: Worths,
        holdings: Holdings,
        values: Mapping[str, int],
    ) -> Play[tuple[Proposal, tuple[str, ...]]]:
        """A proposal and the answers to it; returns the proposal and who accepted."""
        when, stocks = (number, self.rounds * self.players), shown(holdings)
        objection = partial(self._objection, holdings[proposer])
        turn = Turn(*when, stocks, values[proposer])
        proposal: Proposal = yield Ask(proposer, Proposal, turn, objection)
        asks = []
        for place, stock in holdings.items():
            if place != proposer:
                after = values[place] - proposal.gain(worths[place])
                able = stock[proposal.want] >= proposal.want_amount
                event = Offered(*when, proposer, proposal, stocks, values[place], after, able)
                refusal = no_objection if able else partial(_refusal, event)
                asks.append(Ask(place, Response, event, refusal))
        answers: Mapping[str, Response] = yield tuple(asks)
        return proposal, tuple(p for p, answer in answers.items() if answer.decision == "accept")

    def _worths(self, deal: Hands) -> Worths:
        """What chips of all colours are worth; a deal of another game is refused."""
        values, private = deal.values.values(), set(self.colours[1:])
        if sorted(deal.order) != sorted(self.places) or set(deal.values) != set(self.places):
            raise RulesError("the deal and the game differ in their players")
        if any(set(one) != private or not {*one.values()} <= {*self.values} for one in values):
            raise RulesError("the deal and the game differ in their colours or values")
        common = {self.colours[0]: self.common_value}
        return {
            place: {colour: (common | deal.values[place])[colour] for colour in self.colours}
            for place in self.places
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
        """Dollars: what the player's chips have gained in worth to it, or 0 if they have lost."""
        return {place: max(0, gain) / 100 for place, gain in outcome.gains().items()}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        """The most is all chips of the others, each worth as much as it can be."""
        dearest = self.common_value + (len(self.colours) - 1) * max(self.values)
        return {"player": (0.0, (self.players - 1) * self.chips * dearest / 100)}

    def secrets(self, deal: Hands) -> Iterator[Secret]:
        for place, values in deal.values.items():
            for colour, value in values.items():
                other = self.values[(self.values.index(value) + 1) % len(self.values)]
                changed = deal.values | {place: values | {colour: other}}
                yield Secret(frozenset({place}), self, Hands(order=deal.order, values=changed))


def _refusal(offered: Offered, response: Response) -> str | None:
    """Why who does not hold the chips wanted cannot accept."""
    if response.decision == "decline":
        return None
    return f"you do not hold {chips(offered.proposal.want_amount, offered.proposal.want)}"
