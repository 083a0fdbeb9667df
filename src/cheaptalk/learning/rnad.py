"""Regularised Nash dynamics, whole matches at a time, compiled from end to end.

Players pay for leaving an anchor, a policy of the past, and so learning settles where it would
circle else; the anchor then moves to where they settled, and so on, until nothing pulls (Perolat
and others 2021; 2022, on DeepNash). The policy that is learned last is itself the answer, and no
average of all that was played. In a loop, a learner step of the papers, matches are played with the
policy as it is, v-trace says what decisions were worth, and NeuRD moves the policy's logits there.
All seats share a network, whose observation says where one sits; what the paper leaves open is a
setting here, with our choice explained.
"""

from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import Field, model_validator

from cheaptalk.arrays.games import ArrayGame
from cheaptalk.games.extras import needed
from cheaptalk.learning.acting import Played, by_lot, likeliest, picked, play, rows_of
from cheaptalk.learning.algorithms import Settings, Training
from cheaptalk.learning.networks import Actor, Array, jax, jnp, masked, nnx, optax
from cheaptalk.learning.rounding import AS_IT_IS, Rounding

np = needed("numpy")

LEAST = 384
"""Steps of matches that are worth a size of an update of their own: matches that end early leave
less to learn from, and less is then computed."""


class RNaDSettings(Settings):
    """Settings of a training. Those of the appendix are marked with its letter, H; they are the
    same for BG4 to BG6."""

    matches: int = Field(default=256, ge=1)
    """Matches of a loop, which is a learner step (batch_size; H)."""
    hidden: int = Field(default=256, ge=1)
    """Width of the network's layers (H)."""
    rate: float = Field(default=5e-5, gt=0)
    """Learning rate, by Adam (H)."""
    first_moment: float = Field(default=0.9, ge=0, lt=1)
    """How slowly Adam forgets slopes (beta 1; H)."""
    second_moment: float = Field(default=0.999, ge=0, lt=1)
    """How slowly Adam forgets their squares (beta 2; H)."""
    epsilon: float = Field(default=1e-8, gt=0)
    """What Adam adds to their root (H)."""
    clip: float = Field(default=1.0, gt=0)
    """Length of a gradient beyond which it is shortened, before Adam (clip_gradient; H). H does not
    say whether it is the length or each entry, before or after; rare actions make long ones, and
    shortened as a whole these keep their direction."""
    averaging: float = Field(default=0.01, gt=0, le=1)
    """Share of the newest weights in the slow average (target_network_avg; H), which is what the
    anchors are made of and what is played at tables."""
    sizes: tuple[int, ...] = Field(default=(5_000, 10_000, 20_000), min_length=1)
    """Learner steps for which an anchor stays (delta_m; H)."""
    repeats: tuple[int, ...] = Field(default=(1, 2, 1), min_length=1)
    """How many anchors stay so long (H). The last size is for all that follow, however many."""
    eta: float = Field(default=0.2, ge=0)
    """What a player pays for leaving the anchor, for each nat (H), in shares of the game's scale.
    H does not say what rewards are measured in, without which it means nothing: to us, in shares
    of what a player's own pool is worth, as for neural fictitious self-play."""
    opposed: bool = True
    """Whether what a player pays the others get, as published for games of pure conflict. H does
    not say what was done in bargaining, where each could pay for itself alone."""
    beta: float = Field(default=2.0, gt=0)
    """How far from the mean of its decision's logits a logit is pushed at most (NeuRD beta; H)."""
    force: float = Field(default=150.0, gt=0)
    """The largest advantage that pushes a logit (NeuRD clip; H), in shares of the scale."""
    exploration: float = Field(default=0.0, ge=0, lt=1)
    """With what probability a player takes any legal action all through a match, so that what the
    policy would not do is known, too; v-trace takes it out again. H has none."""
    c: float = Field(default=1.0, gt=0)
    """Bound of the weights by which v-trace hands back what comes later (H)."""
    rho: float | None = Field(default=None, gt=0)
    """Bound of the weights of what is aimed at; none where it is None, as DeepNash has it. While
    the policy learns from its own matches alone all weights are 1 and it changes nothing."""
    fine_tune: int | None = Field(default=800_000, ge=0)
    """Learner steps after which probabilities are rounded: where decisions are weighed, and of the
    policy that is written (H). With None the latter alone are, from the beginning."""
    threshold: float = Field(default=0.03, ge=0, lt=1)
    """What is less likely is then left out (policy_threshold; H)."""
    bins: int = Field(default=32, ge=0)
    """Probabilities are then multiples of one over this; 0 for any (policy_discretization; H)."""
    seed: int = 42
    """All luck of a training comes from it (H)."""

    @model_validator(mode="after")
    def _as_many(self) -> "RNaDSettings":
        if len(self.sizes) != len(self.repeats) or min(*self.sizes, *self.repeats) < 1:
            raise ValueError("sizes and repeats must be as many, and 1 or more each")
        return self


