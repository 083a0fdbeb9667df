"""A buyer sets a maximum price; firms with private costs bid simultaneously."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

import cheaptalk as ct

Price = Annotated[int, Field(ge=0, le=100, strict=True)]


class Ceiling(ct.Action):
    """The maximum price that the buyer pays."""

    price: Price


class Bid(ct.Action):
    """A price, with an optional remark that is published with all bids."""

    price: Price
    remark: ct.Message | None = None


class Briefing(ct.Event):
    """An actor's initial information; ``cost`` is None for the buyer."""

    firms: tuple[str, ...]
    cost: int | None


class Call(ct.Event):
    """It is the buyer's turn to set the ceiling."""


class Tender(ct.Event):
    """All firms decide simultaneously."""

    ceiling: int


class Opened(ct.Event):
    """Each firm's bid, remark and cost, and the winner."""

    bids: tuple[tuple[str, int, str | None, int], ...]
    winner: str


class Costs(ct.Instance):
    """Each firm's cost of construction."""

    costs: dict[str, int]


class Contract(ct.Outcome):
    """The winner, its price and its cost."""

    winner: str
    price: int
    cost: int


class CallForTenders(ct.Game):
    """A procurement auction: firms with private costs bid up to a ceiling; the lowest bid wins.

    The buyer sets the ceiling and pays the winner its bid (first price, Vickrey 1961). Ties are
    broken at random. Afterwards all bids, remarks and costs are published.
    """

    name = "tender"
    payoff_unit = "thousand dollars"
    roles = ("buyer", "firm")
    events = (Briefing, Call, Tender, Opened)
    actions = (Ceiling, Bid)
    instance_type = Costs
    outcome_type = Contract

    firms: int = Field(default=3, ge=2, le=20, strict=True)
    """The number of firms."""
    worth: int = Field(default=100, ge=1, le=100, strict=True)
    """The value of the building to the buyer, in thousand dollars."""

    @property
    def seats(self) -> dict[str, str]:
        """Return the buyer, and firm_1 to firm_N."""
        return {"buyer": "buyer"} | ct.rules.numbered_seats("firm", self.firms)

    def draw_instance(self, chance: ct.Chance) -> Costs:
        firms = ct.rules.numbered_seats("firm", self.firms)
        return Costs(costs={firm: chance("cost", firm).integer(20, 60) for firm in firms})

    def play(self, instance: Costs, chance: ct.Chance) -> ct.Play[Contract]:
        firms = tuple(instance.costs)
        yield ct.Tell("buyer", Briefing(firms, None))
        for firm in firms:
            yield ct.Tell(firm, Briefing(firms, instance.costs[firm]))
        ceiling: Ceiling = yield ct.Ask("buyer", Ceiling, Call())

        def objection(bid: Bid) -> str | None:
            legal = bid.price <= ceiling.price
            return None if legal else f"the price must not exceed {ceiling.price}"

        tender = Tender(ceiling.price)
        bids: dict[str, Bid] = yield tuple(ct.Ask(firm, Bid, tender, objection) for firm in firms)
        lowest = min(bid.price for bid in bids.values())
        winner = chance("tie").pick([firm for firm in firms if bids[firm].price == lowest])
        rows = [(firm, bids[firm].price, bids[firm].remark, instance.costs[firm]) for firm in firms]
        yield ct.Tell(tuple(self.seats), Opened(tuple(rows), winner))
        return Contract(winner=winner, price=lowest, cost=instance.costs[winner])

    def payoffs(self, outcome: Contract) -> dict[str, float]:
        """Return thousand dollars: the buyer gets worth - price, the winner price - cost."""
        payoffs = dict.fromkeys(self.seats, 0.0)
        payoffs["buyer"] = float(self.worth - outcome.price)
        payoffs[outcome.winner] = float(outcome.price - outcome.cost)
        return payoffs

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"buyer": (self.worth - 100.0, float(self.worth)), "firm": (-60.0, 80.0)}

    def secrets(self, instance: Costs) -> Iterator[ct.rules.Secret]:
        """Yield each firm's cost, which is secret until the bids are opened."""
        for firm, cost in instance.costs.items():
            other = Costs(costs=instance.costs | {firm: 80 - cost if cost != 40 else 41})
            yield ct.rules.Secret(
                frozenset({firm}), self, other, revealed=lambda event: isinstance(event, Opened)
            )
