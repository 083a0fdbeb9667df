"""Define a strategy and play it against all built-in strategies of bargaining.

python examples/custom_strategy.py
"""

from typing import Annotated

from pydantic import Field

import cheaptalk as ct

bargaining = ct.games.bargaining
Share = Annotated[float, Field(ge=0, le=1)]
INSTANCES = 20


@ct.strategy("alice", "bob")
def tit_for_tat(request: ct.DecisionRequest, *, first: Share = 0.8) -> ct.Action:
    """Concede as much as the other player (Faratin, Sierra and Jennings 1998).

    Accept offers that meet the current demand, and any offer in the last round.

    Args:
        first: the initial demand, as a share of the money in [0, 1].
    """
    events = [moment.event for moment in request.heard] + [request.event]
    made = [event for event in events if isinstance(event, bargaining.events.OfferMade)]
    offers = [bargaining.strategies.offered(request, event) for event in made]
    conceded = offers[-1] - offers[0] if offers else 0.0
    demand = min(max(first - conceded, 0.0), 1.0)
    if isinstance(request.event, bargaining.events.OfferMade):
        return bargaining.strategies.answer(request.event.last or offers[-1] >= demand)
    return bargaining.strategies.offer(request, demand)


def main() -> None:
    """Play as Bob against every strategy for Alice, and print the mean payoffs."""
    game = ct.games.Bargaining(money=100, discounts=(0.95, 0.95))
    print(f"{'Alice':<18}{'Alice gets':>12}{'tit_for_tat gets':>18}")
    for name, rival in ct.get_game("bargaining").strategies.items():
        total = {"alice": 0.0, "bob": 0.0}
        for number in range(INSTANCES):
            seed = f"tit for tat/{number}"
            instance = game.draw_instance(ct.Chance(seed))
            table = ct.play(game, instance, seed, {"alice": rival, "bob": tit_for_tat})
            for seat, dollars in game.payoffs(table.result().outcome).items():
                total[seat] += dollars / INSTANCES
        print(f"{name:<18}{total['alice']:>12.2f}{total['bob']:>18.2f}")


if __name__ == "__main__":
    main()
