"""Styles: a game put into words, and answers read back.

A style is a Jinja template with one block per event and per action, named after their classes
(``OfferMade`` -> ``offer_made``), and a codec. A variant extends another template and overrides
blocks, or adds to them with ``{{ super() }}``.
"""

import hashlib
import re
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import jinja2.nodes
from msgspec import structs

from cheaptalk.rules import (
    Action,
    Ask,
    CheaptalkError,
    Event,
    Game,
    GameBox,
    Moment,
    StyleFile,
    game_box,
    unknown,
)
from cheaptalk.rules.display import brief
from cheaptalk.styles.codec import Codec, JsonCodec
from cheaptalk.styles.tagged import TaggedCodec
from cheaptalk.styles.writing import PLAIN, WRITINGS, Writing

CODECS: dict[str, Codec] = {
    "json": JsonCodec(),
    "tagged": TaggedCodec(text="message", numbers="propose"),
}
HERE = Path(__file__).parent
_GAPS = re.compile(r"\n{3,}")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


class StyleError(CheaptalkError):
    """A template is wrong; the message names it, the line and what is wrong there."""


class Missing(jinja2.StrictUndefined):
    """A variable that no block has: an error where it is written as a number, too."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        self._fail_with_undefined_error()


class Style:
    """The words of one game in one style.

    Attributes:
        name: as in study files.
        codec: how answers are written down.
        writing: how its language writes numbers, amounts and what others say.
        blocks: the names of its blocks, inherited ones included.
        digest: changes when any word of the style does; recorded with every match.
    """

    def __init__(
        self, name: str, environment: jinja2.Environment, file: StyleFile, writes: Writing
    ) -> None:
        self.name = name
        self.codec = CODECS[file.codec]
        self.writing = writes
        self.blocks, self.digest = _contents(environment, file.template)
        self._template = environment.get_template(file.template)
        self._template.globals = dict(self._template.globals)  # faster than the chain of mappings

    def __repr__(self) -> str:
        return brief(self, f"{self.name}, {self.digest}")

    def says(self, kind: type) -> bool:
        """Whether the style has words for an event or action type."""
        return block_name(kind) in self.blocks

    def to(self, game: Game, seat: str) -> "Teller":
        """Whoever tells this seat of the game."""
        return Teller(self, game, seat)

    def tell(self, event: Event, game: Game, seat: str) -> str:
        """An event in the words that this seat reads."""
        return self.to(game, seat).tell(event)

    def how(self, action: type[Action], game: Game, seat: str) -> str:
        """How an answer of this type is to be given."""
        return self.to(game, seat).how(action)

    def ask(self, ask: Ask, game: Game) -> str:
        """A question with how to answer it."""
        how = self.how(ask.action, game, ask.seat)
        return f"{self.tell(ask.event, game, ask.seat)}\n\n{how}"

    def story(self, heard: Sequence[Moment], game: Game, seat: str) -> list[str]:
        """All that a seat lived through, a text a moment."""
        teller = self.to(game, seat)
        return [teller.tell(moment.event) for moment in heard]

    def render(self, kind: type, values: dict[str, Any]) -> str:
        """The words of one block, with the white space tidied.

        Raises:
            StyleError: the template fails at them.
        """
        try:
            text = self._template.render(values, block=block_name(kind))
        except Exception as error:
            raise self._failed(kind, values, error) from error
        return _TRAILING.sub("", _GAPS.sub("\n\n", text)).strip()

    def _failed(self, kind: type, values: dict[str, Any], error: Exception) -> StyleError:
        """That the template fails, with where and why."""
        block = block_name(kind)
        if block not in self.blocks:
            return StyleError(
                f'style "{self.name}" has no words for {kind.__name__}: add a block {block} to '
                f"{self._template.name}"
            )
        lines = [
            f"{Path(frame.filename).name}, line {frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.endswith(Path(str(self._template.name)).suffix)
        ]
        why = str(error)
        if isinstance(error, jinja2.UndefinedError):
            why += f"; {kind.__name__} gives the block {', '.join(values)}"
        else:
            why = f"{type(error).__name__}: {why}"
        place = lines[-1] if lines else self._template.name
        return StyleError(f'style "{self.name}": {place}, in block {block}: {why}')


class Teller:
    """The words of a style for one seat at one table: whom it knows by what name."""

    def __init__(self, style: Style, game: Game, seat: str) -> None:
        self.style = style
        taken = {one.name: one.place for one in game.seats}
        called = {place: style.writing.called(game.called(place)) for place in game.places}
        names = {name: called[place] for name, place in taken.items()} | called
        self.names = names
        self._names = {"names": names, "me": names[seat], "role": game.places[taken[seat]]}

    def tell(self, event: Event) -> str:
        """An event in the words that the seat reads."""
        return self.style.render(type(event), self._names | structs.asdict(event))

    def how(self, action: type[Action]) -> str:
        """How an answer of this type is to be given."""
        return self.style.render(action, self._names | {"form": self.style.codec.form(action)})


def style(game: str, name: str | None = None, writes: Writing | None = None) -> Style:
    """A style of a registered game by name; the game's default one without a name.

    Args:
        writes: how it writes, such as with another currency; by default as :func:`writing` says.

    Raises:
        UnknownName: there is no such game, or it has no such style.
    """
    return style_in(game_box(game), name, writes)


def style_in(box: GameBox, name: str | None = None, writes: Writing | None = None) -> Style:
    """A style from a game's box by name; the default one without a name.

    Args:
        writes: as of :func:`style`.

    Raises:
        UnknownName: the box has no such style, or there is no codec of the name that it gives.
        StyleError: its template cannot be read, with the reason.
    """
    name = name or next(iter(box.styles))
    if name not in box.styles:
        raise unknown(f"style of {box.name}", name, list(box.styles))
    return _loaded(name, box.words, box.styles[name], writes or writing(name))


@cache
def _loaded(name: str, words: Path, file: StyleFile, writes: Writing) -> Style:
    if file.codec not in CODECS:
        raise unknown("codec", file.codec, list(CODECS))
    folders = [words] if file.folder is None else [file.folder, words]
    try:
        return Style(name, _environment(folders, name, writes), file, writes)
    except jinja2.TemplateError as error:
        path, reason = folders[0] / file.template, str(error)
        if isinstance(error, jinja2.TemplateNotFound):
            reason = f"there is no template {error.name}"
        elif isinstance(error, jinja2.TemplateSyntaxError):
            reason = f"line {error.lineno} of {error.name}: {error.message}"
        raise StyleError(f'style "{name}" ({path}) cannot be read: {reason}') from error


def writing(style: str) -> Writing:
    """How a style writes, by its name: in the language that it is named after, if it is."""
    return WRITINGS.get(style, PLAIN)


def _environment(folders: Sequence[Path], style: str, writes: Writing) -> jinja2.Environment:
    """Where a style's templates lie: its own, those of its language, those of all styles."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, HERE / style, HERE]),
        undefined=Missing,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - words for models and terminals, not HTML
        auto_reload=False,
    )
    environment.filters |= {
        "number": writes.number, "dollars": writes.dollars, "percent": writes.percent,
        "quoted": writes.quoted,
    }  # fmt: skip
    environment.globals |= {"coin": writes.coin, "coins": writes.coins, "sign": writes.sign}
    return environment


def _contents(environment: jinja2.Environment, name: str) -> tuple[frozenset[str], str]:
    """The blocks of a template and of all that it extends, and a digest of their text.

    Raises:
        jinja2.TemplateError: one of them cannot be read, or extends itself.
    """
    blocks: set[str] = set()
    text = hashlib.sha256()
    waiting: list[tuple[str, ...]] = [(name,)]
    while waiting:
        assert environment.loader is not None
        trail = waiting.pop()
        if trail[-1] in trail[:-1]:
            raise jinja2.TemplateError(f"{trail[-1]} extends itself; give it a name of its own")
        source, _, _ = environment.loader.get_source(environment, trail[-1])
        tree = environment.parse(source, trail[-1])
        text.update(source.encode())
        blocks.update(block.name for block in tree.find_all(jinja2.nodes.Block))
        found = jinja2.meta.find_referenced_templates(tree)
        waiting.extend((*trail, other) for other in found if other)
    return frozenset(blocks), text.hexdigest()[:16]


@cache
def block_name(kind: type) -> str:
    """The name of the block with an event's or action's words.

    >>> class OfferMade: ...
    >>> block_name(OfferMade)
    'offer_made'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()
