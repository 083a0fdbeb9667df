"""Regularised Nash dynamics on batches of complete matches, compiled end to end.

Players pay for deviating from an anchor, a past policy, so that learning converges instead of
cycling; the anchor then moves to the new policy, and so on until nothing changes (Perolat and
others 2021; 2022, on DeepNash). The result is the last policy, not an average. In each loop (a
learner step in the papers), matches are played with the current policy, v-trace estimates the value
of decisions, and NeuRD updates the policy's logits. All seats share a network; the observation
includes the seat. Choices that the paper leaves open are settings, with an explanation.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from pydantic import Field, model_validator

from cheaptalk.arrays.games import ArrayGame
from cheaptalk.games.extras import needed
from cheaptalk.learning.acting import Choose, Played, by_lot, likeliest, picked, rows_of
from cheaptalk.learning.algorithms import BatchTraining, Settings
from cheaptalk.learning.networks import Actor, Array, jax, jnp, masked, nnx, optax
from cheaptalk.learning.rounding import AS_IT_IS, Rounding

np = needed("numpy")

MIN_ROWS = 384
"""Minimum difference in rows between two compiled update sizes. Matches that end early need smaller
updates, so several sizes are compiled."""


METRICS = {
    "value_loss": "mean squared error of values against v-trace targets, in squared shares of "
    "the scale, summed over players",
    "policy_loss": "NeuRD's loss, pushes times logits; its level has no meaning",
    "entropy": "entropy of the policy's decisions, in nats",
    "divergence": "divergence of the policy from the anchor, in nats; near 0 at convergence",
    "gradient": "norm of the gradient before clipping",
    "length": "decisions per match",
}
"""The metrics of a training, with their descriptions."""


class RNaDSettings(Settings):
    """Settings of regularised Nash dynamics; (H) marks values from the paper's appendix H.

    The appendix has the same values for BG4 to BG6.
    """

    matches: int = Field(default=256, ge=1)
    """Matches per loop, which is a learner step (batch_size; H)."""
    hidden: int = Field(default=256, ge=1)
    """Width of the hidden layers (H)."""
    rate: float = Field(default=5e-5, gt=0)
    """Adam's learning rate (H)."""
    first_moment: float = Field(default=0.9, ge=0, lt=1)
    """Adam's decay rate of gradients (beta 1; H)."""
    second_moment: float = Field(default=0.999, ge=0, lt=1)
    """Adam's decay rate of squared gradients (beta 2; H)."""
    epsilon: float = Field(default=1e-8, gt=0)
    """Adam's constant for numerical stability (H)."""
    clip: float = Field(default=1.0, gt=0)
    """Maximum norm of the gradient, applied before Adam (clip_gradient; H). H does not say whether
    the norm or each entry is clipped, or when; clipping the norm preserves the gradient's
    direction, which matters because rare actions give large gradients."""
    averaging: float = Field(default=0.01, gt=0, le=1)
    """Weight of the newest weights in their moving average (target_network_avg; H), which provides
    the anchors and the policy that is saved."""
    sizes: tuple[int, ...] = Field(default=(5_000, 10_000, 20_000), min_length=1)
    """Learner steps between changes of the anchor (delta_m; H)."""
    repeats: tuple[int, ...] = Field(default=(1, 2, 1), min_length=1)
    """Number of anchors for each of ``sizes`` (H). The last size applies to all later anchors."""
    eta: float = Field(default=0.2, ge=0)
    """Cost per nat of deviating from the anchor (H), in shares of the game's scale. H doesn't give
    the unit of rewards; here it is the value of a player's own pool, as in neural fictitious
    self-play."""
    opposed: bool = True
    """Whether the other players receive what a player pays, as published for zero-sum games. H
    doesn't say whether they do in bargaining."""
    beta: float = Field(default=2.0, gt=0)
    """Maximum distance of a pushed logit from its decision's mean logit (NeuRD beta; H)."""
    force: float = Field(default=150.0, gt=0)
    """Maximum advantage that pushes a logit (NeuRD clip; H), in shares of the scale."""
    exploration: float = Field(default=0.0, ge=0, lt=1)
    """Probability that a player acts at random throughout a match, so that the values of rare
    actions are learned; v-trace corrects for it. H has none."""
    c: float = Field(default=1.0, gt=0)
    """Upper bound of v-trace's trace weights (H)."""
    rho: float | None = Field(default=None, gt=0)
    """Upper bound of v-trace's target weights; None for no bound, as in DeepNash. It has no effect
    while the policy learns only from its own matches, because all weights are 1."""
    fine_tune: int | None = Field(default=800_000, ge=0)
    """Learner steps after which probabilities are rounded, both in the updates and in the saved
    policy (H). With None, only the saved policy is rounded, from the start."""
    threshold: float = Field(default=0.03, ge=0, lt=1)
    """Probability below which rounding removes an action (policy_threshold; H)."""
    bins: int = Field(default=32, ge=0)
    """Rounded probabilities are multiples of 1 / ``bins``; 0 for any (policy_discretization; H)."""
    seed: int = 42
    """Seed of all random numbers of a training (H)."""

    @model_validator(mode="after")
    def _same_length(self) -> "RNaDSettings":
        if len(self.sizes) != len(self.repeats) or min(*self.sizes, *self.repeats) < 1:
            raise ValueError(
                "sizes and repeats must have the same length, with values of 1 or more"
            )
        return self


