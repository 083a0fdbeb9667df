"""What broken games are made of: the toy of :mod:`tests.toys`, changed in one thing."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from cheaptalk.rules import (
    Action,
    Ask,
    Asked,
    Chance,
    Event,
    Game,
    GameBox,
    Play,
    Strategy,
    StyleFile,
    Tell,
    strategy,
)
from tests import toys
from tests.toys import BOX, Cards, Guess, Guessing, GuessNow, Score, YourCard


class Broken(NamedTuple):
    """A game that must fail one check; ``make`` may write templates into a folder it is given."""

    make: Callable[[Path], GameBox]
    law: str
    saying: str

    @property
    def name(self) -> str:
        return self.make.__name__


def breaks(law: str, saying: str) -> Callable[[Callable[[Path], GameBox]], Broken]:
    """Say of a function's game which check must find it broken, and what this must say."""
    return lambda make: Broken(make, law, saying)


def boxed(rules: type[Game], *more: Strategy, **changes: Any) -> GameBox:
    """The toy's box with other rules, further strategies and whatever else changes."""
    strategies = {**BOX.strategies, **{strategy.name: strategy for strategy in more}}
    return dataclasses.replace(BOX, rules=rules, **{"strategies": strategies, **changes})


def reworded(folder: Path, **blocks: str) -> dict[str, Any]:
    """The toy's words with some blocks changed or added, as changes of its box."""
    (folder / "guessing.jinja").write_text((toys.WORDS / "guessing.jinja").read_text())
    changed = [f"{{% block {name} %}}{text}{{% endblock %}}" for name, text in blocks.items()]
    (folder / "changed.jinja").write_text("\n".join(['{% extends "guessing.jinja" %}', *changed]))
    return {"words": folder, "styles": {"plain": StyleFile("changed.jinja")}}


class Short(Guessing):
    """The toy with one question to one seat, for breaking."""

    events: ClassVar[tuple[type[Event], ...]] = Guessing.events

    def play(self, deal: Cards, chance: Chance) -> Play[Any]:
        for seat in self.roles:
            yield Tell(seat, YourCard(getattr(deal, seat), None))
        yield from self.rest(deal)
        return Score(left=0, right=0)

    def rest(self, deal: Cards) -> Iterator[Any]:
        """What follows the cards."""
        yield Ask("left", Guess, GuessNow(1))


class Paying(Guessing):
    """The toy with one question to the left seat, which is paid its guess."""

    def play(self, deal: Cards, chance: Chance) -> Play[Any]:
        for seat in self.roles:
            yield Tell(seat, YourCard(getattr(deal, seat), None))
        guess: Guess = yield Ask("left", Guess, GuessNow(1))
        return Score(left=guess.number, right=0)


def answering(action: type[Action], answer: Action, folder: Path) -> GameBox:
    """The toy, asking the left seat for one action of this type, which it gives."""

    class Asking(Short):
        actions: ClassVar[tuple[type[Action], ...]] = (action,)

        def rest(self, deal: Cards) -> Iterator[Any]:
            yield Ask("left", action, GuessNow(1))

    @strategy("left", "right")
    def random(asked: Asked) -> Action:
        """Answer."""
        return answer

    block = action.__name__.lower()
    return boxed(Asking, strategies={"random": random}, **reworded(folder, **{block: "{{ form }}"}))
