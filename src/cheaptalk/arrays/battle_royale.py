"""Battle royale as an array game, which plays many matches at once."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cheaptalk.arrays.chance import pick
from cheaptalk.arrays.games import Array, ArrayGame, NoArrayGame, entry_at, namespace, one_hot
from cheaptalk.games.battle_royale.rules import BattleRoyale, Hits, Shot, ShotFired
from cheaptalk.games.extras import needed
from cheaptalk.games.seat_names import find_seat
from cheaptalk.rules import Action, Chance, DecisionRequest, Instance
from cheaptalk.rules.errors import expect

np = needed("numpy")

MISS = 0
"""The action that misses on purpose; action n shoots at the player with number n, from 1."""
HIT, PAST = 0.0, 1.0
"""Random numbers that force a hit or a miss, for shots with a result in the instance."""


class Shootout(NamedTuple):
    """States of battle royale.

    Attributes:
        lots: random numbers, shape (..., rounds, players); a shot hits if its number is below the
            shooter's hit rate.
        living: whether each player is alive, shape (..., players).
        shots, hits: the actions so far, and whether each shot hit, shape (..., rounds).
        last: the last shooter, -1 before the first shot; shape (...).
        idle: the number of consecutive rounds without a shot at a living player; shape (...).
        moves: the number of rounds so far; shape (...).
    """

    lots: Array
    living: Array
    shots: Array
    hits: Array
    last: Array
    idle: Array
    moves: Array


class BattleRoyaleArrays(ArrayGame[BattleRoyale, Shootout]):
    """Battle royale as an array game, which requires a limit on the number of rounds."""

    def __init__(self, rules: BattleRoyale) -> None:
        super().__init__(rules)
        if rules.horizon is None:
            raise NoArrayGame(
                "the array game of battle_royale needs a last round; set a horizon, such as "
                "horizon: 30"
            )
        self.actions = 1 + self.count
        self.longest = self.uniforms = rules.horizon.rounds

    # Instances

    def draw_instance(self, uniforms: Array) -> Shootout:
        xp = namespace(uniforms)
        return self._begun(xp.broadcast_to(uniforms[..., None], (*uniforms.shape, self.count)))

    def from_instances(self, instances: Sequence[Instance]) -> Shootout:
        lots = np.full((len(instances), self.longest, self.count), np.nan)
        for row, instance in zip(lots, instances, strict=True):
            recorded = instance.hits[: self.longest] if isinstance(instance, Hits) else ()
            for number, hit in enumerate(recorded):
                if hit is not None:
                    row[number] = HIT if hit else PAST
        chances = [Chance("arrays", number) for number in range(len(instances))]
        return self.with_chances(self._begun(lots), chances)

    def with_chances(self, state: Shootout, chances: Sequence[Chance]) -> Shootout:
        lots = [
            [
                [chance("hit", number + 1, shooter).uniform() for shooter in self.players]
                for number in range(self.longest)
            ]
            for chance in chances
        ]
        recorded = (state.lots == HIT) | (state.lots == PAST)
        return state._replace(lots=np.where(recorded, state.lots, np.array(lots)))

    def _begun(self, lots: Array) -> Shootout:
        xp, shape = namespace(lots), lots.shape[:-2]
        none, nothing = xp.zeros(shape, np.int32), xp.zeros((*shape, self.longest), np.int32)
        living = xp.ones((*shape, self.count), bool)
        return Shootout(lots, living, nothing, nothing != MISS, none - 1, none, none)

    def instances_of(self, state: Shootout) -> list[Instance]:
        """Return instances that contain the predetermined results of shots."""
        instances: list[Instance] = []
        for lots in np.asarray(state.lots):
            hits = [
                True if (row == HIT).all() else False if (row == PAST).all() else None
                for row in lots
            ]
            while hits and hits[-1] is None:
                hits.pop()
            instances.append(Hits(hits=tuple(hits)))
        return instances

    # Moves

    def turn(self, state: Shootout) -> Array:
        xp = namespace(state.moves)
        behind = (xp.arange(self.count) - state.last[..., None] - 1) % self.count
        return xp.where(state.living, behind, self.count).argmin(axis=-1).astype(np.int32)

    def over(self, state: Shootout) -> Array:
        idle = state.idle >= self.rules.idle_rounds
        return idle | (state.moves == self.longest) | (state.living.sum(axis=-1) < 2)

    def _options(self, state: Shootout) -> Array:
        """Return whether each action is possible in a running match; shape (..., actions)."""
        xp = namespace(state.moves)
        opponents = xp.arange(self.count) != self.turn(state)[..., None]
        targets = (opponents & state.living) | (not self.rules.strict_targets)
        return xp.concatenate([xp.ones_like(targets[..., :1]), targets], axis=-1)

    def possible(self, state: Shootout, number: Array) -> Array:
        xp = namespace(state.moves)
        number = xp.broadcast_to(number, (*state.moves.shape, number.shape[-1]))
        return xp.take_along_axis(self._options(state), number, axis=-1)

    def random_action(self, state: Shootout, uniforms: Array) -> Array:
        return pick(self._options(state), uniforms).astype(np.int32)

    def moved(self, state: Shootout, action: Array, moves: Array) -> Shootout:
        xp, shooter = namespace(state.moves), self.turn(state)
        mask = (xp.arange(self.longest) == state.moves[..., None]) & moves[..., None]
        target = xp.arange(self.count) == (action - 1)[..., None]
        aimed = (target & state.living).any(axis=-1) & moves
        lots = entry_at(state.lots, xp.minimum(state.moves, self.longest - 1))
        hit = aimed & (entry_at(lots, shooter) < xp.asarray(self.rules.hit_rates)[shooter])
        return state._replace(
            living=state.living & ~(target & hit[..., None]),
            shots=xp.where(mask, action.astype(np.int32)[..., None], state.shots),
            hits=xp.where(mask, hit[..., None], state.hits),
            last=xp.where(moves, shooter, state.last),
            idle=xp.where(moves, xp.where(aimed, 0, state.idle + 1), state.idle),
            moves=state.moves + moves,
        )

    def payoffs(self, state: Shootout) -> Array:
        return (state.living & (state.living.sum(axis=-1, keepdims=True) == 1)) * 1.0

    # Observations

    def observation(self, state: Shootout, player: Array) -> Mapping[str, Array]:
        xp = namespace(state.moves)
        return {  # the shooters follow from the living players
            "round": one_hot(xp, state.moves, self.longest),
            "living": state.living,
            "targets": one_hot(xp, state.shots - 1, self.count),
            "hits": state.hits,
        }

    def position(self, request: DecisionRequest) -> Shootout:
        shots, hits = np.zeros(self.longest, np.int32), np.zeros(self.longest, bool)
        for event, _ in request.heard:
            if isinstance(event, ShotFired):
                shots[event.round - 1] = self._aim(event.target)
                hits[event.round - 1] = event.hit
        alive = [name for name, _ in request.event.living]
        living = np.array([name in alive for name in self.players])
        return Shootout(
            lots=np.zeros((self.longest, self.count)),
            living=living,
            shots=shots,
            hits=hits,
            last=np.array(self.player_index(request) - 1),
            idle=np.array(0),
            moves=np.array(request.event.round - 1),
        )

    def _aim(self, target: str | None) -> int:
        """Return the action that shoots at a player, or misses."""
        return MISS if target is None else 1 + self.players.index(target)

    def action(self, request: DecisionRequest, number: int) -> Action:
        if number == MISS:
            return Shot(action="miss")
        return Shot(action="shoot", target=self.players[number - 1])

    def number(self, request: DecisionRequest, action: Action) -> int:
        action = expect(action, Shot, "a Shot")
        return self._aim(None if action.target is None else find_seat(self.rules, action.target))
