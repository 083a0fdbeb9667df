"""Template files: a researcher's own prompts of a game, as an alternative to its prompt styles.

A study refers to a template file where it could name a prompt style, and stores the file's text. A
file is read only where a user wrote its path: in a study file, a roster, an option of a command or
a ``Path`` in Python. Templates are rendered in a sandbox.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import jinja2.sandbox
from jinja2 import nodes
from jinja2.runtime import BlockReference, LoopContext, Macro

from cheaptalk.atomic_files import read_whole
from cheaptalk.rules import suggest
from cheaptalk.rules.errors import WrongValue
from cheaptalk.styles.slots import Block

SUFFIX = ".jinja"
"""The suffix of template files; names of prompt styles never end with it."""
MAX_BYTES = 200_000
"""Maximum size of a template file."""
PLAIN_DATA = (str, int, float, dict, list, tuple)
"""Types of values whose methods a template can call."""
CONTEXT = {"self", "super", "block"}
"""Names that Jinja or a style defines in every block."""
CALLABLES = (BlockReference, LoopContext, Macro)
"""Types of Jinja objects that a template can call."""


class Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """A Jinja environment whose templates reach only their slots, and render reproducibly."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        del self.filters["random"], self.globals["lipsum"]

    def is_safe_callable(self, obj: Any) -> bool:
        """Return whether a template can call an object: Jinja's own, or a method of plain data."""
        if isinstance(obj, CALLABLES) or any(obj is value for value in self.globals.values()):
            return True
        owner = getattr(obj, "__self__", None)
        return type(owner) in PLAIN_DATA or isinstance(owner, LoopContext)


def is_template_file(value: object) -> bool:
    """Return whether the value of ``style`` names a template file instead of a prompt style."""
    return isinstance(value, Path) or (isinstance(value, str) and value.endswith(SUFFIX))


def with_texts(entry: Any, folder: Path | None = None) -> Any:
    """Return a player's entry in which ``templates`` contains the text of its template files.

    Args:
        entry: the entry, in the form of a study file, or the settings of all models.
        folder: the folder to which the entry's relative paths refer; None to read only files that
            Python code names by a ``Path``, because data from elsewhere must not name files.

    Raises:
        WrongValue: a file cannot be read.
    """
    written = entry.get("templates") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(written, Mapping | None):
        return entry
    texts = dict(written or {})
    paths: dict[str, Path] = {}

    def read(value: Path | str) -> str:
        if folder is None and isinstance(value, str):
            return value
        path = Path(value)
        is_inner = not path.is_absolute() and ".." not in path.parts
        name = path.as_posix() if is_inner else path.name  # records don't name a user's folders
        if paths.setdefault(name, path) != path:
            raise WrongValue(f"two template files are named {name}; rename one of them")
        if name not in texts:
            texts[name] = read_template((folder or Path()) / path)
        return name

    replaced = _with_files(entry, read)
    return {**replaced, "templates": texts} if texts else replaced


def named_files(entry: Any) -> list[str]:
    """Return the template files that an entry or a part of it names."""
    files: list[str] = []

    def note(value: Path | str) -> str:
        files.append(str(value))
        return str(value)

    _with_files(entry, note)
    return files


def _with_files(value: Any, read: Callable[[Path | str], str], *, is_style: bool = False) -> Any:
    """Return a value in which ``read`` replaced each template file under a key ``style``."""
    if isinstance(value, Mapping):
        return {
            key: _with_files(inner, read, is_style=is_style or key == "style")
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_with_files(inner, read, is_style=is_style) for inner in value]
    return read(value) if is_style and is_template_file(value) else value


def without_texts(settings: Any) -> Any:
    """Return settings for display, in which the texts of template files are replaced by digests.

    A digest has the first 16 digits of the SHA-256 of the text in UTF-8, as ``sha256sum`` prints.

    >>> without_texts({"style": "a.jinja", "templates": {"a.jinja": "Hello"}})
    {'style': 'a.jinja', 'templates': {'a.jinja': 'sha256 185f8db32271fe25'}}
    """
    if isinstance(settings, list):
        return [without_texts(inner) for inner in settings]
    if not isinstance(settings, Mapping):
        return settings
    shown = {key: without_texts(value) for key, value in settings.items()}
    texts = shown.get("templates")
    if isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values()):
        shown["templates"] = {
            name: f"sha256 {sha256(text.encode()).hexdigest()[:16]}" for name, text in texts.items()
        }
    return shown


