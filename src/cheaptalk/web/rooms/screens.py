"""Game-specific pages, rendered only from the player's own observations."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from cheaptalk.rules import Action, Event, Game, get_game
from cheaptalk.styles import block_name
from cheaptalk.web.rooms.forms import Field
from cheaptalk.web.rooms.languages import Language

FOLDER = Path(__file__).parent / "templates"
FILE = "screen.html.jinja"
"""Optional template of a game's screen, next to the folder of its prompt styles."""


class Screen:
    """An actor's observations and the template that renders them.

    The template may contain a block ``board`` for the state of the game, a block for the form of
    each action, named after its class as in prompt styles, and a block ``earned`` for the result.
    Missing blocks are replaced by defaults. A block ``talks`` keeps earlier messages visible. The
    template's function ``pays`` returns the actor's payoff for the fields of an answer, or None if
    the match does not end with this answer.
    """

    def __init__(
        self,
        game: Game,
        actor: str,
        language: Language,
        events: Sequence[Event],
        action: type[Action] | None = None,
        pays: Callable[..., float | None] = lambda **answer: None,
    ) -> None:
        self._action = action
        self._game = game
        self._language = language
        self._events = [(block_name(type(event)), event) for event in events]
        seat_of = {member.name: member.seat for member in game.actors}
        seat_names = {seat: language.called(game.called(seat)) for seat in game.seats}
        names = {name: seat_names[seat] for name, seat in seat_of.items()} | seat_names
        self._values: dict[str, Any] = {
            "all": self.all,
            "last": self.last,
            "names": names,
            "actor": actor,
            "game": game,
            "seat": seat_of[actor],
            "me": names[actor],
            "seats": tuple(game.seats),
            "pays": pays,
        }

    def all(self, name: str) -> list[Event]:
        return [event for kind, event in self._events if kind == name]

    def last(self, *names: str) -> Event | None:
        return next((event for kind, event in reversed(self._events) if kind in names), None)

    def board(self) -> Markup | None:
        return self._render("board", {})

    def earned(self, payoff: float) -> Markup | None:
        return self._render("earned", {"payoff": payoff})

    @property
    def talks(self) -> bool:
        return self._render("talks", {}) is not None

    def form(self, fields: Sequence[Field], **values: Any) -> Markup | None:
        """Render the game's own form for an action; None if the game defines none."""
        values = {"fields": {field.name: field for field in fields}} | values
        for kind in (self._action or object).__mro__:
            form = self._render(block_name(kind), values)
            if form is not None:
                return form
        return None

    def _render(self, block: str, values: Mapping[str, Any]) -> Markup | None:
        return _render(self._game, self._language, block, self._values | dict(values))


def introduced(language: Language, game: Game, block: str, seat: str = "") -> Markup | None:
    """Render a block of a game's introduction; None if the game does not define it.

    ``gist`` is a one-line summary, ``about`` the rules, and ``part`` the role of a seat. The block
    must not use private parameters of the game.
    """
    return _render(game, language, block, {"game": game, "seat": seat})


def _render(game: Game, language: Language, block: str, values: Mapping[str, Any]) -> Markup | None:
    template = screen_template(game.name, language)
    if template is None or block not in template.blocks:
        return None
    text = template.render(values, block=block).strip()
    return Markup(text) if text else None  # noqa: S704 - escaped by the template


@cache
def screen_template(game: str, language: Language) -> jinja2.Template | None:
    """Return a game's screen template in a language; None if the game has none."""
    folder = get_game(game).words.parent
    if not (folder / FILE).exists():
        return None
    return language.templates(folder, FOLDER).get_template(FILE)
