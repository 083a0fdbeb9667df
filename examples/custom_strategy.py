"""Write a strategy and let it bargain with the ones that come with the game.

python examples/custom_strategy.py
"""

from typing import Annotated

from pydantic import Field

import cheaptalk as ct

bargaining = ct.games.bargaining
Share = Annotated[float, Field(ge=0, le=1)]
DEALS = 20


@ct.strategy("alice", "bob")
def tit_for_tat(asked: ct.Asked, *, first: Share = 0.8) -> ct.Action:
    """Come down by as much as the other did (Faratin, Sierra and Jennings 1998).

    Accept what is worth the own demand, and anything in the last round.

    Args:
        first: the share of the money demanded at first, in [0, 1].
    """
    heard = [moment.event for moment in asked.heard] + [asked.event]
    made = [event for event in heard if isinstance(event, bargaining.events.OfferMade)]
    offers = [bargaining.strategies.offered(asked, event) for event in made]
    conceded = offers[-1] - offers[0] if offers else 0.0
    demand = min(max(first - conceded, 0.0), 1.0)
    if isinstance(asked.event, bargaining.events.OfferMade):
        return bargaining.strategies.answer(asked.event.last or offers[-1] >= demand)
    return bargaining.strategies.offer(asked, demand)


def main() -> None:
    """Play Bob against every strategy that Alice may have, and print what each of them gets."""
    game = ct.games.Bargaining(money=100, discounts=(0.95, 0.95))
    print(f"{'Alice':<18}{'Alice gets':>12}{'tit_for_tat gets':>18}")
    for name, rival in ct.game_box("bargaining").strategies.items():
        total = {"alice": 0.0, "bob": 0.0}
        for number in range(DEALS):
            seed = f"tit for tat/{number}"
            deal = game.deal(ct.Chance(seed))
            table = ct.play(game, deal, seed, {"alice": rival, "bob": tit_for_tat})
            for seat, dollars in game.payoffs(table.result().outcome).items():
                total[seat] += dollars / DEALS
        print(f"{name:<18}{total['alice']:>12.2f}{total['bob']:>18.2f}")


if __name__ == "__main__":
    main()
