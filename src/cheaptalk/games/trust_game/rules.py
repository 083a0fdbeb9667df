"""The trust game: an investor sends points, which are multiplied, and a trustee returns some."""

from pydantic import Field

import cheaptalk as ct
from cheaptalk.games.rounds import range_checks
from cheaptalk.rules import Whole


class Investment(ct.Action):
    """The points that an investor sends."""

    amount_sent: Whole


class Repayment(ct.Action):
    """The points that a trustee returns."""

    amount_returned: Whole


class Briefing(ct.Event):
    """Information for a player at the start."""

    endowment: int
    trustee_endowment: int
    multiplier: int
    both_roles: bool


class Turn(ct.Event):
    """A request to an investor to send points."""

    endowment: int
    multiplier: int


class Received(ct.Event):
    """A request to a trustee to return points; ``received`` are the multiplied points."""

    sent: int
    received: int


class Over(ct.Event):
    """The result of the game.

    Each exchange consists of the investor's seat and the points sent, received and returned.
    """

    exchanges: tuple[tuple[str, int, int, int], ...]
    payoff: float


class Exchange(ct.rules.Value):
    """The points that an investor sent, and those that the trustee returned."""

    sent: int
    returned: int


class Exchanges(ct.Outcome):
    """One exchange for each investor; with both roles, the trustee's investment is the second."""

    exchanges: tuple[Exchange, ...]


class TrustGame(ct.Game):
    """The trust game, or investment game (Berg, Dickhaut and McCabe 1995).

    The investor sends some of its endowment to the trustee. The points sent are multiplied, and the
    trustee returns some of the multiplied points. If nothing is sent, there is nothing to return.

    With ``both_roles``, both players first invest simultaneously, and then each returns some of the
    points received, without knowing what the other player returns. A payoff is then the sum of both
    roles. In the subgame-perfect equilibrium, trustees return nothing and investors send nothing.
    """

    name = "trust_game"
    payoff_unit = "points"
    roles = ("investor", "trustee")
    events = (Briefing, Turn, Received, Over)
    actions = (Investment, Repayment)
    outcome_type = Exchanges

    endowment: int = Field(default=10, ge=1, le=10**6, strict=True)
    """An investor's points at the start."""
    trustee_endowment: int = Field(default=10, ge=0, le=10**6, strict=True)
    """A trustee's points at the start, which cannot be sent or returned."""
    multiplier: int = Field(default=3, ge=1, le=1_000, strict=True)
    """The factor by which the points sent are multiplied."""
    both_roles: bool = False
    """Whether each player is investor and trustee at once; the seats keep their names."""

    def partner(self, seat: str) -> str:
        """Return the other seat."""
        return "trustee" if seat == "investor" else "investor"

    @property
    def investors(self) -> tuple[str, ...]:
        """The seats that invest, in order."""
        return self.roles if self.both_roles else self.roles[:1]

    def play(self, instance: ct.Instance, chance: ct.Chance) -> ct.Play[Exchanges]:
        terms = (self.endowment, self.trustee_endowment, self.multiplier, self.both_roles)
        for seat in self.seats:
            yield ct.Tell(seat, Briefing(*terms))
        turn = Turn(self.endowment, self.multiplier)
        checks = range_checks(Investment, (0, self.endowment))
        invested = yield tuple([ct.Ask(seat, Investment, turn, *checks) for seat in self.investors])
        sent = {seat: investment.amount_sent for seat, investment in invested.items()}
        asks = [
            self._repayment(self.partner(seat), points) for seat, points in sent.items() if points
        ]
        repaid = (yield tuple(asks)) if asks else {}
        returned = {
            self.partner(seat): repayment.amount_returned for seat, repayment in repaid.items()
        }
        exchanges = [
            Exchange(sent=points, returned=returned.get(seat, 0)) for seat, points in sent.items()
        ]
        outcome = Exchanges(exchanges=tuple(exchanges))
        rows = [
            (seat, exchange.sent, self.multiplier * exchange.sent, exchange.returned)
            for seat, exchange in zip(sent, exchanges, strict=True)
        ]
        for seat, payoff in self.payoffs(outcome).items():
            yield ct.Tell(seat, Over(tuple(rows), payoff))
        return outcome

    def _repayment(self, trustee: str, sent: int) -> ct.Ask:
        received = self.multiplier * sent
        checks = range_checks(Repayment, (0, received))
        return ct.Ask(trustee, Repayment, Received(sent, received), *checks)

    def payoffs(self, outcome: Exchanges) -> dict[str, float]:
        """Return each player's points, summed over its roles."""
        payoffs = dict.fromkeys(self.roles, 0.0)
        for investor, exchange in zip(self.investors, outcome.exchanges, strict=True):
            payoffs[investor] += self.endowment - exchange.sent + exchange.returned
            kept = self.multiplier * exchange.sent - exchange.returned
            payoffs[self.partner(investor)] += self.trustee_endowment + kept
        return payoffs

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        most = self.endowment * self.multiplier
        investor = (0.0, float(most))
        trustee = (float(self.trustee_endowment), float(self.trustee_endowment + most))
        if not self.both_roles:
            return {"investor": investor, "trustee": trustee}
        return dict.fromkeys(self.roles, (investor[0] + trustee[0], investor[1] + trustee[1]))

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """Return each role's payoff bounds, which are those of its only seat."""
        return self.payoff_bounds()
