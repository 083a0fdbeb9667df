"""Prompt styles: templates that render a game's events and requests, with an answer format.

A style is a codec and a Jinja template with one block for each event and action, named after their
classes (``OfferMade`` -> ``offer_made``). A template may extend another template, override blocks,
and add text to blocks with ``{{ super() }}``.
"""

import hashlib
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from gettext import NullTranslations
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import jinja2.nodes
from msgspec import structs

from cheaptalk.rules import (
    Action,
    Ask,
    ChatLine,
    CheaptalkError,
    Event,
    Game,
    Moment,
    StyleFile,
    get_game,
    unknown,
)
from cheaptalk.rules.chat import ChatLog
from cheaptalk.rules.display import brief
from cheaptalk.rules.game_spec import LANGUAGES, PEOPLE
from cheaptalk.rules.registry import SpecLike
from cheaptalk.styles.chat import CHAT_FORM, CHAT_KEY, CHAT_TAG
from cheaptalk.styles.codec import Codec, JsonCodec
from cheaptalk.styles.languages import prompt_translations, writing
from cheaptalk.styles.slots import block_name, blocks_of
from cheaptalk.styles.tagged import TaggedCodec
from cheaptalk.styles.template_files import (
    SUFFIX,
    Sandbox,
    check_template,
    is_template_file,
    parent_of,
)
from cheaptalk.styles.writing import Writing, plural

CODECS: dict[str, Codec] = {
    "json": JsonCodec(),
    "tagged": TaggedCodec(text="message", numbers="propose"),
}
HERE = Path(__file__).parent
BASE = "base.jinja"
"""The template without texts that all templates extend."""
OWN = "own/"
"""The folder of template files, which may have the name of a game's template."""
_GAPS = re.compile(r"\n{3,}")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


class StyleError(CheaptalkError):
    """An error in a template; the message names the template, the line and the problem."""


