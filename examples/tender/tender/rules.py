"""A buyer names a ceiling; firms, each with a cost of its own, bid at once."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

import cheaptalk as ct

Price = Annotated[int, Field(ge=0, le=100, strict=True)]


class Ceiling(ct.Action):
    """The most that the buyer pays."""

    price: Price


class Bid(ct.Action):
    """A price, and a remark that everybody reads when the bids are opened, or none."""

    price: Price
    remark: ct.Message | None = None


class Briefing(ct.Event):
    """What a seat knows at the start: the firms, and a firm its own cost."""

    firms: tuple[str, ...]
    cost: int | None


class Call(ct.Event):
    """The buyer is to name a ceiling."""


class Tender(ct.Event):
    """All firms are asked at once."""

    ceiling: int


class Opened(ct.Event):
    """What each firm bid, remarked and has for a cost, and who builds."""

    bids: tuple[tuple[str, int, str | None, int], ...]
    winner: str


class Costs(ct.Deal):
    """What building costs each firm."""

    costs: dict[str, int]


class Contract(ct.Outcome):
    """Who builds, and at what price and cost."""

    winner: str
    price: int
    cost: int


class CallForTenders(ct.Game):
    """A buyer names a ceiling and firms with private costs bid at once; the lowest bid builds.

    The winner is paid its bid (a first-price procurement auction, Vickrey 1961). A tie is broken
    by lot. Afterwards all bids, remarks and costs are known to everybody.
    """

    name = "tender"
    payoff_unit = "thousand dollars"
    roles = ("buyer", "firm")
    events = (Briefing, Call, Tender, Opened)
    actions = (Ceiling, Bid)
    deal_type = Costs
    outcome_type = Contract

    firms: int = Field(default=3, ge=2, le=20, strict=True)
    """How many firms there are."""
    worth: int = Field(default=100, ge=1, le=100, strict=True)
    """What the building is worth to the buyer, in thousand dollars."""

    @property
    def places(self) -> dict[str, str]:
        """The buyer, and firm_1 to firm_N."""
        return {"buyer": "buyer"} | ct.numbered("firm", self.firms)

    def deal(self, chance: ct.Chance) -> Costs:
        firms = ct.numbered("firm", self.firms)
        return Costs(costs={firm: chance("cost", firm).integer(20, 60) for firm in firms})

    def play(self, deal: Costs, chance: ct.Chance) -> ct.Play[Contract]:
        firms = tuple(deal.costs)
        yield ct.Tell("buyer", Briefing(firms, None))
        for firm in firms:
            yield ct.Tell(firm, Briefing(firms, deal.costs[firm]))
        ceiling: Ceiling = yield ct.Ask("buyer", Ceiling, Call())

        def objection(bid: Bid) -> str | None:
            legal = bid.price <= ceiling.price
            return None if legal else f"the price must not lie above {ceiling.price}"

        question = Tender(ceiling.price)
        bids: dict[str, Bid] = yield tuple(ct.Ask(firm, Bid, question, objection) for firm in firms)
        lowest = min(bid.price for bid in bids.values())
        winner = chance("tie").pick([firm for firm in firms if bids[firm].price == lowest])
        rows = [(firm, bids[firm].price, bids[firm].remark, deal.costs[firm]) for firm in firms]
        yield ct.Tell(tuple(self.places), Opened(tuple(rows), winner))
        return Contract(winner=winner, price=lowest, cost=deal.costs[winner])

    def payoffs(self, outcome: Contract) -> dict[str, float]:
        """Thousand dollars: worth less price to the buyer; price less cost to whoever builds."""
        paid = dict.fromkeys(self.places, 0.0)
        paid["buyer"] = float(self.worth - outcome.price)
        paid[outcome.winner] = float(outcome.price - outcome.cost)
        return paid

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"buyer": (self.worth - 100.0, float(self.worth)), "firm": (-60.0, 80.0)}

    def secrets(self, deal: Costs) -> Iterator[ct.Secret]:
        """Each firm's cost, until the bids are opened."""
        for firm, cost in deal.costs.items():
            other = Costs(costs=deal.costs | {firm: 80 - cost if cost != 40 else 41})
            yield ct.Secret(
                frozenset({firm}), self, other, revealed=lambda event: isinstance(event, Opened)
            )
