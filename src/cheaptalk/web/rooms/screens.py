"""Screens: how a game looks to one seat, drawn from what that seat was told and asked alone."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from cheaptalk.rules import Action, Event, Game, game_box
from cheaptalk.styles.templates import block_name
from cheaptalk.web.rooms.forms import Field
from cheaptalk.web.rooms.languages import DOLLARS, Language, languages

HERE = Path(__file__).parent / "templates"
FILE = "screen.html.jinja"
"""The template of a game's screen, beside the folder of its words; a game needs none."""


class Screen:
    """What a seat has seen of its game, and the template that draws it.

    A template has a block ``board`` for how things stand, a block for the form of each action,
    named after its class as in styles, and a block ``earned`` for what somebody got in the end;
    whatever it lacks is shown as for any other game. A block ``talks`` says that what was said
    before is to stay in sight.

    Args:
        game: the game.
        seat: whose screen it is.
        language: that they read.
        heard: what the seat was told, oldest first, with what it is asked now.
        action: how it is to answer; None while it is not asked.
        pays: from the fields of an answer to what the seat gets if the match ends with it, as the
            rules have it; None where it goes on.
    """

    def __init__(
        self, game: Game, seat: str, language: Language, heard: Sequence[Event],
        action: type[Action] | None = None,
        pays: Callable[..., float | None] = lambda **answer: None,
    ) -> None:  # fmt: skip
        self._action = action
        self._game = game
        self._language = language
        self._heard = [(block_name(type(event)), event) for event in heard]
        taken = {one.name: one.place for one in game.seats}
        called = {one: language.writing.called(game.called(one)) for one in game.places}
        names = {name: called[place] for name, place in taken.items()} | called
        self._values: dict[str, Any] = {
            "all": self.all, "last": self.last, "names": names, "seat": seat, "game": game,
            "place": taken[seat], "me": names[seat], "places": tuple(game.places), "pays": pays,
        }  # fmt: skip

    def all(self, name: str) -> list[Event]:
        """All events of a kind, by the name of its block, oldest first."""
        return [event for kind, event in self._heard if kind == name]

    def last(self, *names: str) -> Event | None:
        """The latest event of these kinds."""
        return next((event for kind, event in reversed(self._heard) if kind in names), None)

    def board(self) -> Markup | None:
        """How things stand; None where the game does not say."""
        return self._drawn("board", {})

    def earned(self, payoff: float) -> Markup | None:
        """What somebody got in the end; None where the game does not say."""
        return self._drawn("earned", {"payoff": payoff})

    @property
    def talks(self) -> bool:
        """Whether the game is a talk, of which nothing is to be out of sight."""
        return self._drawn("talks", {}) is not None

    def form(self, fields: Sequence[Field], **values: Any) -> Markup | None:
        """The form of the answer; None where the game has none of its own.

        Args:
            fields: of the answer, whose class has a block, or that which it is derived from.
            values: what the template is given besides.
        """
        given = {"fields": {one.name: one for one in fields}} | values
        for kind in (self._action or object).__mro__:
            drawn = self._drawn(block_name(kind), given)
            if drawn is not None:
                return drawn
        return None

    def _drawn(self, block: str, values: Mapping[str, Any]) -> Markup | None:
        return _drawn(self._game, self._language, block, self._values | dict(values))


def introduced(language: Language, game: Game, block: str, place: str = "") -> Markup | None:
    """What people read of a game before they sit down; None where it does not say.

    Args:
        block: ``gist`` for what it is, in a line; ``about`` for how it goes; ``part`` for what
            somebody in a place does. It can name those of the game's parameters that all may know.
        place: somebody's.
    """
    return _drawn(game, language, block, {"game": game, "place": place})


def _drawn(game: Game, language: Language, block: str, values: Mapping[str, Any]) -> Markup | None:
    """A block of a game's template; None where there is none, or nothing in it."""
    template = screen_template(game.name, language.code, language.currency)
    if template is None or block not in template.blocks:
        return None
    text = template.render(values, block=block).strip()
    return Markup(text) if text else None  # noqa: S704 - escaped by the template


@cache
def screen_template(game: str, language: str, currency: str = DOLLARS) -> jinja2.Template | None:
    """A game's own screen in a language and currency, by codes; None where it has none."""
    folder = game_box(game).words.parent
    if not (folder / FILE).exists():
        return None
    return languages(currency)[language].templates(folder, HERE).get_template(FILE)
