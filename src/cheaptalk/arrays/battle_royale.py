"""Battle royale as array functions; see :class:`.BattleRoyale`."""

from collections.abc import Sequence
from typing import NamedTuple

from cheaptalk.arrays.games import Array, ArrayGame, NotArrayed, namespace, one_hot, own
from cheaptalk.arrays.luck import picked
from cheaptalk.games.battle_royale.events import Shot, ShotFired
from cheaptalk.games.battle_royale.rules import BattleRoyale, Hits
from cheaptalk.games.extras import needed
from cheaptalk.games.places import place_named
from cheaptalk.rules import Action, Asked, Chance, Deal

np = needed("numpy")

MISS = 0
"""To miss on purpose; other actions are the players, counted from 1, to shoot at."""
HIT, PAST = 0.0, 1.0
"""Lots of shots whose luck was known before play."""


class Shootout(NamedTuple):
    """Matches of battle royale.

    Attributes:
        lots: a shot hits where its number is below the shooter's rate, shape (..., rounds,
            players).
        living: who is left, shape (..., players).
        shots: the actions so far, shape (..., rounds).
        hits: which of them hit, shape (..., rounds).
        last: who shot last, -1 at first; shape (...).
        idle: rounds in a row without a shot at a living player; shape (...).
        moves: rounds so far; shape (...).
    """

    lots: Array
    living: Array
    shots: Array
    hits: Array
    last: Array
    idle: Array
    moves: Array


