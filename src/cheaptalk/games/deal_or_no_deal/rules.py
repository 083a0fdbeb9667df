"""Deal or No Deal: two players talk freely, then each proposes in private."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

import cheaptalk as ct
from cheaptalk.games.deal_or_no_deal.contexts import (
    KINDS,
    PILE,
    Context,
    Triple,
    all_contexts,
    rest,
    worth,
)
from cheaptalk.rules import alternative

Claimed = Annotated[ct.rules.Whole, Field(ge=0)]

Ending = Literal["agreement", "mismatch", "out of turns", "aborted"]
"""How a game can end: matching claims, other claims, fewer than two claims, or an abort."""


class Proposal(ct.Action):
    """What a player claims for itself, in private."""

    books: Claimed
    hats: Claimed
    balls: Claimed

    @property
    def claim(self) -> Triple:
        """The claimed numbers of books, hats and balls."""
        return self.books, self.hats, self.balls


class MessageOrProposal(ct.Action):
    """A message, or a claim to all three kinds, and never both."""

    message: ct.Message | None = None
    books: Claimed | None = None
    hats: Claimed | None = None
    balls: Claimed | None = None

    @model_validator(mode="after")
    def _is_one_of_them(self) -> "MessageOrProposal":
        counts = (self.books, self.hats, self.balls)
        if self.message is None and None in counts:
            raise ValueError("give a message, or numbers of books, hats and balls")
        if self.message is not None and counts != (None, None, None):
            raise ValueError("give a message or numbers of books, hats and balls, not both")
        return self

    @classmethod
    def propose(cls, claim: Triple) -> "MessageOrProposal":
        """Return the proposal that claims these numbers of books, hats and balls."""
        books, hats, balls = claim
        return cls(books=books, hats=hats, balls=balls)

    @property
    def claim(self) -> Triple | None:
        """The claimed numbers of books, hats and balls, or None if the action is a message."""
        if self.books is None or self.hats is None or self.balls is None:
            return None
        return self.books, self.hats, self.balls


class Briefing(ct.Event):
    """Information that a player receives at the start: the pool and its own values, in points.

    ``objective`` is the weight of the partner's points in its payoff, ``turns`` the limit, and
    ``first`` whether it moves first.
    """

    partner: str
    counts: Triple
    values: Triple
    objective: float
    turns: int
    first: bool


class YourTurn(ct.Event):
    """A request for a message or a proposal; ``message`` is the partner's last message.

    It is None in the first turn.
    """

    turn: int
    turns: int
    partner: str
    message: str | None


class ProposalMade(ct.Event):
    """A request for a proposal after the partner has made its private proposal."""

    turn: int
    turns: int
    partner: str


class GameOver(ct.Event):
    """The end of the game: its cause, the points of the player's claim, and the player's payoff.

    ``points`` is None without an agreement. ``partner_points`` is the value of the partner's claim
    to the partner if it follows from the payoff, else None. The partner's claim and values aren't
    shown.
    """

    ending: Ending
    partner: str
    points: int | None
    partner_points: int | None
    payoff: float


OBJECTIVES = {"self": 0.0, "coop": 1.0, "comp": -1.0}
"""The objectives in the paper, by their names in the paper's code."""


def _named(objective: Any) -> Any:
    if isinstance(objective, str):
        if objective not in OBJECTIVES:
            raise ValueError(f"must be {', '.join(OBJECTIVES)} or a number from -1 to 1")
        return OBJECTIVES[objective]
    return objective


Objective: TypeAlias = Annotated[float, BeforeValidator(_named), Field(ge=-1, le=1, strict=True)]
"""The weight of the partner's points, lambda in [-1, 1]; a name or a number."""


def paid(points: tuple[int, int], objective: float) -> tuple[float, float]:
    """Return both players' payoffs: own points plus the objective times the partner's points."""
    first, second = points
    return first + objective * second, second + objective * first


Move: TypeAlias = MessageOrProposal | Proposal
Player: TypeAlias = Literal["player_1", "player_2"]
PLAYERS: tuple[Player, Player] = ("player_1", "player_2")


class Opening(ct.Instance):
    """The context, and the player who moves first."""

    context: Context
    first: Player

    @property
    def order(self) -> tuple[Player, ...]:
        return PLAYERS if self.first == "player_1" else PLAYERS[::-1]


class Division(ct.Outcome):
    """The outcome of a Deal or No Deal match.

    Attributes:
        turns: the number of messages and proposals.
        claims: the claims of player 1 and player 2; None for a player without a proposal.
        points: the value of each player's claim to that player; None without an agreement.
        aborted_by: the player who failed to answer and thereby ended the game.
    """

    ending: Ending
    turns: int
    claims: tuple[Triple | None, Triple | None] = (None, None)
    points: tuple[int, int] | None = None
    aborted_by: str | None = None


