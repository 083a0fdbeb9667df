"""Deal or No Deal: two players talk freely, then each proposes in private."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from cheaptalk.games.deal_or_no_deal.contexts import (
    KINDS,
    PILE,
    Context,
    Triple,
    all_contexts,
    rest,
    worth,
)
from cheaptalk.games.deal_or_no_deal.events import (
    Briefing,
    Ending,
    GameOver,
    MessageOrProposal,
    Proposal,
    ProposalMade,
    YourTurn,
)
from cheaptalk.rules import Ask, Chance, Deal, Event, Forfeited, Game, Outcome, Play, Secret, Tell

OBJECTIVES = {"self": 0.0, "coop": 1.0, "comp": -1.0}
"""The objectives that the paper plays, by the names of its code."""


def _named(objective: Any) -> Any:
    """The weight that a name stands for; a number as it is."""
    if isinstance(objective, str):
        if objective not in OBJECTIVES:
            raise ValueError(f"must be {', '.join(OBJECTIVES)} or a number from -1 to 1")
        return OBJECTIVES[objective]
    return objective


Objective: TypeAlias = Annotated[float, BeforeValidator(_named), Field(ge=-1, le=1, strict=True)]
"""The weight of the partner's points, lambda in [-1, 1]; a name or a number."""


def paid(points: tuple[int, int], objective: float) -> tuple[float, float]:
    """What both players get: own points plus the objective's share of the partner's."""
    mine, theirs = points
    return mine + objective * theirs, theirs + objective * mine


Move: TypeAlias = MessageOrProposal | Proposal
Player: TypeAlias = Literal["player_1", "player_2"]
PLAYERS: tuple[Player, Player] = ("player_1", "player_2")


class Opening(Deal):
    """The context, and who moves first."""

    context: Context
    first: Player

    @property
    def order(self) -> tuple[Player, ...]:
        """The players in the order in which they take turns."""
        return PLAYERS if self.first == "player_1" else PLAYERS[::-1]


class Division(Outcome):
    """How the game ended.

    Attributes:
        ending: in which of the possible ways.
        turns: the messages and proposals that were made.
        claims: what player 1 and player 2 proposed to claim; None where one did not propose.
        points: what the claims are worth to those who made them; None without an agreement.
        aborted_by: the player whose failure to answer ended the game.
    """

    ending: Ending
    turns: int
    claims: tuple[Triple | None, Triple | None] = (None, None)
    points: tuple[int, int] | None = None
    aborted_by: str | None = None


