"""Builders of broken games: the toy game of :mod:`tests.toys` with one change."""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import cheaptalk as ct
from tests import toys
from tests.toys import SPEC, Cards, Guess, Guessing, GuessNow, Score, YourCard


class Broken(NamedTuple):
    """A game that must fail one check; ``make`` may write templates into the given folder."""

    check: str
    saying: str
    make: Callable[[Path], ct.GameSpec]


def breaks(check: str, saying: str) -> Callable[[Any], Broken]:
    """Declare which check must reject a game, and part of the expected message.

    The game is that of a function of a folder for templates, or the toy game with other rules.
    """

    def declare(game: Any) -> Broken:
        make = (lambda _: boxed(game)) if isinstance(game, type) else game
        return Broken(check, saying, make)

    return declare


def broken(check: str, saying: str, game_spec: ct.GameSpec) -> Broken:
    """Return a broken game that needs no templates; see :func:`breaks`."""
    return Broken(check, saying, lambda _: game_spec)


def brokens(module: ModuleType) -> list[Broken]:
    """Return the broken games of a module and of its lists."""
    values = [value if isinstance(value, list) else [value] for value in vars(module).values()]
    return [value for group in values for value in group if isinstance(value, Broken)]


def returning(**constants: Any) -> ct.GameSpec:
    """Return the toy game in which these properties and methods return constants."""
    members: dict[str, Any] = {}
    for name, constant in constants.items():
        method = partial(lambda value, *_: value, constant)
        is_property = isinstance(vars(Guessing).get(name, vars(ct.Game).get(name)), property)
        members[name] = property(method) if is_property else staticmethod(method)
    return boxed(type("Changed", (Guessing,), members))


def always(
    action: ct.Action, name: str = "random", roles: tuple[str, ...] = ("left", "right")
) -> ct.rules.Strategy:
    """Return a strategy that always gives the same answer."""

    def answer(request: ct.DecisionRequest) -> ct.Action:
        """Give a fixed answer."""
        return action

    answer.__name__ = name
    return ct.strategy(*roles)(answer)


def boxed(rules: type[ct.Game], *more: ct.rules.Strategy, **changes: Any) -> ct.GameSpec:
    """Return the toy's game spec with other rules, more strategies and other changes."""
    strategies = {**SPEC.strategies, **{strategy.name: strategy for strategy in more}}
    return dataclasses.replace(SPEC, rules=rules, **{"strategies": strategies, **changes})


def reworded(folder: Path, **blocks: str) -> dict[str, Any]:
    """Return changes of the toy's game spec that replace or add template blocks."""
    (folder / "guessing.jinja").write_text((toys.WORDS / "guessing.jinja").read_text())
    changed = [f"{{% block {name} %}}{text}{{% endblock %}}" for name, text in blocks.items()]
    (folder / "changed.jinja").write_text("\n".join(['{% extends "guessing.jinja" %}', *changed]))
    return {"words": folder, "styles": {"plain": ct.rules.StyleFile("changed.jinja")}}


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

    block = action.__name__.lower()
    return boxed(
        Asking, strategies={"random": always(answer)}, **reworded(folder, **{block: "{{ form }}"})
    )
