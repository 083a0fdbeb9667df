"""Laws of privacy: nobody reads what only another seat knows, nor what is answered at once."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

from cheaptalk.conformance.matches import (
    State,
    broken,
    new_table,
    no_error,
    played,
    random_moves,
    same,
)
from cheaptalk.rules import Action, Ask, Chance, Event, Game, GameBox, Secret, Step, Table, Tell
from cheaptalk.styles import Style, style_in


def check_simultaneous(box: GameBox, game: Game, seed: str) -> None:
    """Seats asked at once see nothing of each other's answers, and the order of these is nothing.

    The match is played twice, the seats asked at once answering in turn and in reverse.
    """
    ends = (_play_in_order(box, game, seed, order) for order in (1, -1))
    same(game, next(ends), next(ends), "answering at once in another order")


def _play_in_order(box: GameBox, game: Game, seed: str, order: int) -> State:
    """The end of a match in which the seats asked at once answer in turn (1) or in reverse (-1)."""
    table = new_table(game, seed)
    move, *_ = random_moves(box).values()
    while not table.over:
        seats = tuple(table.pending)[::order]
        seen = {seat: _sees(table, seat) for seat in seats}
        answers = {seat: move(table.asked(seat)) for seat in seats}
        for seat in seats:
            if _sees(table, seat) != seen[seat]:
                event = table.pending[seat].event
                raise broken(game, f'"{seat}" sees answers given at the same time in {event}')
            with no_error(game, f'answering as "{seat}" after others asked at once'):
                table.answer(seat, answers[seat])
    return State.of(table)


def _sees(table: Table, seat: str) -> str:
    asked = table.asked(seat)
    return repr((asked.event, list(asked.heard)))


class Heard(NamedTuple):
    """One thing that a seat is told or, with an action to answer by, asked."""

    seat: str
    event: Event
    action: type[Action] | None = None


class Refused(Event):
    """A move that was legal is refused."""

    reason: str


class Over(Event):
    """The match is over."""


OVER = Heard("everybody", Over())
CUT = Heard("nobody", Event())
"""From here on there is nothing to compare."""


def check_secrets(box: GameBox, game: Game, seed: str) -> None:
    """No seat's text changes when what another seat knows privately does.

    For every secret of the game the same moves are made once more with that fact alone changed.
    All that the seats outside it are told and asked, up to the event that reveals it, must stay
    the same, as data and in the words of every style.
    """
    match = played(box, game, seed)
    styles = [style_in(box, name) for name in box.styles]
    for secret in game.secrets(match.deal):
        whose = ", ".join(sorted(secret.owners)) or "nobody"
        lines = _overheard(game, match.deal, match, secret)
        others = _overheard(secret.game, secret.deal, match, secret)
        for line, other in zip_longest(lines, others, fillvalue=OVER):
            if line is CUT or other is CUT:
                break
            if line != other:
                raise broken(game, f"{line} becomes {other} when what {whose} knows changes")
            if secret.game == game:
                continue  # the words of the same line are the same
            if _texts(styles, game, line) != _texts(styles, secret.game, other):
                raise broken(game, f"the words of {line} change when what {whose} knows does")


def _overheard(game: Game, deal: Any, match: Table, secret: Secret) -> Iterator[Heard]:
    """What the seats outside a secret read when the moves of a match are made, until it is out."""
    moves = {
        seat.name: iter([given.action for given in match.given if given.seat == seat.name])
        for seat in game.seats
    }
    rules = game.play(deal, Chance(match.chance.seed))
    answer: Any = None
    while True:
        try:
            step = rules.send(answer)
        except StopIteration:
            return
        for line in _lines(step):
            if line.seat not in secret.owners:
                yield CUT if secret.revealed(line.event) else line
        if isinstance(step, Tell):
            answer = None
            continue
        actions = {ask.seat: next(moves[ask.seat], None) for ask in _asks(step)}
        for ask in _asks(step):
            reason = ask.refuse(actions[ask.seat])
            if reason is not None:
                yield CUT if ask.seat in secret.owners else Heard(ask.seat, Refused(reason))
        answer = actions[step.seat] if isinstance(step, Ask) else actions


def _asks(step: Ask | tuple[Ask, ...]) -> tuple[Ask, ...]:
    return (step,) if isinstance(step, Ask) else step


def _lines(step: Step) -> Iterator[Heard]:
    if isinstance(step, Tell):
        for seat in (step.to,) if isinstance(step.to, str) else step.to:
            yield Heard(seat, step.event)
    else:
        for ask in _asks(step):
            yield Heard(ask.seat, ask.event, ask.action)


def _texts(styles: Iterable[Style], game: Game, line: Heard) -> list[str]:
    texts = []
    for style in styles:
        texts.append(style.tell(line.event, game, line.seat))
        if line.action is not None:
            texts.append(style.how(line.action, game, line.seat))
    return texts