class Learned(NamedTuple):
    """The complete state of a training run with regularised Nash dynamics.

    Attributes:
        target: the moving average of the weights.
        anchor, before: the current anchor and the previous one.
        key: the random key of all later draws.
    """

    weights: Any
    target: Any
    anchor: Any
    before: Any
    steps: Any
    key: Array
    loops: Array


class Decisions(NamedTuple):
    """A batch of decisions, with the probability of the action taken and the weight in the loss.

    The weights (``counts``) of a player's decisions add up to 1; they are 0 for padding.
    """

    seen: Array
    legal: Array
    action: Array
    acted: Array
    counts: Array


class Course(NamedTuple):
    """The inputs of v-trace for each step of each match; shape (steps, matches).

    Attributes:
        own: which player acted, if the step exists; shape (steps, matches, players).
        rewards: the players' rewards after the step; shape (steps, matches, players).
        ratio: the action's current probability divided by the one with which it was taken.
        value: the acting player's estimated payoff.
        paid: the acting player's expected payment for deviating from the anchor.
    """

    own: Array
    rewards: Array
    ratio: Array
    value: Array
    paid: Array


class Ahead(NamedTuple):
    """The state of v-trace's backward scan for each player; shape (matches, players).

    Attributes:
        weight: the product of the ratios of other players' later steps.
        got, weighed: the player's rewards on these steps, unweighted and weighted.
        aim: the target value of the player's next decision.
        value: the estimated value of the player's next decision.
    """

    weight: Array
    got: Array
    weighed: Array
    aim: Array
    value: Array


