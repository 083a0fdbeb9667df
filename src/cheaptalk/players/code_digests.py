"""Digests of players that are Python objects, so that a changed player is a new player.

A digest covers an object's bytecode, default arguments, closure and state, and recursively all
functions, classes and values that its code reads from modules of the user. Code of Python, of
cheaptalk and of installed packages counts by name only, so that upgrades don't create new players.
"""

import builtins
import dis
import functools
import random
import site
import sys
import sysconfig
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import cheaptalk
from cheaptalk.rules import Strategy
from cheaptalk.rules.deciders import bare, player_name

Chain: TypeAlias = tuple[str, ...]
"""The name of a global variable and its attributes, as read by code."""
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
"""Types of values that are identified by their ``repr``."""
WRAPPERS: dict[type, tuple[str, ...]] = {
    functools.partial: ("func", "args", "keywords"),
    functools.cached_property: ("func",),
    types.MethodType: ("__func__", "__self__"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
}
"""The parts of objects that wrap functions."""
NAMED = (
    types.BuiltinFunctionType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)
"""Types of objects without Python code."""
GLOBAL_READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
"""Names of the instructions that read global variables."""
FIELDS = ("__pydantic_fields__", "__struct_defaults__")
"""Special attributes of classes that contain default values."""
MAPPINGS = (dict, types.MappingProxyType)
LIBRARIES = {
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    Path(site.getusersitepackages()),
    Path(cheaptalk.__file__).parent,
}
"""The folders of Python, installed packages and cheaptalk."""


class PlayerWarning(UserWarning):
    """A warning about a player whose changes or processes cheaptalk cannot handle."""


def code_digest(player: Any) -> str:
    """Return a digest of a function, class or object, and of all it reads; 20 hexadecimal digits.

    Digests are equal in all processes of the same minor version of Python. A :class:`PlayerWarning`
    names values that cannot be read, such as open files. If the object has an attribute
    ``version``, the digest covers its code and version, but no values of variables.
    """
    reader = _Reader(_package_of(player), getattr(bare(player), "version", None))
    digest = reader.digest(player, player_name(player))
    if reader.unreadable:
        name = player_name(player)
        values = ", ".join(f"{path} ({kind})" for path, kind in reader.unreadable.items())
        warnings.warn(
            f'"{name}" reads {values}: cheaptalk cannot detect changes of such values; set '
            f'{name}.version = "1", and another version after each change of a value that matters',
            PlayerWarning,
            stacklevel=2,
        )
    return digest


class _Reader:
    """The state of a digest; ``unreadable`` maps the names of unreadable values to their types.

    Objects wait in a queue, because code and data may be nested more deeply than Python's stack.
    """

    def __init__(self, package: str, version: object) -> None:
        self.hash = blake2b(digest_size=10)
        self.unreadable: dict[str, str] = {}
        self.package, self.version = package, version
        self._met: dict[int, int] = {}
        self._queue: list[tuple[Any, str]] = []  # keeps objects alive, so that ids stay unique
        self.note("version", version)

    def digest(self, value: Any, name: str) -> str:
        self.read(value, name)
        for item, item_name in self._queue:  # which grows in the loop
            self._read_object(item, item_name)
        return self.hash.hexdigest()

    def note(self, *parts: object) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            self.hash.update(b"%d:" % len(data) + data)

    def read(self, value: Any, name: str) -> None:
        """Add a value to the digest; ``name`` is shown if it cannot be read."""
        kind = type(value)
        if self.version is not None and not _has_code(value):
            self.read(kind, name)
        elif kind in PLAIN:
            self.note(kind.__name__, repr(value))
        elif kind is tuple:
            self.note("tuple", len(value))
            for item in value:
                self.read(item, name)
        elif kind in (set, frozenset):
            self.note(kind.__name__, *sorted(self._apart(item, name) for item in value))
        elif id(value) in self._met:
            self.note("again", self._met[id(value)])
        else:
            self._met[id(value)] = len(self._met)
            self._queue.append((value, name))
            self.note("object")

    def _apart(self, value: Any, name: str) -> str:
        """Return the digest of an item of a set, whose order differs between processes."""
        reader = _Reader(self.package, self.version)
        reader._met = dict(self._met)
        digest = reader.digest(value, name)
        self.unreadable |= reader.unreadable
        return digest

    def _read_object(self, value: Any, name: str) -> None:
        kind = type(value)
        read = next((read for types_, read in READERS if isinstance(value, types_)), None)
        if read is not None:
            read(self, value, name)
        elif kind is list or kind in MAPPINGS:
            self._read_items(kind.__name__, value if kind is list else value.items(), name)
        elif self._is_installed(kind.__module__) and hasattr(value, "__wrapped__"):
            self.note("wrapper", kind.__qualname__)  # such as functools.lru_cache
            self.read(value.__wrapped__, name)
        else:
            self._read_state(value, name)

    def _read_wrapper(self, value: Any, name: str) -> None:
        wrapper = next(kind for kind in type(value).__mro__ if kind in WRAPPERS)
        self.note(wrapper.__name__)
        for part in WRAPPERS[wrapper]:
            self.read(getattr(value, part), name)

    def _read_strategy(self, value: Strategy, name: str) -> None:
        self.read((value.name, value.roles, value.function), name)

    def _read_member(self, value: Enum, name: str) -> None:
        self.read((type(value), value.name, value.value), name)

    def _read_name(self, value: Any, name: str) -> None:
        self.note("named", getattr(value, "__qualname__", type(value).__name__))
        owner = getattr(value, "__self__", None)
        if not isinstance(owner, types.ModuleType):
            self.read(owner, name)

    def _read_items(self, kind: str, items: Iterable[Any], name: str) -> None:
        listed = [*items]
        self.note(kind, len(listed))
        for item in listed:
            self.read(item, name)

    def _read_module(self, module: types.ModuleType, name: str) -> None:
        """Add a module; that of a user by its file, because code may read anything of it."""
        if self._is_installed(module.__name__):
            self.note("library", module.__name__)
        else:
            self._read_file(module.__name__, getattr(module, "__file__", None))

    def _read_import(self, module: str) -> None:
        """Add a module that a function imports when it is called."""
        with suppress(ImportError, ValueError):
            spec = find_spec(module)
            if spec is not None and not _in_library(spec.origin) and spec.has_location:
                self._read_file(module, spec.origin)

    def _read_file(self, module: str, file: str | None) -> None:
        try:
            self.note("module", module, Path(file or "").read_bytes())
        except OSError:
            self.unreadable[module] = "a module"

    def _read_function(self, function: types.FunctionType, name: str) -> None:
        variables = function.__globals__
        if self._is_installed(str(variables.get("__name__"))):
            self.note("library", function.__module__, function.__qualname__)
            self.read(getattr(function, "__wrapped__", None), name)
            return
        code = function.__code__
        self._read_code(code, function.__doc__)
        self.read((function.__defaults__, function.__kwdefaults__, vars(function)), name)
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.read(cell.cell_contents, variable)
            except ValueError:
                self.note("unset")
        for chain in sorted({*_reads(code)}):
            self._read_global(chain, variables)
        for module in sorted({*_imports(code)}):
            self._read_import(module)

    def _read_code(self, code: types.CodeType, doc: str | None = None) -> None:
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        self.note("code", code.co_code, code.co_exceptiontable, counts, names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._read_code(constant)
            else:
                self.note(_constant(None if doc is not None and constant == doc else constant))

    def _read_global(self, chain: Chain, variables: Mapping[str, Any]) -> None:
        name, *attributes = chain
        self.note("global", *chain)
        if name not in variables:
            self.note("built in" if hasattr(builtins, name) else "missing")
            return
        value = variables[name]
        while attributes and isinstance(value, types.ModuleType):
            if self._is_installed(value.__name__):
                break
            name = f"{name}.{attributes[0]}"
            value = getattr(value, attributes.pop(0), None)
        self.read(value, name)

    def _read_class(self, kind: type, name: str) -> None:
        if self._is_installed(kind.__module__):
            self.note("library", kind.__module__, kind.__qualname__)
            return
        self.note("class", kind.__name__)
        for base in (*kind.__bases__, type(kind)):
            self.read(base, name)
        for key, value in vars(kind).items():
            if key in FIELDS:
                self.note(key, repr(value))
            elif key != "_abc_impl" and not (_is_special(key) and not callable(value)):
                self.note(key)
                self.read(value, f"{name}.{key}")

    def _read_state(self, value: Any, name: str) -> None:
        """Add an object's class and state, as ``pickle`` and ``copy`` do."""
        kind = type(value)
        try:
            if (data := _array_bytes(value)) is not None:
                self.note(kind.__qualname__, *data)
                return
            if isinstance(value, random.Random) or _is_numpy_generator(kind):
                raise TypeError("its state changes with each draw")
            reduced = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 - any class may refuse in any way
            self.unreadable[name] = kind.__name__
            self.note("unreadable", kind.__qualname__)
            return
        if isinstance(reduced, str):
            self.note("named", kind.__module__, reduced)
            return
        maker, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        self.read((maker, arguments), name)
        if isinstance(state, dict):
            for key, part in state.items():
                self.read((key, part), f"{name}.{key}")
        else:
            self.read(state, name)
        self._read_items("items", items or (), name)
        self._read_items("pairs", pairs or (), name)

    def _is_installed(self, module: str) -> bool:
        """Return whether a module is not the user's; the root's own package always is."""
        if module.partition(".")[0] == self.package:
            return False
        loaded = sys.modules.get(module)
        return module in sys.builtin_module_names or _in_library(getattr(loaded, "__file__", None))


CODE = (types.ModuleType, types.FunctionType, type, *WRAPPERS, *NAMED, Strategy)
"""Types of objects that consist of code."""
READERS: tuple[tuple[Any, Callable[[_Reader, Any, str], None]], ...] = (
    (types.ModuleType, _Reader._read_module),
    (types.FunctionType, _Reader._read_function),
    (type, _Reader._read_class),
    (tuple(WRAPPERS), _Reader._read_wrapper),
    (NAMED, _Reader._read_name),
    (Strategy, _Reader._read_strategy),
    (Enum, _Reader._read_member),
)
"""How objects of some types are read; all other objects by their items or state."""


def _has_code(value: object) -> bool:
    """Return whether an object consists of code; all other objects are values."""
    return isinstance(value, CODE) or hasattr(value, "__wrapped__")


def _package_of(player: Any) -> str:
    """Return the top-level package of a player, which is the user's even if it is installed."""
    player = bare(player)
    variables = getattr(player, "__globals__", {})
    module = str(variables.get("__name__") or getattr(player, "__module__", ""))
    return "" if module.startswith("cheaptalk.") else module.partition(".")[0]


@functools.cache
def _in_library(file: str | None) -> bool:
    return file is not None and any(folder in LIBRARIES for folder in Path(file).parents)


def _constant(value: object) -> str:
    """Return a text that identifies a constant of code; sets differ in order between processes."""
    if isinstance(value, tuple | frozenset):
        items = [_constant(item) for item in value]
        return f"{type(value).__name__}{sorted(items) if isinstance(value, frozenset) else items}"
    return f"{type(value).__name__} {value!r}"


def _reads(code: types.CodeType) -> Iterator[Chain]:
    """Yield the global variables that code reads, with the attributes that it reads of them."""
    chain: Chain = ()
    for instruction in dis.get_instructions(code):
        operation, argument = instruction.opname, instruction.argval
        if operation in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain = (*chain, argument)
        elif operation != "EXTENDED_ARG":
            if chain:
                yield chain
            is_global = operation in GLOBAL_READS and not _is_special(argument)
            chain = (argument,) if is_global else ()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _reads(constant)


def _imports(code: types.CodeType) -> Iterator[str]:
    """Yield the modules that code imports by their absolute name."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _imports(constant)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_numpy_generator(kind: type) -> bool:
    return kind.__module__.startswith("numpy.random")


def _array_bytes(value: Any) -> tuple[object, ...] | None:
    """Return the type, shape and bytes of a NumPy array or a tensor; None for other objects."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        flat = value.detach().cpu().contiguous().flatten().view(torch.uint8)
        return value.dtype, tuple(value.shape), flat.numpy().tobytes()
    if numpy is not None and isinstance(value, numpy.ndarray) and not value.dtype.hasobject:
        return value.dtype.str, value.shape, value.tobytes()
    return None
