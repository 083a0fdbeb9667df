"""What is found out before a run: that players can be reached and play, at known prices."""

from collections.abc import Iterable
from typing import NamedTuple

from cheaptalk.calls.batches import Batching
from cheaptalk.calls.budget import NO_CAP, Cap, unpriced
from cheaptalk.models.guests import Guests
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.players import AskPerson, ModelSeat, Sources
from cheaptalk.records import Store, line_up
from cheaptalk.records.ledger.batches import calls_in_batches
from cheaptalk.rules import Decide, Game, IllegalAction, StrategyError, play, strategies
from cheaptalk.studies.plans.matches import PlannedMatch
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.plans.seating import Seated
from cheaptalk.studies.runs.host import recordings
from cheaptalk.studies.study import StudyError


class Checked(NamedTuple):
    """A plan that can be run, and what it was checked with.

    Attributes:
        plan: the plan.
        prices: what models cost.
        cap: what the run may spend, besides the study's budget over all runs.
        batching: how to play in providers' batches; None to make each call at once.
    """

    plan: Plan
    prices: Prices
    cap: Cap
    batching: Batching | None


def check(
    planned: Plan,
    store: Store | None,
    *,
    ask_person: AskPerson | None = None,
    guests: Guests | None = None,
    prices: Prices | None = None,
    cap: Cap = NO_CAP,
    batching: Batching | None = None,
) -> Checked:
    """Refuse a plan that cannot be run, before anything is written.

    Args:
        store: where it is to be recorded; None where there is none yet.
        ask_person: asks a person at this machine.
        guests: has agents asked that come by themselves, such as a :class:`.Door`.
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        cap: what the run may spend, besides the study's budget over all runs.
        batching: how to play in providers' batches; None to make each call at once.

    Raises:
        StudyError: a key, a price, a person or a recorded match is missing, the plan cannot be
            played in batches, or calls are in a batch already and would be bought twice.
        ReplayMismatch: the installed rules do not replay a recorded match.
    """
    sources = Sources(recordings(store), ask_person, guests)
    for (_, player), group in planned.seats().items():
        reason = player.spec.missing(group.configuration.game, sources)
        if reason is not None:
            raise _unreachable(player, reason)
    if batching is None and store is not None:
        check_collected(store, planned.study.name, planned.matches)
    if batching is not None:
        check_batchable(planned)
    prices = prices or load_prices()
    check_prices(planned, prices, cap)
    return Checked(planned, prices, cap, batching)


def check_batchable(planned: Plan) -> None:
    """Refuse a plan that cannot be played in providers' batches.

    Raises:
        StudyError: a player cannot.
    """
    for player in planned.players().values():
        reason = player.spec.unbatchable()
        if reason is not None:
            raise _unreachable(player, reason)


def check_prices(planned: Plan, prices: Prices, cap: Cap) -> None:
    """Refuse a budget in dollars where a model's price is not known.

    Args:
        cap: what the run may spend, besides the study's budget.

    Raises:
        StudyError: there is a cap in dollars, and no price for a model.
    """
    budget = planned.study.budget
    if not any(one.dollars for one in (budget, budget.per_match, cap)):
        return
    for player in planned.players().values():
        if isinstance(player.spec, ModelSeat) and prices.of(player.spec.model) is None:
            raise _unreachable(player, unpriced(player.spec.model))


def _unreachable(player: Seated, reason: str) -> StudyError:
    return StudyError(f"players.{player.label}: {reason}")


def check_collected(store: Store, study: str, matches: Iterable[PlannedMatch]) -> None:
    """Refuse to make calls one by one while some of these matches' are in a batch.

    Raises:
        StudyError: some are; they would be bought twice.
    """
    waiting = calls_in_batches(store, (match.id for match in matches))
    if waiting:
        raise StudyError(
            f"{waiting:,} of its calls are in a provider's batch; collect them with: "
            f"cheaptalk resume {study} --batch"
        )


STAND_IN = "random"
"""The strategy that sits in the places of models, people and strategies that search."""


def try_strategies(planned: Plan) -> None:
    """Play one match with each scripted player, in each game at its first configuration.

    Nothing is stored. A player whose code fails is left to the run, which notes it match by match;
    one whose moves the rules refuse would lose every match.

    Raises:
        StudyError: the rules refuse a player's move.
    """
    tried: set[tuple[str, Seated]] = set()
    for group in planned.matches.first_groups():
        game = group.configuration.game
        fresh = {(game.name, one) for one in group.seating if one.scripted} - tried
        if fresh:
            tried |= fresh
            _try(group.first(), game)


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
    if seated.spec.instant and not seated.spec.searches:
        return seated.spec.decide()
    stand_in = strategies(game.name).get(STAND_IN)
    return stand_in.function if stand_in is not None and role in stand_in.roles else None
