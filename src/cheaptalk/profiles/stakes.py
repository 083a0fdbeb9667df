"""What a seat could have had of a match, so that earnings of all games are shares of it."""

from math import inf, isfinite

from cheaptalk.games.item_bargaining.events import Pool
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.games.persuasion.rules import Persuasion, Qualities
from cheaptalk.rules import Deal, Game


def could_have(game: Game, deal: Deal, place: str) -> float | None:
    """The most that a place could get of a match from others who give it all, in the game's unit.

    In negotiation that is the whole gain from trade; to a buyer in persuasion, what all products
    bring that are worth more than they cost; to a player who divides items, all of them at once;
    elsewhere the highest payoff of the rules. None where there is nothing to be had, or no end to
    it.
    """
    match game, deal:
        case Negotiation(), _:
            most = game.value("bob") - game.value("alice")
        case Persuasion(), Qualities() if place == "bob":
            most = sum(max(0.0, _worth(game, high) - game.price) for high in deal.qualities)
        case ItemBargaining(), Pool():
            values = deal.values[list(game.places).index(place)]
            most = float(sum(n * value for n, value in zip(deal.quantities, values, strict=True)))
        case _:
            most = game.payoff_bounds().get(game.places[place], (0.0, inf))[1]
    return most if most > 0 and isfinite(most) else None


def _worth(game: Persuasion, high: bool) -> float:
    return game.price * (game.value if high else game.low_value)