def read_template(path: Path) -> str:
    """Return the text of a template file; raise a WrongValue if it can't be read."""
    try:
        return read_whole(path, MAX_BYTES)
    except FileNotFoundError:
        raise WrongValue(f"template file {path} not found") from None
    except UnicodeDecodeError:
        raise WrongValue(f"template file {path} is not text in UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise WrongValue(f"template file {path} cannot be read: {error.strerror}") from None


def parent_of(tree: nodes.Template, templates: Iterable[str]) -> str:
    """Return the name of the template that a template file extends."""
    parents = [node.template for node in tree.find_all(nodes.Extends)]
    known = list(templates)
    if not parents:
        raise jinja2.TemplateSyntaxError(
            f'it extends no template; write {{% extends "{known[0]}" %}} in the first line', 1
        )
    name = parents[0].value if isinstance(parents[0], nodes.Const) else None
    if name not in known:
        raise jinja2.TemplateSyntaxError(
            f"it can't extend {suggest(str(name), known)}", parents[0].lineno
        )
    return str(name)


def check_template(
    tree: nodes.Template, blocks: Mapping[str, Block], parents: Sequence[nodes.Template]
) -> None:
    """Check that a template file has only blocks and slots of the game, and text only in blocks.

    Args:
        parents: the templates that it extends.

    Raises:
        TemplateSyntaxError: with the line of the first problem.
    """
    for line, text in _outside(tree):
        raise jinja2.TemplateSyntaxError(
            f"{text} is outside all blocks and would not be shown; move it into a block", line
        )
    shared = {name for template in (tree, *parents) for name in _defined(template)} | CONTEXT
    anywhere = list(dict.fromkeys(slot for block in blocks.values() for slot in block.slots))
    for macro in tree.find_all(nodes.Macro):
        _check_slots(tree, [macro], f"in macro {macro.name}", anywhere, shared)
    inherited = {name for template in parents for name in _blocks_of(template)}
    called = {node.attr for node in tree.find_all(nodes.Getattr) if _is_self(node.node)}
    for block in tree.find_all(nodes.Block):
        if block.name not in {*blocks, *inherited, *called}:
            problem = f"unknown block {suggest(block.name, list(blocks))}"
            raise jinja2.TemplateSyntaxError(problem, block.lineno)
        slots = blocks[block.name].slots if block.name in blocks else anywhere
        _check_slots(tree, block.body, f"in block {block.name}", slots, shared)
    if missing := [name for name in blocks if name not in {*inherited, *_blocks_of(tree)}]:
        raise jinja2.TemplateSyntaxError(
            f"block {missing[0]} is missing; write it, or extend a template that has it", 1
        )


def _check_slots(
    tree: nodes.Template,
    body: list[nodes.Node],
    where: str,
    slots: Sequence[str],
    shared: Collection[str],
) -> None:
    """Check that a part of a template uses no other names than slots and names that it defines."""
    environment = tree.environment
    assert environment is not None
    part = nodes.Template(body, lineno=1)
    part.set_environment(environment)
    names = list(part.find_all(nodes.Name))
    known = {*slots, *shared, *environment.globals, *(n.name for n in names if n.ctx == "store")}
    unknown = jinja2.meta.find_undeclared_variables(part) - known
    for name in names:
        if name.name in unknown:
            problem = f"{where}: unknown slot {suggest(name.name, slots)}"
            raise jinja2.TemplateSyntaxError(problem, name.lineno)


def _blocks_of(tree: nodes.Template) -> set[str]:
    return {block.name for block in tree.find_all(nodes.Block)}


def _is_self(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "self"


def _outside(tree: nodes.Template) -> Iterator[tuple[int, str]]:
    """Yield line and beginning of each text outside of blocks and macros."""
    outputs = (node.nodes for node in tree.body if isinstance(node, nodes.Output))
    for node in chain.from_iterable(outputs):
        text = node.data if isinstance(node, nodes.TemplateData) else "{{ ... }}"
        if text.strip():
            line = node.lineno + len(text[: len(text) - len(text.lstrip())].splitlines())
            yield line, f'"{text.strip().splitlines()[0][:40]}"'


def _defined(tree: nodes.Template) -> Iterator[str]:
    """Yield the names that a template defines for all its blocks."""
    for node in tree.body:
        match node:
            case nodes.Macro(name=name) | nodes.Import(target=name):
                yield name
            case nodes.FromImport(names=names):
                yield from (name if isinstance(name, str) else name[1] for name in names)
            case nodes.Assign() | nodes.AssignBlock():
                yield from (n.name for n in node.find_all(nodes.Name) if n.ctx == "store")
