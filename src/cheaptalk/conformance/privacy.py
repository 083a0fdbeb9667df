"""Checks of privacy: no actor observes private information or simultaneous answers of others."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

import cheaptalk as ct
from cheaptalk.conformance.matches import (
    Broken,
    State,
    configuration_check,
    new_table,
    no_error,
    played,
    random_moves,
    same,
)
from cheaptalk.rules import Step
from cheaptalk.styles import Style, style_in


@configuration_check
def check_simultaneous(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """Actors do not observe simultaneous answers, and the order of these answers has no effect.

    The match is played twice, with simultaneous answers in order and in reverse order.
    """
    played(game_spec, game, seed)  # reports an endless match first
    ends = (_play_in_order(game_spec, game, seed, order) for order in (1, -1))
    same(next(ends), next(ends), "changing the order of simultaneous answers")


def _play_in_order(game_spec: ct.GameSpec, game: ct.Game, seed: str, order: int) -> State:
    """Return the final state after simultaneous answers given in order (1) or in reverse (-1)."""
    table = new_table(game, seed)
    move, *_ = random_moves(game_spec).values()
    while not table.over:
        actors = tuple(table.pending)[::order]
        observations = {actor: _sees(table, actor) for actor in actors}
        answers = {actor: move(table.request(actor)) for actor in actors}
        for actor in actors:
            if _sees(table, actor) != observations[actor]:
                event = table.pending[actor].event
                raise Broken(f'"{actor}" observes simultaneous answers in {event}')
            with no_error(f'answering as "{actor}" after simultaneous answers'):
                table.answer(actor, answers[actor])
    return State.of(table)


def _sees(table: ct.Table, actor: str) -> str:
    request = table.request(actor)
    return repr((request.event, list(request.heard)))


class Observation(NamedTuple):
    """An event that an actor observes, or a decision request if ``action`` is set."""

    actor: str
    event: ct.Event
    action: type[ct.Action] | None = None

    def __str__(self) -> str:
        if self is OVER:
            return "no further observation"
        return f'"{self.actor}" {"has the request" if self.action else "observes"} {self.event}'


class Refused(ct.Event):
    """A marker for the refusal of a move that was legal in the original match."""

    reason: str


class Over(ct.Event):
    """The end of the match."""


OVER = Observation("", Over())
CUT = Observation("", ct.Event())
"""A marker at which the comparison of observations ends."""


@configuration_check
def check_secrets(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """The actor's private information changes the actor's texts, but no other actor's texts.

    For every secret of the game, the same moves are repeated with only this fact changed. The
    observations of all other actors, as data and as text in every style, must stay the same until
    the fact is revealed. At least one observation of the owners must change, because otherwise the
    secret tests nothing.
    """
    match = played(game_spec, game, seed)
    styles = [style_in(game_spec, name) for name in game_spec.written_styles]
    actors = frozenset(actor.name for actor in game.actors)
    secrets = game.secrets(match.instance)
    if not isinstance(secrets, Iterable):
        raise Broken(
            f"secrets() returns {secrets}; yield a ct.rules.Secret for each, or omit the method"
        )
    for secret in secrets:
        if strangers := secret.owners - actors:
            raise Broken(
                f"a secret has the unknown owner {', '.join(sorted(strangers))}; the actors are "
                f"{', '.join(actor.name for actor in game.actors)}"
            )
        owners, fact = ", ".join(sorted(secret.owners)) or "no actor", _fact(match, secret)
        if not fact:
            raise Broken(f"a secret of {owners} changes neither instance nor game; change one")
        for line, other in _both(match, secret, actors - secret.owners):
            if line != other:
                raise Broken(
                    f"{line}, but {other} if private information of {owners} changes: {fact}"
                )
            for style in styles if secret.game != game else ():  # otherwise the text is the same
                text, other_text = _text(style, game, line), _text(style, secret.game, other)
                if text != other_text:
                    raise Broken(
                        f'in style "{style.name}", the text of {line.event} for "{line.actor}" '
                        f"changes with private information of {owners} ({fact}): {text!r} becomes "
                        f"{other_text!r}"
                    )
        if secret.owners and not any(
            line != other or _text(styles[0], game, line) != _text(styles[0], secret.game, other)
            for line, other in _both(match, secret, secret.owners)
        ):
            raise Broken(f"a secret of {owners} doesn't change their observations: {fact}")


def _fact(match: ct.Table, secret: ct.rules.Secret) -> str:
    """Describe the values that a secret changes; return "" if it changes nothing."""
    pairs: tuple[tuple[ct.rules.Value, ct.rules.Value], ...] = (
        (match.instance, secret.instance),
        (match.game, secret.game),
    )
    return ", ".join(
        f"{name} from {getattr(original, name)!r} to {getattr(changed, name)!r}"
        for original, changed in pairs
        for name in type(original).model_fields
        if getattr(original, name) != getattr(changed, name)
    )


def _both(
    match: ct.Table, secret: ct.rules.Secret, actors: frozenset[str]
) -> Iterator[tuple[Observation, Observation]]:
    """Yield each original observation with its changed counterpart until the secret is revealed."""
    lines = _observations(match.game, match.instance, match, secret, actors)
    others = _observations(secret.game, secret.instance, match, secret, actors)
    for line, other in zip_longest(lines, others, fillvalue=OVER):
        if line is CUT or other is CUT:
            return
        yield line, other


def _observations(
    game: ct.Game, instance: Any, match: ct.Table, secret: ct.rules.Secret, actors: frozenset[str]
) -> Iterator[Observation]:
    """Replay a match's moves and yield observations; ``CUT`` marks the secret's revelation."""
    moves = {
        actor.name: iter([given.action for given in match.given if given.actor == actor.name])
        for actor in game.actors
    }
    rules = game.play(instance, ct.Chance(match.chance.seed))
    answer: Any = None
    while True:
        try:
            step = rules.send(answer)
        except StopIteration:
            return
        for line in _lines(step):
            if line.actor in actors:
                yield CUT if secret.revealed(line.event) else line
        if isinstance(step, ct.Tell):
            answer = None
            continue
        actions = {ask.actor: next(moves[ask.actor], None) for ask in _asks(step)}
        for ask in _asks(step):
            reason = ask.refuse(actions[ask.actor])
            if reason is not None:
                yield Observation(ask.actor, Refused(reason)) if ask.actor in actors else CUT
        answer = actions[step.actor] if isinstance(step, ct.Ask) else actions


def _asks(step: ct.Ask | tuple[ct.Ask, ...]) -> tuple[ct.Ask, ...]:
    return (step,) if isinstance(step, ct.Ask) else step


def _lines(step: Step) -> Iterator[Observation]:
    if isinstance(step, ct.Tell):
        for actor in (step.to,) if isinstance(step.to, str) else step.to:
            yield Observation(actor, step.event)
    else:
        for ask in _asks(step):
            yield Observation(ask.actor, ask.event, ask.action)


def _text(style: Style, game: ct.Game, line: Observation) -> str:
    if isinstance(line.event, Over | Refused):
        return ""
    text = style.tell(line.event, game, line.actor)
    return text if line.action is None else f"{text}\n{style.how(line.action, game, line.actor)}"
