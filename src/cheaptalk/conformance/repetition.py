"""Checks of repetition: a seed determines the match, and a replay leads to the same request."""

import json

from cheaptalk.conformance.matches import Broken, State, configuration_check, no_error, played, same
from cheaptalk.rules import Game, GameSpec, Table, replay


@configuration_check
def check_same_seed(game_spec: GameSpec, game: Game, seed: str) -> None:
    """The same seed leads to the same instance and the same requests."""
    first, second = played(game_spec, game, seed), played(game_spec, game, seed)
    if first.instance != second.instance:
        raise Broken(f"one seed draws the instance {first.instance!r} and then {second.instance!r}")
    same(State.of(first), State.of(second), "playing one seed twice")


@configuration_check
def check_replay(game_spec: GameSpec, game: Game, seed: str) -> None:
    """Replaying the first answers of a match, read from JSON, leads to the next request.

    This holds after any number of answers, also between answers to simultaneous requests.
    """
    match = played(game_spec, game, seed)
    answers = [
        (given.request, given.actor, json.loads(given.action.model_dump_json()))
        for given in match.given
        if given.action is not None
    ]
    original = Table(game, match.instance, seed)
    for count in range(len(answers) + 1):
        with no_error(f"replaying {count} answers"):
            replayed = replay(game, match.instance, seed, answers[:count])
        same(State.of(original), State.of(replayed), f"replaying {count} answers")
        if count < len(answers):
            original.answer(match.given[count].actor, match.given[count].action)
