"""Laws of privacy: nobody reads what only another seat knows, nor what is answered at once."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

from cheaptalk.conformance.matches import (
    Broken,
    State,
    law,
    new_table,
    no_error,
    played,
    random_moves,
    same,
)
from cheaptalk.rules import (
    Action,
    Ask,
    Chance,
    Event,
    Game,
    GameBox,
    Secret,
    Step,
    Table,
    Tell,
    Value,
)
from cheaptalk.styles import Style, style_in


@law
def check_simultaneous(box: GameBox, game: Game, seed: str) -> None:
    """Seats asked at once see nothing of each other's answers, and the order of these is nothing.

    The match is played twice, the seats asked at once answering in turn and in reverse.
    """
    played(box, game, seed)  # which finds a match that has no end
    ends = (_play_in_order(box, game, seed, order) for order in (1, -1))
    same(next(ends), next(ends), "answering at once in another order")


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
                raise Broken(f'"{seat}" sees answers given at the same time in {event}')
            with no_error(f'answering as "{seat}" after others asked at once'):
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

    def __str__(self) -> str:
        if self is OVER:
            return "hears no more"
        return f'"{self.seat}" {"is asked" if self.action else "hears"} {self.event}'


class Refused(Event):
    """A move that was legal is refused."""

    reason: str


class Over(Event):
    """The match is over."""


OVER = Heard("everybody", Over())
CUT = Heard("nobody", Event())
"""From here on there is nothing to compare."""


@law
def check_secrets(box: GameBox, game: Game, seed: str) -> None:
    """No seat's text changes when what another seat knows privately does; its own does.

    For every secret of the game the same moves are made once more with that fact alone changed.
    All that the seats outside it are told and asked, up to the event that reveals it, must stay
    the same, as data and in the words of every style. Something that its owners hear must not:
    a secret that changes nothing tests nothing.
    """
    match = played(box, game, seed)
    styles = [style_in(box, name) for name in box.styles]
    everybody = frozenset(seat.name for seat in game.seats)
    secrets = game.secrets(match.deal)
    if not isinstance(secrets, Iterable):
        raise Broken(f"secrets() gives {secrets}; yield a ct.Secret for each, or leave it out")
    for secret in secrets:
        if nobody := secret.owners - everybody:
            raise Broken(
                f"a secret is of {', '.join(sorted(nobody))}, which is no seat; the seats are "
                f"{', '.join(seat.name for seat in game.seats)}"
            )
        whose, fact = ", ".join(sorted(secret.owners)) or "nobody", _fact(match, secret)
        if not fact:
            raise Broken(f"a secret of {whose} is the match itself: change its deal or its game")
        for line, other in _both(match, secret, everybody - secret.owners):
            if line != other:
                raise Broken(f"{line}, but {other} when what {whose} knows changes: {fact}")
            for style in styles if secret.game != game else ():  # or its words are the same
                one, another = _text(style, game, line), _text(style, secret.game, other)
                if one != another:
                    raise Broken(
                        f'in style "{style.name}" what "{line.seat}" reads when it '
                        f"{'is asked' if line.action else 'hears'} {line.event} changes with what "
                        f"{whose} knows ({fact}): {one!r} becomes {another!r}"
                    )
        if secret.owners and not any(
            line != other or _text(styles[0], game, line) != _text(styles[0], secret.game, other)
            for line, other in _both(match, secret, secret.owners)
        ):
            raise Broken(f"a secret of {whose} changes nothing that they are told: {fact}")


def _fact(match: Table, secret: Secret) -> str:
    """What a secret changes, in words: nothing where it changes nothing."""
    pairs: tuple[tuple[Value, Value], ...] = (
        (match.deal, secret.deal), (match.game, secret.game),
    )  # fmt: skip
    return ", ".join(
        f"{name} from {getattr(one, name)!r} to {getattr(other, name)!r}"
        for one, other in pairs
        for name in type(one).model_fields
        if getattr(one, name) != getattr(other, name)
    )


def _both(match: Table, secret: Secret, seats: frozenset[str]) -> Iterator[tuple[Heard, Heard]]:
    """What some seats hear in a match, and when the secret is another; until that is out."""
    lines = _overheard(match.game, match.deal, match, secret, seats)
    others = _overheard(secret.game, secret.deal, match, secret, seats)
    for line, other in zip_longest(lines, others, fillvalue=OVER):
        if line is CUT or other is CUT:
            return
        yield line, other


def _overheard(
    game: Game, deal: Any, match: Table, secret: Secret, seats: frozenset[str]
) -> Iterator[Heard]:
    """What some seats hear when the moves of a match are made, until a secret is out."""
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
            if line.seat in seats:
                yield CUT if secret.revealed(line.event) else line
        if isinstance(step, Tell):
            answer = None
            continue
        actions = {ask.seat: next(moves[ask.seat], None) for ask in _asks(step)}
        for ask in _asks(step):
            reason = ask.refuse(actions[ask.seat])
            if reason is not None:
                yield Heard(ask.seat, Refused(reason)) if ask.seat in seats else CUT
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


def _text(style: Style, game: Game, line: Heard) -> str:
    """A line in the words of a style."""
    if isinstance(line.event, Over | Refused):
        return ""
    text = style.tell(line.event, game, line.seat)
    return text if line.action is None else f"{text}\n{style.how(line.action, game, line.seat)}"
