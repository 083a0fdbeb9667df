"""Trying scripted players out before a run: a setting that the rules refuse is found at once."""

from cheaptalk.players import StrategySeat
from cheaptalk.records import line_up
from cheaptalk.rules import Decide, Game, IllegalAction, StrategyError, play, strategies
from cheaptalk.studies.planning import Plan, PlannedMatch
from cheaptalk.studies.seating import Seated
from cheaptalk.studies.spec import StudyError

STAND_IN = "random"
"""The strategy that sits in the places of models and people."""


def try_strategies(laid: Plan) -> None:
    """Play one match with each scripted player, in each game at its first configuration.

    Nothing is stored. A player whose code fails is left to the run, which notes it match by match;
    one whose moves the rules refuse would lose every match.

    Raises:
        StudyError: the rules refuse a player's move.
    """
    tried: set[tuple[str, Seated]] = set()
    for match in laid.matches:
        game = match.configuration.game
        fresh = {(game.name, one) for one in match.seating if one.scripted} - tried
        if fresh:
            tried |= fresh
            _try(match, game)


def _try(match: PlannedMatch, game: Game) -> None:
    players: dict[str, Decide] = {}
    for place, seated in zip(game.places, match.seating, strict=True):
        found = _decide(game, game.places[place], seated)
        if found is None:
            return
        players[place] = found
    try:
        play(game, match.deal, match.seed, players)
    except StrategyError as error:
        if isinstance(error.__cause__, IllegalAction):
            labels = line_up([seated.label for seated in match.seating])
            raise StudyError(
                f"a try of {game.name} by {labels}: {error}; mend the player's settings"
            ) from error


def _decide(game: Game, role: str, seated: Seated) -> Decide | None:
    """The player's strategy, or a stand-in's; None where there is none."""
    if isinstance(seated.spec, StrategySeat):
        return seated.spec.decide()
    stand_in = strategies(game.name).get(STAND_IN)
    return stand_in.function if stand_in is not None and role in stand_in.roles else None