class DealOrNoDeal(Game):
    """Talk, then private proposals (Lewis et al. 2017; Liao, Tomlin and Klein 2024, section 2).

    Two players divide books, hats and balls. Both see the pool; what a piece is worth to a player
    only that player knows. They take turns to send a message. Either can propose instead, once
    something has been said: it claims pieces for itself, in private, and the partner must then
    propose too. If the two claims add up to exactly the pool, each player is paid
    X + objective * Y, where X is what its own claim is worth to it and Y what the partner's is
    worth to the partner, in points. Otherwise both get nothing. A coin decides who begins.

    A player that finally fails to answer aborts the game, and both get nothing.
    """

    name = "deal_or_no_deal"
    title = "Deal or No Deal"
    payoff_unit = "points"
    roles = ("player",)
    events = (Briefing, YourTurn, ProposalMade, GameOver)
    actions = (MessageOrProposal, Proposal)
    deal_type = Opening
    outcome_type = Division
    tries = 5
    forfeit = "The game is aborted and both players get 0, which counts as a score."

    objective: Objective = 0.0
    """The weight of the partner's points in a player's payoff (lambda), in [-1, 1].

    ``self`` is 0, semi-competitive; ``coop`` is 1, cooperative; ``comp`` is -1, strictly
    competitive.
    """
    turns: int = Field(default=50, ge=3, le=1_000, strict=True)
    """How many messages and proposals there can be in all."""
    contexts: tuple[Context, ...] = ()
    """The contexts to draw from, each equally likely; every legal one if none are given."""

    @property
    def places(self) -> dict[str, str]:
        """Two players."""
        return dict.fromkeys(PLAYERS, "player")

    def deal(self, chance: Chance) -> Opening:
        context = chance("context").pick(self.contexts or all_contexts())
        return Opening.unchecked(context=context, first=chance("first").pick(PLAYERS))

    def play(self, deal: Opening, chance: Chance) -> Play[Division]:
        for player in PLAYERS:
            yield Tell(player, self._briefing(deal, player))
        moves: list[Move] = []
        failed = None
        try:
            yield from self._negotiation(deal, moves)
        except Forfeited as failure:
            (failed,) = failure.seats
        division = _division(deal, moves, failed)
        for player in PLAYERS:
            yield Tell(player, self._game_over(division, player))
        return division

    def _negotiation(self, deal: Opening, moves: list[Move]) -> Play[None]:
        """Ask for moves in turn and add them to the list, to the second proposal or the limit."""
        counts = deal.context.counts
        message: str | None = None
        order = deal.order
        for turn in range(1, self.turns + 1):
            player, partner = order if turn % 2 else order[::-1]
            if moves and moves[-1].claim is not None:
                objection = partial(_beyond_the_pool, counts)
                made = ProposalMade(turn, self.turns, partner)
                moves.append((yield Ask(player, Proposal, made, objection)))
                return
            event = YourTurn(turn, self.turns, partner, message)
            objection = partial(_objection, counts, turn)
            move: MessageOrProposal = yield Ask(player, MessageOrProposal, event, objection)
            moves.append(move)
            message = move.message

    def _briefing(self, deal: Opening, player: str) -> Briefing:
        number = PLAYERS.index(player)
        return Briefing(
            PLAYERS[1 - number],
            deal.context.counts,
            deal.context.values[number],
            self.objective,
            self.turns,
            player == deal.first,
        )

    def _game_over(self, division: Division, player: str) -> GameOver:
        mine, theirs = division.points or (None, None)
        partner, payoff = PLAYERS[1], self.payoffs(division)[player]
        if player == PLAYERS[1]:
            mine, theirs, partner = theirs, mine, PLAYERS[0]
        return GameOver(division.ending, partner, mine, theirs if self.objective else None, payoff)

    def payoffs(self, outcome: Division) -> dict[str, float]:
        """Own points plus the objective's share of the partner's; 0 and 0 without an agreement."""
        return dict(zip(PLAYERS, paid(outcome.points or (0, 0), self.objective), strict=True))

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        """10 lambda or 0 at least, 10 + 9 lambda or 10 at most: never do both players have 10."""
        low, high = min(0.0, PILE * self.objective), max(0.0, (PILE - 1) * self.objective)
        return {"player": (low, PILE + high)}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """Both players' points are 19 together at the most, and each counts 1 + lambda times."""
        return {"player": (0.0, (1 + self.objective) * (2 * PILE - 1))}

    def secrets(self, deal: Opening) -> Iterator[Secret]:
        """Another legal context that differs in one player's values alone, for each player."""
        counts, values = deal.context.counts, deal.context.values
        for number, player in enumerate(PLAYERS):
            for other in all_contexts():
                same_partner = other.values[1 - number] == values[1 - number]
                if other.counts == counts and same_partner and other != deal.context:
                    changed = deal.model_copy(update={"context": other})
                    yield Secret(frozenset({player}), self, changed, self._tells_points)
                    break

    def _tells_points(self, event: Event) -> bool:
        """Whether an event lets a player work out its partner's points."""
        return isinstance(event, GameOver) and self.objective != 0


def _objection(counts: Triple, turn: int, move: MessageOrProposal) -> str | None:
    if move.claim is None:
        return None
    if turn == 1:
        return "nothing has been said yet: begin by discussing how to divide the items"
    return _beyond_the_pool(counts, move)


def _beyond_the_pool(counts: Triple, proposal: Move) -> str | None:
    for kind, claimed, count in zip(KINDS, proposal.claim or (), counts, strict=True):
        if not 0 <= claimed <= count:
            few = "is only 1" if count == 1 else f"are only {count}"
            return f"{claimed} {kind} cannot be claimed: there {few}"
    return None


def _division(deal: Opening, moves: list[Move], failed: str | None) -> Division:
    """How a game with these moves ended; ``failed`` aborted it, if anybody did."""
    order = deal.order
    made = {
        order[number % 2]: move.claim for number, move in enumerate(moves) if move.claim is not None
    }
    first, second = (made.get(player) for player in PLAYERS)
    context = deal.context
    ending: Ending = "aborted" if failed else "out of turns"
    points = None
    if first is not None and second is not None:
        ending = "mismatch"
        if second == rest(context.counts, first):
            ending = "agreement"
            points = worth(context.values[0], first), worth(context.values[1], second)
    return Division.unchecked(
        ending=ending, turns=len(moves), claims=(first, second), points=points, aborted_by=failed
    )
