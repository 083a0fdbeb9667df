"""Checks of players, prices and batches before a run."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple, TypeAlias

from cheaptalk.calls.batches import Batching
from cheaptalk.calls.budget import NO_CAP, Cap, unpriced
from cheaptalk.models import is_retired, retirement
from cheaptalk.models.prices import Prices, load_prices, without_url
from cheaptalk.models.remote_agents import RemoteAgents
from cheaptalk.players import AskPerson, ModelSeat, Sources
from cheaptalk.records import Store, line_up
from cheaptalk.records.ledger.batches import calls_in_batches
from cheaptalk.records.store.lookup import StoreLike, reads
from cheaptalk.rules import Decide, Game, IllegalAction, StrategyError, play, strategies
from cheaptalk.rules.errors import Problem
from cheaptalk.studies.plans.matches import PlannedMatch
from cheaptalk.studies.plans.parts import playable
from cheaptalk.studies.plans.plan import Plan, PlanLike, plan_of
from cheaptalk.studies.plans.seating import SeatedPlayer
from cheaptalk.studies.runs.host import recordings
from cheaptalk.studies.study import StudyError

MOST_NAMED = 5
"""Maximum number of players named in a line."""


class Checked(NamedTuple):
    """A checked plan with the prices, budget cap and batch options of its run."""

    plan: Plan
    prices: Prices
    cap: Cap
    batching: Batching | None


@reads
def check(
    planned: PlanLike,
    store: StoreLike | None,
    *,
    ask_person: AskPerson | None = None,
    remote_agents: RemoteAgents | None = None,
    prices: Prices | None = None,
    cap: Cap = NO_CAP,
    batching: Batching | None = None,
) -> Checked:
    """Check that a plan can be run, before a run writes to the store.

    Without ``ask_person``, only matches without people are run, if there are any; ``cheaptalk
    serve`` plays the others.

    Args:
        remote_agents: server of remote agents, such as an :class:`.AgentServer`.
        prices: model prices; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        cap: budget of this run, in addition to the study's budget.
        batching: options for providers' batches; None to send calls immediately.

    Raises:
        StudyError: an API key, a price, a person or a recorded match is missing, the plan cannot
            use batches, or calls are already in a batch and would be paid twice. The message names
            all players with such a problem.
        ReplayMismatch: the installed rules do not replay a recorded match.
    """
    assert store is None or isinstance(store, Store)
    planned = plan_of(planned, store)
    if ask_person is None:
        planned = playable(planned)
    sources = Sources(recordings(store), ask_person, remote_agents)
    _refuse(_missing(planned, sources))
    if batching is None and store is not None:
        check_collected(store, planned.study.name, planned.matches)
    if batching is not None:
        check_batchable(planned)
    prices = prices or load_prices()
    check_prices(planned, prices, cap)
    return Checked(planned, prices, cap, batching)


class Requirement(NamedTuple):
    """Something that players of a plan need before it can run.

    Attributes:
        need: what to do, such as setting an API key.
        players: the labels of the players that need it.
    """

    need: str
    players: list[str]

    def __str__(self) -> str:
        return f"{_players(self.players)}: {self.need}"


@reads
def missing_requirements(planned: PlanLike, store: StoreLike | None) -> list[Requirement]:
    """Return what players of a plan still need before it can run, such as an API key."""
    assert store is None or isinstance(store, Store)
    planned = plan_of(planned, store)
    return _requirements(_missing(planned, Sources(recordings(store))))


class RetiredModel(NamedTuple):
    """A model in a plan that its provider no longer serves.

    Attributes:
        retirement: the day (``YYYY-MM-DD``) or month (``YYYY-MM``) of the retirement.
        players: the labels of the players with this model.
    """

    model: str
    retirement: str
    players: list[str]

    def __str__(self) -> str:
        name = without_url(self.model).partition("/")[2]
        return (
            f"{_players(self.players)}: {self.model} has been retired since {self.retirement}; "
            f"to replace it, add --replace {name}=MODEL"
        )


def retired_models(planned: PlanLike, today: date | None = None) -> list[RetiredModel]:
    """Return the retired models of a plan, which can still run if servers answer nevertheless.

    Args:
        today: models are retired if their retirement is not after this date; by default the
            current date.
    """
    players = plan_of(planned).players().values()
    models: dict[str, list[str]] = {}
    for player in players:
        if isinstance(player.spec, ModelSeat) and is_retired(player.spec.model, today):
            labels = models.setdefault(player.spec.model, [])
            labels += [player.label] * (player.label not in labels)
    return [RetiredModel(model, str(retirement(model)), labels) for model, labels in models.items()]


Reasons: TypeAlias = Iterable[tuple[SeatedPlayer, str]]
"""Players that cannot play, each with the reason."""


def _missing(planned: Plan, sources: Sources) -> Iterator[tuple[SeatedPlayer, str]]:
    for (_, player), group in planned.seats().items():
        reason = player.spec.missing(group.configuration.game, sources)
        if reason is not None:
            yield player, reason


def check_batchable(planned: PlanLike) -> None:
    """Check that a plan can use providers' batches.

    Raises:
        StudyError: some players cannot use batches.
    """
    players = plan_of(planned).players().values()
    _refuse((player, reason) for player in players if (reason := player.spec.unbatchable()))


def check_prices(planned: PlanLike, prices: Prices, cap: Cap) -> None:
    """Check that all model prices are known if a budget or cap limits dollars.

    Raises:
        StudyError: a price is missing.
    """
    planned = plan_of(planned)
    budget = planned.study.budget
    if any(limits.dollars for limits in (budget, budget.per_match, cap)):
        _refuse(
            (player, unpriced(player.spec.model))
            for player in planned.players().values()
            if isinstance(player.spec, ModelSeat) and prices.of(player.spec.model) is None
        )


def _refuse(reasons: Reasons) -> None:
    """Raise a StudyError that names all players that cannot play, if any."""
    reasons = list(reasons)
    if reasons:
        error = StudyError("; ".join(map(str, _requirements(reasons))))
        error.problems = tuple(
            Problem(("players", player.label), "value_error", reason) for player, reason in reasons
        )
        raise error


def _requirements(reasons: Reasons) -> list[Requirement]:
    """Return each reason once, with the players that it concerns."""
    labels: dict[str, list[str]] = {}
    for player, reason in reasons:
        listed = labels.setdefault(reason, [])
        listed += [player.label] * (player.label not in listed)
    return [Requirement(reason, players) for reason, players in labels.items()]


def _players(labels: Sequence[str]) -> str:
    """Return labels as a location in the study file, abbreviated if there are many.

    >>> _players(["fair"]), _players([str(number) for number in range(9)])
    ('players.fair', 'players.0, 1, 2, 3, 4 and 4 more')
    """
    few = labels if len(labels) <= MOST_NAMED + 1 else labels[:MOST_NAMED]
    more = f" and {len(labels) - len(few)} more" if len(few) < len(labels) else ""
    return f"players.{', '.join(few)}{more}"


def check_collected(store: Store, study: str, matches: Iterable[PlannedMatch]) -> None:
    """Check that no call is pending in a provider's batch, because it would be paid for twice."""
    waiting = calls_in_batches(store, (match.id for match in matches))
    if waiting:
        raise StudyError(
            f"{waiting:,} calls of {study} are in a provider's batch; to collect them, run: "
            f"cheaptalk resume {study} --batch"
        )