class Learned(NamedTuple):
    """A training as it stands: all that is needed to go on with it.

    Attributes:
        weights: what is learned, of policy and values.
        target: their slow average.
        anchor, before: the policies that it costs to leave: this one and the one before it.
        steps: of the optimiser.
        key: of all luck to come.
        loops: that were done.
    """

    weights: Any
    target: Any
    anchor: Any
    before: Any
    steps: Any
    key: Array
    loops: Array


class Decisions(NamedTuple):
    """Decisions that players took.

    Attributes:
        seen, legal, action: what the player knew, could do and did.
        acted: how likely it was to do that.
        counts: what share of a loss it has: decisions of a player make up 1; 0 where none was.
    """

    seen: Array
    legal: Array
    action: Array
    acted: Array
    counts: Array


class Course(NamedTuple):
    """What v-trace goes by, for each step of each match; shape (steps, matches).

    Attributes:
        own: whose turn it was, if there was such a step; shape (steps, matches, players).
        rewards: what players got after it; shape (steps, matches, players).
        ratio: how likely the action is now, divided by how likely it was when it was taken.
        value: what its player is thought to get from there on.
        paid: what its player pays there for leaving the anchor, in expectation.
    """

    own: Array
    rewards: Array
    ratio: Array
    value: Array
    paid: Array


class Ahead(NamedTuple):
    """What v-trace has found from a step on, for each player; shape (matches, players).

    Attributes:
        weight: of the steps of others since then, all their ratios.
        got, weighed: what it got on these, as it was and by their weights.
        aim: what its next decision is worth.
        value: what that was thought to be worth.
    """

    weight: Array
    got: Array
    weighed: Array
    aim: Array
    value: Array


