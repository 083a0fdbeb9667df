"""Slots: the values that each block of a game's prompt templates can show.

A block shows one event or one action of the game. Its slots are the fields of the event, which
contain only what the receiving player may know, and the slots of :data:`SHARED`.
"""

import inspect
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from cheaptalk.field_docs import attribute_docs
from cheaptalk.rules import Action, Event, Game, get_game
from cheaptalk.rules.registry import SpecLike

EVERYWHERE = {
    "me": ("str", "the player's name"),
    "role": ("str", "the player's role"),
    "names": ("dict[str, str]", "the names of all players, by seat or role"),
}
"""The slots of every block, with type and meaning."""
SHARED = EVERYWHERE | {"form": ("str", "the answer format; only in the blocks of actions")}
"""The slots that do not depend on the game, with type and meaning."""
_MODULE = re.compile(r"\b(?:\w+\.)+(?=\w)")


class Block(NamedTuple):
    """A block of a game's templates.

    Attributes:
        name: the name in templates, such as ``offer_made``.
        kind: the name of the class of the event or action.
        meaning: the docstring of the event or action.
        own: type and meaning of each slot that shows a field of the event; empty for an action.
        shared: type and meaning of each other slot.
    """

    name: str
    kind: str
    meaning: str
    own: Mapping[str, tuple[str, str]]
    shared: Mapping[str, tuple[str, str]]

    @property
    def slots(self) -> list[str]:
        """The names of all slots."""
        return [*self.own, *self.shared]


@cache
def block_name(kind: type) -> str:
    """Return the name of the template block for an event or action type.

    >>> class OfferMade: ...
    >>> block_name(OfferMade)
    'offer_made'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


def blocks(game: SpecLike) -> dict[str, Block]:
    """Return the blocks of a game's templates by name, with their slots.

    >>> ct.styles.blocks("item_bargaining")["briefing"].own["values"]
    ('tuple[int, ...]', 'the value of one item of each kind to the player.')

    Raises:
        UnknownName: there is no such game.
    """
    return blocks_of(get_game(game).rules)


@cache
def blocks_of(rules: type[Game]) -> dict[str, Block]:
    """Return the blocks of the templates of a game's class by name."""
    listed = [_of_event(event) for event in rules.events]
    listed += [_of_action(action) for action in rules.actions]
    return {block.name: block for block in listed}


def _of_event(event: type[Event]) -> Block:
    hints, meanings = get_type_hints(event), attribute_docs(event)
    own = {
        name: (_written(hints[name]), meanings.get(name, "")) for name in event.__struct_fields__
    }
    return Block(block_name(event), event.__name__, _meaning(event), own, EVERYWHERE)


def _of_action(action: type[Action]) -> Block:
    return Block(block_name(action), action.__name__, _meaning(action), {}, SHARED)


def _meaning(kind: type) -> str:
    text, _, _ = (inspect.getdoc(kind) or "").partition("\nAttributes:\n")
    return " ".join(text.split())


def _written(hint: Any) -> str:
    """Return a type as in Python code without modules; a type with fields also lists the fields."""
    text = _MODULE.sub("", inspect.formatannotation(hint))
    for part in (hint, *getattr(hint, "__args__", ())):
        fields = getattr(part, "__struct_fields__", getattr(part, "model_fields", ()))
        if fields:
            text = text.replace(part.__name__, f"{part.__name__}({', '.join(fields)})")
    return text
