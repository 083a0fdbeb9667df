"""What a run needs before it starts: the plan, and players who can be reached.

Trying scripted players out before a run: a setting that the rules refuse is found at once.
"""

from cheaptalk.calls.desk import AskPerson
from cheaptalk.calls.purse import Cap, unpriced
from cheaptalk.models.prices import Prices
from cheaptalk.players import ModelSeat, PersonSeat, RecordedSeat, StrategySeat
from cheaptalk.records import MatchRecord, Store, StoreError, line_up
from cheaptalk.records.record import SETTLED
from cheaptalk.rules import Decide, Game, Given, IllegalAction, StrategyError, play, strategies
from cheaptalk.studies.plans.plan import Plan, PlannedMatch
from cheaptalk.studies.plans.seating import Seated
from cheaptalk.studies.study import StudyError


def check_seats(
    laid: Plan, store: Store | None, ask_person: AskPerson | None = None
) -> dict[str, list[Given]]:
    """Refuse a plan whose players cannot be reached, before anything is written.

    Returns:
        The moves that recorded players repeat, by match.

    Raises:
        StudyError: a provider's key is not set, a person is to play and nobody asks them, or a
            recorded match is not there, has not ended or is one of another game.
        ReplayMismatch: the installed rules do not replay a recorded match.
    """
    moves: dict[str, list[Given]] = {}
    seated = [
        (match.configuration.game.name, one) for match in laid.matches for one in match.seating
    ]
    for game, player in dict.fromkeys(seated):
        match player.spec:
            case ModelSeat() as model if model.missing():
                raise _unreachable(player, model.missing() or "")
            case PersonSeat() if ask_person is None:
                raise _unreachable(player, "a person plays with: cheaptalk play")
            case RecordedSeat(recorded=wanted):
                record = _recorded(player, wanted, store)
                if record.game != game:
                    raise _unreachable(
                        player, f"match {wanted} is one of {record.game}, not {game}"
                    )
                moves[wanted] = record.replay().given
    return moves


def check_prices(laid: Plan, prices: Prices, cap: Cap) -> None:
    """Refuse a budget in dollars where a model's price is not known.

    Args:
        cap: what the run may spend, besides the study's budget.

    Raises:
        StudyError: there is a cap in dollars, and no price for a model.
    """
    budget = laid.study.budget
    if not any(one.dollars for one in (budget, budget.per_match, cap)):
        return
    for player in laid.players().values():
        if isinstance(player.spec, ModelSeat) and prices.of(player.spec.model) is None:
            raise _unreachable(player, unpriced(player.spec.model))


def _unreachable(player: Seated, reason: str) -> StudyError:
    return StudyError(f"players.{player.label}: {reason}")


def _recorded(player: Seated, wanted: str, store: Store | None) -> MatchRecord:
    if store is None:
        raise _unreachable(player, f"there is no store to take match {wanted} from")
    try:
        record = store.find(wanted)
    except StoreError as error:
        raise _unreachable(player, str(error)) from None
    if record.status not in SETTLED:
        raise _unreachable(player, f"match {wanted} has not ended")
    return record


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