class RNaD(Training[RNaDSettings, Learned]):
    """A training of a game.

    Args:
        game: what is played.
        settings: see :class:`RNaDSettings`.
    """

    name = "rnad"
    options = RNaDSettings
    metrics = MappingProxyType({
        "value_loss": "mean squared error of values against v-trace, in shares of the scale; the "
        "players' are added",
        "policy_loss": "what NeuRD descends: pushes times logits, which says nothing by its height",
        "entropy": "of the policy's decisions, in nats",
        "divergence": "of the policy from the anchor, in nats: near 0 where learning has settled",
        "gradient": "length of the gradient before it is shortened",
        "length": "decisions in a match",
    })  # fmt: skip

    def __init__(self, game: ArrayGame[Any, Any], settings: RNaDSettings) -> None:
        super().__init__(game, settings)
        self.graph = nnx.split(self._network(0))[0]
        adam = optax.adam(
            settings.rate, settings.first_moment, settings.second_moment, settings.epsilon
        )
        self.steps = optax.chain(optax.clip_by_global_norm(settings.clip), adam)
        self.rounded = Rounding(settings.threshold, settings.bins)

    def _network(self, seed: Any) -> Actor:
        return Actor(self.game.observed, self.settings.hidden, self.game.actions, seed)

    def begin(self) -> Learned:
        first, luck = jax.random.split(jax.random.key(self.settings.seed))
        weights = nnx.split(self._network(first))[1]
        steps = self.steps.init(weights)
        return Learned(weights, weights, weights, weights, steps, luck, jnp.zeros((), jnp.int32))

    def weights(self, learned: Learned) -> Any:
        found = nnx.to_flat_state(learned.target)
        return nnx.from_flat_state([(path, one) for path, one in found if path[0] != "value"])

    def rounding(self, learned: Learned) -> Rounding:
        after = self.settings.fine_tune
        return self.rounded if after is None or int(learned.loops) >= after else AS_IT_IS

    def probabilities(self, learned: Learned, seen: Any, legal: Any) -> Any:
        """What the policy does that is learned, not rounded; shape (..., actions)."""
        logits = self._net(learned.target)(jnp.asarray(seen))
        return jax.nn.softmax(masked(logits, jnp.asarray(legal)), axis=-1)

    def _net(self, weights: Any) -> Actor:
        found: Actor = nnx.merge(self.graph, weights)
        return found

    # One loop

    def _loop(self, learned: Learned) -> tuple[Learned, Array]:
        """Play matches, and learn from them."""
        key, dealt, acted = jax.random.split(learned.key, 3)
        luck = jax.random.uniform(dealt, (self.settings.matches, self.game.luck))
        explores = jax.random.bernoulli(
            jax.random.fold_in(acted, 0), self.settings.exploration,
            (self.settings.matches, len(self.game.players)),
        )  # fmt: skip
        played = play(self.game, luck, partial(self._act, learned.weights, explores), acted)
        slope, told = self._slope(learned, played)
        change, steps = self.steps.update(slope, learned.steps)
        weights = optax.apply_updates(learned.weights, change)
        share = self.settings.averaging
        target = jax.tree.map(lambda old, new: old + share * (new - old), learned.target, weights)
        since, size = self._inner(learned.loops)
        ends = since == size - 1
        anchor, before = (
            jax.tree.map(partial(jnp.where, ends), new, old)
            for new, old in ((target, learned.anchor), (learned.anchor, learned.before))
        )
        length = jnp.sqrt(sum((one**2).sum() for one in jax.tree.leaves(slope)))
        more = jnp.stack([length, played.here.sum(axis=0).mean()])
        told = jnp.concatenate([told, more, played.returns.mean(axis=0)])
        return Learned(weights, target, anchor, before, steps, key, learned.loops + 1), told

    def _inner(self, loops: Array) -> tuple[Array, Array]:
        """Loops since the anchor was set, and for how many it stays."""
        sizes = np.repeat(self.settings.sizes, self.settings.repeats)
        begins = jnp.asarray(np.cumsum([0, *sizes[:-1]]))
        at = jnp.searchsorted(begins, loops, side="right") - 1
        size = jnp.asarray(sizes)[at]
        return (loops - begins[at]) % size, size

    def _act(
        self, weights: Any, explores: Array, player: Array, seen: Array, legal: Array, key: Array
    ) -> tuple[Array, Array]:
        """An action each, and how likely it was.

        Args:
            explores: which players take any action; shape (matches, players).
        """
        logits = jnp.where(picked(explores, player)[:, None], 0.0, self._net(weights)(seen))
        shares = jax.nn.softmax(masked(logits, legal), axis=-1)
        action = by_lot(shares, jax.random.uniform(key, player.shape))
        return action, picked(shares, action)

    def _slope(self, learned: Learned, played: Played) -> tuple[Any, Array]:
        """The gradient of the loss, and what is told of it.

        Only decisions that there were are looked at: they are put in front, and the smallest part
        that holds them all is taken.
        """
        players = jnp.arange(played.shares.shape[1])
        own = (played.player[..., None] == players) & played.here[..., None]
        counts = (own / jnp.maximum(own.sum(axis=(0, 1)), 1)).sum(axis=-1)
        by_step = Decisions(played.seen, played.legal, played.action, played.more, counts)
        rows, here = rows_of((by_step, played.here))
        in_front = jnp.argsort(~here, stable=True)

        def branch(size: int, weights: Any) -> tuple[Any, Array]:
            at = in_front[:size]
            some = jax.tree.map(lambda one: one[at], rows)
            loss = partial(self._loss, learned, some, at, own, played.shares)
            found: tuple[Any, Array] = jax.grad(loss, has_aux=True)(weights)
            return found

        parts = max(1, len(here) // LEAST)
        sizes = [-(-len(here) * part // parts) for part in range(1, parts + 1)]
        smallest = jnp.searchsorted(jnp.asarray(sizes), here.sum())
        branches = [partial(branch, size) for size in sizes]
        found: tuple[Any, Array] = jax.lax.switch(smallest, branches, learned.weights)
        return found

    def _loss(
        self, learned: Learned, rows: Decisions, at: Array, own: Array, shares: Array, weights: Any
    ) -> tuple[Array, Array]:
        """The loss of values and policy, and what is told of it.

        Args:
            at: where the decisions are among all steps of all matches.
            own: whose turn it was at each step.
            shares: what players got in each match.
        """
        logits, value = self._net(weights).both(rows.seen)
        found = jax.lax.stop_gradient(jax.nn.log_softmax(masked(logits, rows.legal)))
        leaves = jnp.where(rows.legal, found - self._anchor(learned, rows), 0.0)
        aim, worth = self._worth(learned, rows, at, own, shares, jnp.exp(found), leaves)
        pushed = self.pushed(jax.lax.stop_gradient(logits), worth, rows.legal)
        policy_loss = -(rows.counts * (pushed * _centred(logits, rows.legal)).sum(axis=-1)).sum()
        value_loss = (rows.counts * (value - aim) ** 2).sum()
        there = rows.counts > 0
        entropy, divergence = (
            (jnp.where(rows.legal, jnp.exp(found) * one, 0.0).sum(axis=-1) * there).sum()
            / there.sum()
            for one in (-found, leaves)
        )
        told = jnp.stack([value_loss, policy_loss, entropy, divergence])
        return value_loss + policy_loss, told

    def _anchor(self, learned: Learned, rows: Decisions) -> Array:
        """Logarithms of the anchor's probabilities; shape (decisions, actions).

        In the first half of its time it is mixed with the one before it, less and less.
        """
        since, size = self._inner(learned.loops)
        share = jnp.minimum(1.0, 2 * since / size)

        def of(weights: Any) -> Array:
            return jax.nn.log_softmax(masked(self._net(weights)(rows.seen), rows.legal))

        def mixed(now: Array) -> Array:
            return share * now + (1 - share) * of(learned.before)

        found: Array = jax.lax.cond(share < 1, mixed, lambda now: now, of(learned.anchor))
        return found

    def _worth(
        self, learned: Learned, rows: Decisions, at: Array, own: Array, shares: Array, now: Array,
        leaves: Array,
    ) -> tuple[Array, Array]:  # fmt: skip
        """What decisions are worth to their players, and each of their actions, by v-trace.

        Args:
            now: how likely actions are; shape (decisions, actions).
            leaves: how far each leaves the anchor, in nats; shape (decisions, actions).
        """

        def spread(numbers: Array) -> Array:
            return jnp.zeros(own.shape[0] * own.shape[1]).at[at].set(numbers).reshape(own.shape[:2])

        value, eta = self._net(learned.target).worth(rows.seen), self.settings.eta
        after = self.settings.fine_tune
        tuned = after is not None and learned.loops >= after
        settled = jax.lax.cond(
            tuned, lambda one: self.rounded(one, likeliest), lambda one: one, now
        )
        ratio = picked(settled, rows.action) / rows.acted
        here = own.any(axis=-1)
        goes_on = jnp.concatenate([here[1:], jnp.zeros_like(here[:1])])
        rewards = (here & ~goes_on)[..., None] * shares
        paid = eta * (settled * leaves).sum(axis=-1)
        aim, more = self.traced(Course(own, rewards, *map(spread, (ratio, value, paid))))
        taken = jnp.arange(self.game.actions) == rows.action[:, None]
        known = taken * (more.reshape(-1)[at] / rows.acted)[:, None]
        return aim.reshape(-1)[at], value[:, None] - eta * leaves + known

    def traced(self, course: Course) -> tuple[Array, Array]:
        """What decisions are worth by v-trace, looked for from the end (Espeholt and others 2018).

        To a player the steps of others are luck: what it gets on them comes to its own decision
        before, weighed by how much likelier they have become.

        Returns:
            what values aim at, and by how much what came after the action exceeds the value;
            shape (steps, matches) both.
        """
        rho, c = self.settings.rho or jnp.inf, self.settings.c
        nothing = jnp.zeros(course.own.shape[1:])

        def back(ahead: Ahead, step: Course) -> tuple[Ahead, tuple[Array, Array]]:
            ratio, value, paid = (one[:, None] for one in step[2:])
            weight = ratio * ahead.weight
            more = step.rewards + ahead.weighed + ahead.weight * ahead.aim - value
            aim = value + jnp.minimum(rho, weight) * (
                step.rewards + ahead.got - paid + ahead.value - value
            )
            aim += jnp.minimum(c, weight) * (ahead.aim - ahead.value)
            gift = paid if self.settings.opposed else 0.0
            by_others = Ahead(
                weight, gift + step.rewards + ahead.got,
                gift + ratio * (step.rewards + ahead.weighed), ahead.aim, ahead.value,
            )  # fmt: skip
            after = Ahead(nothing + 1, nothing, nothing, aim, nothing + value)
            here = step.own.any(axis=-1, keepdims=True)
            kept = jax.tree.map(
                lambda mine, others, none: jnp.where(
                    step.own, mine, jnp.where(here, others, none)
                ),
                after, by_others, ahead,
            )  # fmt: skip
            own = jnp.where(step.own, jnp.stack([aim, more]), 0.0).sum(axis=-1)
            return kept, (own[0], own[1])

        none = Ahead(nothing + 1, nothing, nothing, nothing, nothing)
        found: tuple[Array, Array] = jax.lax.scan(back, none, course, reverse=True)[1]
        return found

    def pushed(self, logits: Array, worth: Array, legal: Array) -> Array:
        """How much NeuRD pushes logits, up or down (Hennes and others 2020); 0 of illegal actions.

        That is by how much an action is worth more than the policy; nothing is pushed further from
        the mean than ``beta``.
        """
        now = jax.nn.softmax(masked(logits, legal))
        better = worth - (now * worth).sum(axis=-1, keepdims=True)
        force = jnp.clip(better, -self.settings.force, self.settings.force)
        centred = _centred(logits, legal)
        free = jnp.where(force > 0, centred < self.settings.beta, centred > -self.settings.beta)
        return jnp.where(legal & free, force, 0.0)


def _centred(logits: Array, legal: Array) -> Array:
    """Logits less the mean of the legal ones."""
    mean = (logits * legal).sum(axis=-1, keepdims=True) / jnp.maximum(
        legal.sum(axis=-1, keepdims=True), 1
    )
    return logits - mean
