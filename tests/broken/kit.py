"""Builders of broken games: the toy game of :mod:`tests.toys` with one change."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import cheaptalk as ct
from cheaptalk.rules import strategy
from tests import toys
from tests.toys import SPEC, Cards, Guess, Guessing, GuessNow, Score, YourCard


class Broken(NamedTuple):
    """A game that must fail one check; ``make`` may write templates into the given folder."""

    name: str
    make: Callable[[Path], ct.GameSpec]
    check: str
    saying: str


def breaks(check: str, saying: str) -> Callable[[Any], Broken]:
    """Declare which check must reject a game, and part of the expected message.

    The game is that of a function of a folder for templates, or the toy game with other rules.
    """

    def declare(game: Any) -> Broken:
        make = (lambda _: boxed(game)) if isinstance(game, type) else game
        return Broken(game.__name__, make, check, saying)

    return declare


def boxed(rules: type[ct.Game], *more: ct.Strategy, **changes: Any) -> ct.GameSpec:
    """Return the toy's game spec with other rules, more strategies and other changes."""
    strategies = {**SPEC.strategies, **{strategy.name: strategy for strategy in more}}
    return dataclasses.replace(SPEC, rules=rules, **{"strategies": strategies, **changes})


def reworded(folder: Path, **blocks: str) -> dict[str, Any]:
    """Return changes of the toy's game spec that replace or add template blocks."""
    (folder / "guessing.jinja").write_text((toys.WORDS / "guessing.jinja").read_text())
    changed = [f"{{% block {name} %}}{text}{{% endblock %}}" for name, text in blocks.items()]
    (folder / "changed.jinja").write_text("\n".join(['{% extends "guessing.jinja" %}', *changed]))
    return {"words": folder, "styles": {"plain": ct.StyleFile("changed.jinja")}}


class Short(Guessing):
    """The toy game with one request to one seat."""

    events: ClassVar[tuple[type[ct.Event], ...]] = Guessing.events

    def play(self, instance: Cards, chance: ct.Chance) -> ct.Play[Any]:
        for seat in self.roles:
            yield ct.Tell(seat, YourCard(getattr(instance, seat), None))
        yield from self.rest(instance)
        return Score(left=0, right=0)

    def rest(self, instance: Cards) -> Iterator[Any]:
        """Yield the requests and events after the cards."""
        yield ct.Ask("left", Guess, GuessNow(1))


class Paying(Guessing):
    """The toy game with one request to the left seat, which is paid its guess."""

    def play(self, instance: Cards, chance: ct.Chance) -> ct.Play[Any]:
        for seat in self.roles:
            yield ct.Tell(seat, YourCard(getattr(instance, seat), None))
        guess: Guess = yield ct.Ask("left", Guess, GuessNow(1))
        return Score(left=guess.number, right=0)


def answering(action: type[ct.Action], answer: ct.Action, folder: Path) -> ct.GameSpec:
    """Return the toy game in which the left seat gives ``answer`` as its only action."""

    class Asking(Short):
        actions: ClassVar[tuple[type[ct.Action], ...]] = (action,)

        def rest(self, instance: Cards) -> Iterator[Any]:
            yield ct.Ask("left", action, GuessNow(1))

    @strategy("left", "right")
    def random(request: ct.DecisionRequest) -> ct.Action:
        """Answer."""
        return answer

    block = action.__name__.lower()
    return boxed(Asking, strategies={"random": random}, **reworded(folder, **{block: "{{ form }}"}))