class Missing(jinja2.StrictUndefined):
    """An undefined variable in a block, which raises an error when it is used or formatted."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        self._fail_with_undefined_error()


class StyleEnvironment(jinja2.Environment):
    """A Jinja environment that renders fast because its templates and globals never change."""

    def __init__(self, words: NullTranslations, **options: Any) -> None:
        super().__init__(extensions=["jinja2.ext.i18n"], **options)
        self.words = words
        self.install_gettext_translations(words, newstyle=True)  # type: ignore[attr-defined]
        self.loaded: dict[str, jinja2.Template] = {}

    def get_template(self, name: Any, *_: Any, **__: Any) -> jinja2.Template:
        if name not in self.loaded:
            template = self.loaded[name] = super().get_template(name)
            template.globals = dict(template.globals)  # faster than a ChainMap
        return self.loaded[name]


class StyleLoader(jinja2.FileSystemLoader):
    """A loader in which a language's template is the template for people, unless it has its own."""

    def get_source(
        self, environment: jinja2.Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        try:
            return super().get_source(environment, template)
        except jinja2.TemplateNotFound:
            if template.removesuffix(SUFFIX) not in LANGUAGES:
                raise
            return super().get_source(environment, PEOPLE + SUFFIX)


class SandboxedStyleEnvironment(StyleEnvironment, Sandbox):
    """The environment of template files."""


class Style:
    """The texts of one game in one prompt style.

    Attributes:
        name: the name of the style or template file in study files.
        codec: the answer format.
        writing: the format of numbers, amounts and quotations in the style's language.
        blocks: the names of all blocks, including inherited blocks.
        digest: a digest of the style's text, recorded with every match.
    """

    def __init__(
        self, name: str, environment: StyleEnvironment, file: StyleFile, writes: Writing
    ) -> None:
        self.name = name
        self.codec = CODECS[file.codec]
        self.writing = writes
        self.blocks, self.digest = _contents(environment, file.template)
        self._template = environment.get_template(file.template)

    def __repr__(self) -> str:
        return brief(self, f"{self.name}, {self.digest}")

    def says(self, kind: type) -> bool:
        """Return whether the style has a template block for an event or action type."""
        return block_name(kind) in self.blocks

    def to(self, game: Game, actor: str) -> "Teller":
        """Return a renderer of the style's texts for an actor."""
        return Teller(self, game, actor)

    def tell(self, event: Event, game: Game, actor: str) -> str:
        """Render an event for an actor."""
        return self.to(game, actor).tell(event)

    def how(self, action: type[Action], game: Game, actor: str) -> str:
        """Render the answer instructions for an action type."""
        return self.to(game, actor).how(action)

    def ask(self, ask: Ask, game: Game) -> str:
        """Render a request with its answer instructions."""
        return f"{self.tell(ask.event, game, ask.actor)}\n\n{self.how(ask.action, game, ask.actor)}"

    def story(self, heard: Sequence[Moment], game: Game, actor: str) -> list[str]:
        """Render an actor's observations as a list of texts."""
        renderer = self.to(game, actor)
        return [renderer.tell(moment.event) for moment in heard]

    def render(self, kind: type, values: dict[str, Any]) -> str:
        """Render one block with normalised white space; raise a :class:`StyleError` if it fails."""
        try:
            text = self._template.render(values, block=block_name(kind))
        except Exception as error:
            raise self._failed(kind, values, error) from error
        return _TRAILING.sub("", _GAPS.sub("\n\n", text)).strip()

    def render_chat(self, block: str, values: dict[str, Any]) -> str:
        """Render a block of the texts of the chat, which are the same in all games."""
        environment = self._template.environment
        text = environment.get_template("chat.jinja").render(values, block=block)
        return _TRAILING.sub("", _GAPS.sub("\n\n", text)).strip()

    def _failed(self, kind: type, values: dict[str, Any], error: Exception) -> StyleError:
        block = block_name(kind)
        if block not in self.blocks:
            return StyleError(
                f'style "{self.name}" has no text for {kind.__name__}; add a block {block} to '
                f"{self._template.name}"
            )
        lines = [
            f"{Path(frame.filename).name}, line {frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.endswith(Path(str(self._template.name)).suffix)
        ]
        reason = str(error)
        if isinstance(error, jinja2.UndefinedError):
            reason += f"; {kind.__name__} gives the block {', '.join(values)}"
        else:
            reason = f"{type(error).__name__}: {reason}"
        location = lines[-1] if lines else self._template.name
        return StyleError(f'style "{self.name}": {location}, in block {block}: {reason}')


class Teller:
    """The renderer of a style's texts for one actor of a match, with the names of all actors."""

    def __init__(self, style: Style, game: Game, actor: str) -> None:
        self.style = style
        seats = {member.name: member.seat for member in game.actors}
        called = {seat: style.writing.called(game.called(seat)) for seat in game.seats}
        self.names = names = {name: called[seat] for name, seat in seats.items()} | called
        self._names = {"names": names, "me": names[actor], "role": game.seats[seats[actor]]}
        self._actor = actor
        self._chat = None if game.chat is None else ChatLog(game, game.chat)

    def tell(self, event: Event) -> str:
        return self.style.render(type(event), self._names | structs.asdict(event))

    def how(self, action: type[Action]) -> str:
        """Render the answer instructions for an action type."""
        return self.style.render(action, self._names | {"form": self.style.codec.form(action)})

    def chat_line(self, line: ChatLine, *, own: bool = False) -> str:
        """Render a line of chat; ``own`` if it is shown to its sender."""
        values = {"name": self.names[line.actor], "text": line.text, "own": own}
        return self.style.render_chat("chat_line", values)

    def chat_rules(self) -> str:
        """Render when and with whom the actor can chat; empty if it can't."""
        if self._chat is None:
            return ""
        settings, members = self._chat.settings, self._chat.members.get(self._actor, ())
        partners = [self.names[other] for other in members if other != self._actor]
        values = {"when": settings.when, "partners": partners}
        return self.style.render_chat("chat_rules", values) if partners else ""

    def chat_turn(self, left: int) -> str:
        """Render the request for a line of chat, of which the actor may send ``left`` more."""
        assert self._chat is not None
        values = {"characters": self._chat.settings.characters, "left": left, "form": CHAT_FORM}
        return self.style.render_chat("chat_turn", values)

    def chat_field(self) -> str:
        """Render how the actor can send a line of chat with its answer."""
        assert self._chat is not None
        how = CHAT_KEY if isinstance(self.style.codec, JsonCodec) else CHAT_TAG
        values = {"characters": self._chat.settings.characters, "how": how}
        return self.style.render_chat("chat_field", values)


def style(
    game: SpecLike,
    name: str | None = None,
    writes: Writing | None = None,
    templates: Mapping[str, str] | None = None,
) -> Style:
    """Return a style of a registered game by name; by default the game's first style.

    Args:
        writes: the format of numbers and amounts; by default that of the style's language.
        templates: the texts of template files by name; such a file may be named as the style.

    Raises:
        UnknownName: the game does not exist or has no such style.
        StyleError: the template cannot be read, or has a block or slot that the game doesn't have.
    """
    return style_in(get_game(game), name, writes, templates)


def style_in(
    game_spec: SpecLike,
    name: str | None = None,
    writes: Writing | None = None,
    templates: Mapping[str, str] | None = None,
) -> Style:
    """Return a prompt style of a game spec by name; the arguments are those of :func:`style`.

    Raises:
        UnknownName: the game spec has no such style, or the style's codec does not exist.
        StyleError: the template cannot be read, or has a block or slot that the game doesn't have.
    """
    game_spec = get_game(game_spec)
    name = name or next(iter(game_spec.styles))
    if templates and is_template_file(name) and name in templates:
        files = tuple(game_spec.styles.items())
        return _own(name, templates[name], game_spec.rules, game_spec.words, files, writes)
    if name not in game_spec.styles:
        raise unknown(f"style of {game_spec.name}", name, list(game_spec.styles))
    return _loaded(name, game_spec.words, game_spec.styles[name], writes or writing(name))


@lru_cache(maxsize=256)
def _own(
    name: str,
    text: str,
    rules: type[Game],
    words: Path,
    files: tuple[tuple[str, StyleFile], ...],
    writes: Writing | None,
) -> Style:
    """Return the style of a template file, with codec and language of the style it extends."""
    parents = {file.template: (style, file) for style, file in files}
    try:
        tree = jinja2.Environment(autoescape=False).parse(text)  # noqa: S701 - prompts aren't HTML
        parent = parent_of(tree, [*parents, BASE])
        language, file = parents.get(parent, ("", StyleFile(BASE)))
        folders = [words] if file.folder is None else [file.folder, words]
        writes = writes or writing(language)
        environment = _environment(folders, language, writes, {OWN + name: (text, name)})
        trees = [tree for _, tree in _sources(environment, parent)]
        check_template(environment.parse(text), blocks_of(rules), trees)
        own = Style(name, environment, replace(file, template=OWN + name), writes)
    except jinja2.TemplateSyntaxError as error:
        raise StyleError(f"{name}, line {error.lineno}: {error.message}") from None
    except jinja2.TemplateNotFound as error:
        raise StyleError(
            f"{name}: template {error.name} not found; a template file can use only templates of "
            "its game"
        ) from None
    return own


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
            reason = f"template {error.name} not found"
        elif isinstance(error, jinja2.TemplateSyntaxError):
            reason = f"line {error.lineno} of {error.name}: {error.message}"
        raise StyleError(f'style "{name}" ({path}) cannot be read: {reason}') from error


def _environment(
    folders: Sequence[Path],
    style: str,
    writes: Writing,
    own: Mapping[str, tuple[str, str]] | None = None,
) -> StyleEnvironment:
    """Return a Jinja environment that finds templates of the style and all styles.

    Args:
        own: texts and file names of template files by name; the environment is then a sandbox.
    """
    files = StyleLoader([*folders, HERE])
    kind = StyleEnvironment if own is None else SandboxedStyleEnvironment
    environment = kind(
        prompt_translations(style),
        loader=files if own is None else jinja2.ChoiceLoader([_loader(own), files]),
        undefined=Missing,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        auto_reload=False,
    )
    names = ("number", "dollars", "percent", "quoted")
    environment.filters |= {name: getattr(writes, name) for name in names} | {"plural": plural}
    environment.globals |= {name: getattr(writes, name) for name in ("coin", "coins", "sign")}
    return environment


def _loader(own: Mapping[str, tuple[str, str]]) -> jinja2.BaseLoader:
    """Return a loader of texts with file names, which errors then mention."""

    def load(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        return (*own[name], lambda: True) if name in own else None

    return jinja2.FunctionLoader(load)


def _contents(environment: StyleEnvironment, name: str) -> tuple[frozenset[str], str]:
    """Return the blocks of a template and its parents, and a digest of source and translations."""
    blocks: set[str] = set()
    text = hashlib.sha256()
    for source, tree in _sources(environment, name):
        text.update(source.encode())
        for _, _, message in environment.extract_translations(source):  # type: ignore[attr-defined]
            text.update(_translated(environment.words, message).encode())
        blocks.update(block.name for block in tree.find_all(jinja2.nodes.Block))
    return frozenset(blocks), text.hexdigest()[:16]


def _translated(words: NullTranslations, message: str | tuple[str | None, ...] | None) -> str:
    """Return the translation of a message with all its plural forms; "" if it is computed."""
    forms = [message] if isinstance(message, str) else [text for text in message or () if text]
    if len(forms) < 2:
        return "".join(map(words.gettext, forms))
    return "".join(words.ngettext(forms[0], forms[1], number) for number in range(30))


def _sources(
    environment: jinja2.Environment, name: str
) -> Iterator[tuple[str, jinja2.nodes.Template]]:
    """Yield source and syntax tree of a template and of all templates that it refers to."""
    pending: list[tuple[str, ...]] = [(name,)]
    while pending:
        assert environment.loader is not None
        trail = pending.pop()
        if trail[-1] in trail[:-1]:
            raise jinja2.TemplateError(f"{trail[-1]} extends itself; rename it")
        source, _, _ = environment.loader.get_source(environment, trail[-1])
        tree = environment.parse(source, trail[-1])
        yield source, tree
        references = jinja2.meta.find_referenced_templates(tree)
        pending.extend((*trail, reference) for reference in references if reference)