class RNaD(BatchTraining[RNaDSettings, Learned]):
    """Regularised Nash dynamics on a game."""

    name = "rnad"
    keys = 3
    options = RNaDSettings
    metrics = METRICS

    def __init__(self, game: ArrayGame[Any, Any], settings: RNaDSettings) -> None:
        super().__init__(game, settings)
        moments = settings.first_moment, settings.second_moment
        adam = optax.adam(settings.rate, *moments, settings.epsilon)
        self.steps = optax.chain(optax.clip_by_global_norm(settings.clip), adam)
        self.rounded = Rounding(settings.threshold, settings.bins)

    def _network(self, seed: Any) -> Actor:
        return Actor(self.game.observed, self.settings.hidden, self.game.actions, seed)

    def begin(self) -> Learned:
        first, match_key = jax.random.split(jax.random.key(self.settings.seed))
        weights = nnx.split(self._network(first))[1]
        steps, loops = self.steps.init(weights), jnp.zeros((), jnp.int32)
        return Learned(weights, weights, weights, weights, steps, match_key, loops)

    def _actor(self, learned: Learned) -> Any:
        return learned.target

    def rounding(self, learned: Learned) -> Rounding:
        after = self.settings.fine_tune
        return self.rounded if after is None or int(learned.loops) >= after else AS_IT_IS

    # One loop

    def _choices(self, learned: Learned, keys: Sequence[Array]) -> tuple[Array, Choose, Array]:
        instance_key, play_key = keys
        shape = (self.settings.matches, len(self.game.players))
        explore_key = jax.random.fold_in(play_key, 0)
        explores = jax.random.bernoulli(explore_key, self.settings.exploration, shape)
        return instance_key, partial(self._act, learned.weights, explores), play_key

    def _learn(
        self, learned: Learned, played: Played, keys: Sequence[Array]
    ) -> tuple[Learned, Array]:
        gradient, means = self._slope(learned, played)
        change, steps = self.steps.update(gradient, learned.steps)
        weights = optax.apply_updates(learned.weights, change)
        share = self.settings.averaging
        target = jax.tree.map(lambda old, new: old + share * (new - old), learned.target, weights)
        since, size = self._inner(learned.loops)
        anchor, before = (
            jax.tree.map(partial(jnp.where, since == size - 1), new, old)
            for new, old in ((target, learned.anchor), (learned.anchor, learned.before))
        )
        length = jnp.sqrt(sum((array**2).sum() for array in jax.tree.leaves(gradient)))
        lengths = jnp.stack([length, played.here.sum(axis=0).mean()])
        learned = Learned(weights, target, anchor, before, steps, learned.key, learned.loops)
        return learned, jnp.concatenate([means, lengths])

    def _inner(self, loops: Array) -> tuple[Array, Array]:
        """Return the loops since the anchor policy last changed, and the loops between changes."""
        sizes = np.repeat(self.settings.sizes, self.settings.repeats)
        begins = jnp.asarray(np.cumsum([0, *sizes[:-1]]))
        index = jnp.searchsorted(begins, loops, side="right") - 1
        size = jnp.asarray(sizes)[index]
        return (loops - begins[index]) % size, size

    def _act(
        self, weights: Any, explores: Array, player: Array, seen: Array, legal: Array, key: Array
    ) -> tuple[Array, Array]:
        logits = jnp.where(picked(explores, player)[:, None], 0.0, self._net(weights)(seen))
        shares = jax.nn.softmax(masked(logits, legal), axis=-1)
        action = by_lot(shares, jax.random.uniform(key, player.shape))
        return action, picked(shares, action)

    def _slope(self, learned: Learned, played: Played) -> tuple[Any, Array]:
        """Return the loss's gradient, and the metrics.

        Steps after the end of matches are skipped: actual decisions are sorted to the front, and
        the smallest compiled size that holds them is used.
        """
        players = jnp.arange(played.shares.shape[1])
        own = (played.player[..., None] == players) & played.here[..., None]
        counts = (own / jnp.maximum(own.sum(axis=(0, 1)), 1)).sum(axis=-1)
        by_step = Decisions(played.seen, played.legal, played.action, played.more, counts)
        rows, here = rows_of((by_step, played.here))
        in_front = jnp.argsort(~here, stable=True)

        def branch(size: int, weights: Any) -> tuple[Any, Array]:
            indices = in_front[:size]
            selected = jax.tree.map(lambda column: column[indices], rows)
            loss = partial(self._loss, learned, selected, indices, own, played.shares)
            result: tuple[Any, Array] = jax.grad(loss, has_aux=True)(weights)
            return result

        parts = max(1, len(here) // MIN_ROWS)
        sizes = [-(-len(here) * part // parts) for part in range(1, parts + 1)]
        smallest = jnp.searchsorted(jnp.asarray(sizes), here.sum())
        branches = [partial(branch, size) for size in sizes]
        result: tuple[Any, Array] = jax.lax.switch(smallest, branches, learned.weights)
        return result

    def _loss(
        self,
        learned: Learned,
        rows: Decisions,
        indices: Array,
        own: Array,
        shares: Array,
        weights: Any,
    ) -> tuple[Array, Array]:
        """Return the loss and the metrics for a batch of decisions."""
        logits, value = self._net(weights).both(rows.seen)
        log_policy = jax.lax.stop_gradient(jax.nn.log_softmax(masked(logits, rows.legal)))
        log_ratio = jnp.where(rows.legal, log_policy - self._anchor(learned, rows), 0.0)
        targets, action_values = self._worth(
            learned, rows, indices, own, shares, jnp.exp(log_policy), log_ratio
        )
        pushed = self.pushed(jax.lax.stop_gradient(logits), action_values, rows.legal)
        policy_loss = -(rows.counts * (pushed * _centred(logits, rows.legal)).sum(axis=-1)).sum()
        value_loss = (rows.counts * (value - targets) ** 2).sum()
        is_decision = rows.counts > 0
        by_decision = (
            jnp.where(rows.legal, jnp.exp(log_policy) * number, 0.0).sum(axis=-1)
            for number in (-log_policy, log_ratio)
        )
        means = [(numbers * is_decision).sum() / is_decision.sum() for numbers in by_decision]
        metrics = jnp.stack([value_loss, policy_loss, *means])
        return value_loss + policy_loss, metrics

    def _anchor(self, learned: Learned, rows: Decisions) -> Array:
        """Return the anchor's log-probabilities; after a change, mix in the previous anchor's."""
        since, size = self._inner(learned.loops)
        share = jnp.minimum(1.0, 2 * since / size)

        def log_policy(weights: Any) -> Array:
            return jax.nn.log_softmax(masked(self._net(weights)(rows.seen), rows.legal))

        def mixed(now: Array) -> Array:
            return share * now + (1 - share) * log_policy(learned.before)

        result: Array = jax.lax.cond(share < 1, mixed, lambda now: now, log_policy(learned.anchor))
        return result

    def _worth(
        self,
        learned: Learned,
        rows: Decisions,
        indices: Array,
        own: Array,
        shares: Array,
        policy: Array,
        log_ratio: Array,
    ) -> tuple[Array, Array]:
        """Return the v-trace values of decisions and of each of their actions."""

        def spread(numbers: Array) -> Array:
            zeros = jnp.zeros(own.shape[0] * own.shape[1])
            return zeros.at[indices].set(numbers).reshape(own.shape[:2])

        value, eta = self._net(learned.target).worth(rows.seen), self.settings.eta
        after = self.settings.fine_tune
        tuned = after is not None and learned.loops >= after
        settled = jax.lax.cond(
            tuned, lambda policy: self.rounded(policy, likeliest), lambda policy: policy, policy
        )
        ratio = picked(settled, rows.action) / rows.acted
        here = own.any(axis=-1)
        goes_on = jnp.concatenate([here[1:], jnp.zeros_like(here[:1])])
        rewards = (here & ~goes_on)[..., None] * shares
        paid = eta * (settled * log_ratio).sum(axis=-1)
        targets, advantages = self.traced(Course(own, rewards, *map(spread, (ratio, value, paid))))
        is_taken = jnp.arange(self.game.actions) == rows.action[:, None]
        correction = is_taken * (advantages.reshape(-1)[indices] / rows.acted)[:, None]
        return targets.reshape(-1)[indices], value[:, None] - eta * log_ratio + correction

    def traced(self, course: Course) -> tuple[Array, Array]:
        """Return v-trace's values of decisions, by a backward scan (Espeholt and others 2018).

        For each player, other players' steps are chance moves: rewards on them belong to the
        player's previous decision, weighted by the steps' probability ratios.

        Returns:
            The targets of the values, and the advantages of what followed the action; both of
            shape (steps, matches).
        """
        rho, c = self.settings.rho or jnp.inf, self.settings.c
        zeros = jnp.zeros(course.own.shape[1:])

        def back(ahead: Ahead, step: Course) -> tuple[Ahead, tuple[Array, Array]]:
            ratio, value, paid = (array[:, None] for array in step[2:])
            weight = ratio * ahead.weight
            advantage = step.rewards + ahead.weighed + ahead.weight * ahead.aim - value
            aim = value + jnp.minimum(rho, weight) * (
                step.rewards + ahead.got - paid + ahead.value - value
            )
            aim += jnp.minimum(c, weight) * (ahead.aim - ahead.value)
            transfer = paid if self.settings.opposed else 0.0
            after_others = ahead._replace(
                weight=weight,
                got=transfer + step.rewards + ahead.got,
                weighed=transfer + ratio * (step.rewards + ahead.weighed),
            )
            after = Ahead(zeros + 1, zeros, zeros, aim, zeros + value)
            here = step.own.any(axis=-1, keepdims=True)
            others = jax.tree.map(partial(jnp.where, here), after_others, ahead)
            state = jax.tree.map(partial(jnp.where, step.own), after, others)
            results = jnp.where(step.own, jnp.stack([aim, advantage]), 0.0).sum(axis=-1)
            return state, (results[0], results[1])

        end = Ahead(zeros + 1, zeros, zeros, zeros, zeros)
        result: tuple[Array, Array] = jax.lax.scan(back, end, course, reverse=True)[1]
        return result

    def pushed(self, logits: Array, action_values: Array, legal: Array) -> Array:
        """Return NeuRD's updates of the logits (Hennes and others 2020); 0 for illegal actions.

        An update is the advantage over the policy; no logit is pushed further from the mean
        than ``beta``.
        """
        policy = jax.nn.softmax(masked(logits, legal))
        advantages = action_values - (policy * action_values).sum(axis=-1, keepdims=True)
        force = jnp.clip(advantages, -self.settings.force, self.settings.force)
        centred = _centred(logits, legal)
        free = jnp.where(force > 0, centred < self.settings.beta, centred > -self.settings.beta)
        return jnp.where(legal & free, force, 0.0)


def _centred(logits: Array, legal: Array) -> Array:
    count = jnp.maximum(legal.sum(axis=-1, keepdims=True), 1)
    return logits - (logits * legal).sum(axis=-1, keepdims=True) / count