class BattleRoyaleArrays(ArrayGame[BattleRoyale, Shootout]):
    """Battle royale with a last round, many matches at once."""

    def __init__(self, rules: BattleRoyale) -> None:
        super().__init__(rules)
        if rules.horizon is None:
            raise NotArrayed(
                "battle_royale has no last round without a horizon; arrays play it with one, such "
                "as horizon: 30"
            )
        self.players = tuple(rules.places)
        self.count = len(self.players)
        self.actions = 1 + self.count
        self.longest = self.luck = rules.horizon.rounds
        self.pieces = {
            "player": self.count, "round": self.longest, "living": self.count,
            "targets": self.longest * self.count, "hits": self.longest,
        }  # fmt: skip

    # Deals

    def deal(self, luck: Array) -> Shootout:
        xp = namespace(luck)
        return self._begun(xp.broadcast_to(luck[..., None], (*luck.shape, self.count)))

    def of_deals(self, deals: Sequence[Deal]) -> Shootout:
        lots = np.full((len(deals), self.longest, self.count), np.nan)
        for row, deal in zip(lots, deals, strict=True):
            known = deal.hits[: self.longest] if isinstance(deal, Hits) else ()
            for number, hit in enumerate(known):
                if hit is not None:
                    row[number] = HIT if hit else PAST
        chances = [Chance("arrays", number) for number in range(len(deals))]
        return self.with_chances(self._begun(lots), chances)

    def with_chances(self, state: Shootout, chances: Sequence[Chance]) -> Shootout:
        lots = [
            [[one("hit", number + 1, shooter).uniform() for shooter in self.players]
             for number in range(self.longest)]
            for one in chances
        ]  # fmt: skip
        known = (state.lots == HIT) | (state.lots == PAST)
        return state._replace(lots=np.where(known, state.lots, np.array(lots)))

    def _begun(self, lots: Array) -> Shootout:
        xp, shape = namespace(lots), lots.shape[:-2]
        none, nothing = xp.zeros(shape, np.int32), xp.zeros((*shape, self.longest), np.int32)
        living = xp.ones((*shape, self.count), bool)
        return Shootout(lots, living, nothing, nothing != MISS, none - 1, none, none)

    def every_deal(self) -> tuple[list[Deal], list[float]]:
        raise NotArrayed("battle_royale has no list of deals, as luck decides in play")

    def deals_of(self, state: Shootout) -> list[Deal]:
        """Deals that say which shots' luck was known before play."""
        found: list[Deal] = []
        for lots in np.asarray(state.lots):
            hits = [True if (row == HIT).all() else False if (row == PAST).all() else None
                    for row in lots]  # fmt: skip
            while hits and hits[-1] is None:
                hits.pop()
            found.append(Hits(hits=tuple(hits)))
        return found

    # Moves

    def turn(self, state: Shootout) -> Array:
        xp = namespace(state.moves)
        behind = (xp.arange(self.count) - state.last[..., None] - 1) % self.count
        return xp.where(state.living, behind, self.count).argmin(axis=-1).astype(np.int32)

    def over(self, state: Shootout) -> Array:
        idle = state.idle >= self.rules.idle_rounds
        return idle | (state.moves == self.longest) | (state.living.sum(axis=-1) < 2)

    def _possible(self, state: Shootout) -> Array:
        """Whether each action is possible while a match goes on; shape (..., actions)."""
        xp = namespace(state.moves)
        others = xp.arange(self.count) != self.turn(state)[..., None]
        targets = (others & state.living) | (not self.rules.strict_targets)
        return xp.concatenate([xp.ones_like(targets[..., :1]), targets], axis=-1)

    def permitted(self, state: Shootout, number: Array) -> Array:
        xp, possible = namespace(state.moves), self._possible(state)
        number = xp.broadcast_to(number, (*state.moves.shape, number.shape[-1]))
        return xp.take_along_axis(possible, number, axis=-1) & ~self.over(state)[..., None]

    def drawn(self, state: Shootout, luck: Array) -> Array:
        return picked(self._possible(state), luck).astype(np.int32)

    def moved(self, state: Shootout, action: Array, moves: Array) -> Shootout:
        xp, shooter = namespace(state.moves), self.turn(state)
        here = (xp.arange(self.longest) == state.moves[..., None]) & moves[..., None]
        target = xp.arange(self.count) == (action - 1)[..., None]
        aimed = (target & state.living).any(axis=-1) & moves
        now = own(state.lots, xp.minimum(state.moves, self.longest - 1))
        hit = aimed & (own(now, shooter) < xp.asarray(self.rules.hit_rates)[shooter])
        return state._replace(
            living=state.living & ~(target & hit[..., None]),
            shots=xp.where(here, action.astype(np.int32)[..., None], state.shots),
            hits=xp.where(here, hit[..., None], state.hits),
            last=xp.where(moves, shooter, state.last),
            idle=xp.where(moves, xp.where(aimed, 0, state.idle + 1), state.idle),
            moves=state.moves + moves,
        )

    def returns(self, state: Shootout) -> Array:
        alone = state.living & (state.living.sum(axis=-1, keepdims=True) == 1)
        return alone * 1.0

    def scale(self, state: Shootout) -> Array:
        """The one win that there is."""
        return namespace(state.moves).ones(state.living.shape, np.float32)

    # What players know

    def observe(self, state: Shootout, player: Array) -> Array:
        xp = namespace(state.moves)
        player = xp.broadcast_to(xp.asarray(player), state.moves.shape)
        pieces = [  # who shot follows from who lived
            one_hot(xp, player, self.count), one_hot(xp, state.moves, self.longest), state.living,
            one_hot(xp, state.shots - 1, self.count).reshape(*state.moves.shape, -1), state.hits,
        ]  # fmt: skip
        return xp.concatenate([piece.astype(np.float32) for piece in pieces], axis=-1)

    def position(self, asked: Asked) -> Shootout:
        shots, hits = np.zeros(self.longest, np.int32), np.zeros(self.longest, bool)
        for event, _ in asked.heard:
            if isinstance(event, ShotFired):
                target = event.target
                shots[event.round - 1] = MISS if target is None else self._aim(target)
                hits[event.round - 1] = event.hit
        left = [name for name, _ in asked.event.living]
        living = np.array([name in left for name in self.players])
        return Shootout(
            lots=np.zeros((self.longest, self.count)), living=living, shots=shots, hits=hits,
            last=np.array(self.place_number(asked) - 1), idle=np.array(0),
            moves=np.array(asked.event.round - 1),
        )  # fmt: skip

    def _aim(self, target: str) -> int:
        """The action that shoots at a player."""
        return 1 + self.players.index(target)

    def action(self, asked: Asked, number: int) -> Action:
        if number == MISS:
            return Shot(action="miss")
        return Shot(action="shoot", target=self.players[number - 1])

    def number(self, asked: Asked, action: Action) -> int:
        assert isinstance(action, Shot)
        place = None if action.target is None else place_named(self.rules, action.target)
        return MISS if place is None else self._aim(place)
