"""Laws of repetition: a seed deals one match, and a record replays to the same question."""

import json

from cheaptalk.conformance.matches import Broken, State, law, no_error, played, same
from cheaptalk.rules import Game, GameBox, Table, replay


@law
def check_same_seed(box: GameBox, game: Game, seed: str) -> None:
    """The same seed deals the same hands and asks the same questions."""
    once, again = played(box, game, seed), played(box, game, seed)
    if once.deal != again.deal:
        raise Broken(f"one seed deals {once.deal!r} and then {again.deal!r}")
    same(State.of(once), State.of(again), "playing one seed twice")


@law
def check_replay(box: GameBox, game: Game, seed: str) -> None:
    """The first answers of a match, read back as JSON, lead to the very next question.

    This holds after any number of them, also where only some of the seats that were asked at
    once have answered.
    """
    match = played(box, game, seed)
    answers = [
        (given.request, given.seat, json.loads(given.action.model_dump_json()))
        for given in match.given
        if given.action is not None
    ]
    original = Table(game, match.deal, seed)
    for count in range(len(answers) + 1):
        with no_error(f"replaying {count} answers"):
            again = replay(game, match.deal, seed, answers[:count])
        same(State.of(original), State.of(again), f"replaying {count} answers")
        if count < len(answers):
            original.answer(match.given[count].seat, match.given[count].action)