SUBSTITUTE = "random"
"""The strategy that replaces models, people and searching strategies in a trial."""


def try_strategies(planned: PlanLike) -> None:
    """Play a trial match with each scripted player in the first configuration of each game.

    Nothing is stored. A trial detects players that would forfeit every match because of illegal
    moves. Failures of a player's code are ignored, because the run records them.

    Raises:
        StudyError: the rules reject a player's move.
    """
    planned = plan_of(planned)
    tried: set[tuple[str, SeatedPlayer]] = set()
    for group in planned.matches.first_groups():
        game = group.configuration.game
        untried = {(game.name, player) for player in group.seating if player.scripted} - tried
        if untried:
            tried |= untried
            _try(group.first(), game)


def _try(match: PlannedMatch, game: Game) -> None:
    players: dict[str, Decide] = {}
    for seat, seated in zip(game.seats, match.seating, strict=True):
        decide = _decide(game, game.seats[seat], seated)
        if decide is None:
            return
        players[seat] = decide
    try:
        play(game, match.instance, match.seed, players)
    except StrategyError as error:
        if isinstance(error.__cause__, IllegalAction):
            labels = line_up([seated.label for seated in match.seating])
            raise StudyError(
                f"trial match of {game.name} by {labels}: {error}; correct the player's settings"
            ) from error


def _decide(game: Game, role: str, seated: SeatedPlayer) -> Decide | None:
    """Return a scripted player's strategy, or a substitute for any other player."""
    if seated.spec.instant and not seated.spec.searches:
        return seated.spec.decide()
    substitute = strategies(game.name).get(SUBSTITUTE)
    return substitute.function if substitute is not None and role in substitute.roles else None