class DealOrNoDeal(ct.Game):
    """Negotiation by chat and private claims (Lewis et al. 2017; Liao et al. 2024, section 2).

    Two players divide books, hats and balls. Both see the pool, but a player's values are private.
    They take turns to send messages. After the first message, either can propose instead: it
    privately claims items for itself, and the partner must then propose too. If the two claims add
    up to exactly the pool, each player is paid X + objective * Y, where X is the value of its own
    claim to it and Y the value of the partner's claim to the partner, in points. Otherwise both get
    nothing. The player who moves first is drawn at random.

    A player that finally fails to answer aborts the game, and both get nothing.
    """

    name = "deal_or_no_deal"
    title = "Deal or No Deal"
    payoff_unit = "points"
    roles = ("player",)
    events = (Briefing, YourTurn, ProposalMade, GameOver)
    actions = (MessageOrProposal, Proposal)
    instance_type = Opening
    outcome_type = Division
    tries = 5
    forfeit = "The game is aborted and both players get 0, which counts as a score."

    objective: Objective = 0.0
    """The weight of the partner's points in a player's payoff (lambda), in [-1, 1].

    ``self`` is 0, semi-competitive; ``coop`` is 1, cooperative; ``comp`` is -1, strictly
    competitive.
    """
    turns: int = Field(default=50, ge=3, le=1_000, strict=True)
    """The maximum number of messages and proposals in total."""
    contexts: tuple[Context, ...] = ()
    """The contexts to draw from, each equally likely; by default all legal contexts."""

    @property
    def seats(self) -> dict[str, str]:
        return dict.fromkeys(PLAYERS, "player")

    def draw_instance(self, chance: ct.Chance) -> Opening:
        context = chance("context").pick(self.contexts or all_contexts())
        return Opening.unchecked(context=context, first=chance("first").pick(PLAYERS))

    def play(self, instance: Opening, chance: ct.Chance) -> ct.Play[Division]:
        for player in PLAYERS:
            yield ct.Tell(player, self._briefing(instance, player))
        moves: list[Move] = []
        failed = None
        try:
            yield from self._negotiation(instance, moves)
        except ct.rules.Forfeited as failure:
            (failed,) = failure.actors
        division = _division(instance, moves, failed)
        for player in PLAYERS:
            yield ct.Tell(player, self._game_over(division, player))
        return division

    def _negotiation(self, instance: Opening, moves: list[Move]) -> ct.Play[None]:
        """Request moves until the second proposal or the turn limit, and record them."""
        counts, order = instance.context.counts, instance.order
        message: str | None = None
        for turn in range(1, self.turns + 1):
            player, partner = order if turn % 2 else order[::-1]
            if moves and moves[-1].claim is not None:
                objection, claims = partial(_beyond_the_pool, counts), partial(_claims, counts)
                proposal_made = ProposalMade(turn, self.turns, partner)
                moves.append((yield ct.Ask(player, Proposal, proposal_made, objection, claims)))
                return
            event = YourTurn(turn, self.turns, partner, message)
            objection = partial(_objection, counts, turn)
            move: MessageOrProposal = yield ct.Ask(
                player, MessageOrProposal, event, objection, partial(_moves, counts, turn)
            )
            moves.append(move)
            message = move.message

    def _briefing(self, instance: Opening, player: str) -> Briefing:
        number = PLAYERS.index(player)
        return Briefing(
            PLAYERS[1 - number],
            instance.context.counts,
            instance.context.values[number],
            self.objective,
            self.turns,
            player == instance.first,
        )

    def _game_over(self, division: Division, player: str) -> GameOver:
        own_points, partner_points = division.points or (None, None)
        partner, payoff = PLAYERS[1], self.payoffs(division)[player]
        if player == PLAYERS[1]:
            own_points, partner_points, partner = partner_points, own_points, PLAYERS[0]
        return GameOver(
            division.ending, partner, own_points, partner_points if self.objective else None, payoff
        )

    def payoffs(self, outcome: Division) -> dict[str, float]:
        """Each player's points plus objective * the partner's points; 0 without an agreement."""
        return dict(zip(PLAYERS, paid(outcome.points or (0, 0), self.objective), strict=True))

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of a payoff, given that at most one player gets all 10 points."""
        low, high = min(0.0, PILE * self.objective), max(0.0, (PILE - 1) * self.objective)
        return {"player": (low, PILE + high)}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of the total payoff; both players get at most 19 points together."""
        return {"player": (0.0, (1 + self.objective) * (2 * PILE - 1))}

    def secrets(self, instance: Opening) -> Iterator[ct.rules.Secret]:
        """Yield, for each player, an instance in which only its private values differ."""
        counts, values = instance.context.counts, instance.context.values
        for number, player in enumerate(PLAYERS):
            for context in all_contexts():
                same_partner = context.values[1 - number] == values[1 - number]
                if context.counts == counts and same_partner and context != instance.context:
                    changed = instance.model_copy(update={"context": context})
                    yield ct.rules.Secret(frozenset({player}), self, changed, self._reveals_points)
                    break

    def _reveals_points(self, event: ct.Event) -> bool:
        return isinstance(event, GameOver) and self.objective != 0


def _objection(counts: Triple, turn: int, move: MessageOrProposal) -> str | None:
    if move.claim is None:
        return None
    if turn == 1:
        return "nothing has been said yet: begin by discussing how to divide the items"
    return _beyond_the_pool(counts, move)


def _claims(counts: Triple, **more: None) -> list[ct.rules.Schema]:
    ranges = {kind: range(count + 1) for kind, count in zip(KINDS, counts, strict=True)}
    return [alternative(ranges, **more)]


def _moves(counts: Triple, turn: int) -> list[ct.rules.Schema]:
    message = alternative(dict.fromkeys(KINDS), message={})
    return [message] if turn == 1 else [message, *_claims(counts, message=None)]


def _beyond_the_pool(counts: Triple, proposal: Move) -> str | None:
    for kind, claimed, count in zip(KINDS, proposal.claim or (), counts, strict=True):
        if not 0 <= claimed <= count:
            available = "is only 1" if count == 1 else f"are only {count}"
            return f"{claimed} {kind} cannot be claimed: there {available}"
    return None


def _division(instance: Opening, moves: list[Move], failed: str | None) -> Division:
    """Return the outcome after a list of moves; ``failed`` is the player who aborted the game."""
    context, order = instance.context, instance.order
    claims = {order[index % 2]: move.claim for index, move in enumerate(moves) if move.claim}
    first, second = (claims.get(player) for player in PLAYERS)
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
