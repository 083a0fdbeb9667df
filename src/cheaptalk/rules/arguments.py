"""Checks of the arguments of public functions against the functions' annotations.

The packages check the functions in their ``__all__`` (see :mod:`cheaptalk.public`). Internal calls
of a function from its own module are not checked.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from functools import reduce, wraps
from math import inf
from numbers import Integral, Number, Real
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
)
from typing import is_typeddict as is_typed_dict

from cheaptalk.rules.errors import CheaptalkError, WrongValue, counted, shown, suggest, with_article

Accepts: TypeAlias = Callable[[Any], bool]
"""Returns whether a value is accepted."""
F = TypeVar("F", bound=Callable[..., Any])
MARK = "__checks_arguments__"
NUMBERS: Mapping[type, tuple[type, ...]] = {int: (int, Integral), float: (float, int, Real)}
NOUNS: dict[Any, str] = {
    NoneType: "None",
    bool: "True or False",
    dict: "a mapping",
    float: "a number",
    int: "an integer",
    str: "a string",
    Path: "a Path",
    Any: "any value",
    Callable: "a function",
    Mapping: "a mapping",
    type: "a class",
}
"""Descriptions of types in messages; see :func:`describe_type`."""
BUILT_IN = ("builtins", "collections.abc")
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
BOUND = ("cls", "self")
RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("at_once", "concurrency", "draws", "evaluations", "iterations"), (1, inf)),
    **dict.fromkeys(("matches", "players", "processes", "sessions", "workers"), (1, inf)),
    **dict.fromkeys(("count", "decimals", "patience", "sample", "seed"), (0, inf)),
    "port": (0, 65_535),
}
"""Minima and maxima of arguments of these names in all public functions, if they are numbers."""
FEW = 20
"""Number of elements of a list or mapping that are checked."""


class _NoMembers(Protocol):
    """A protocol without members, whose attributes all protocols have."""


class WrongArgument(CheaptalkError, TypeError):
    """An argument that is missing, unknown or of a wrong type; the message names the accepted ones.

    >>> ct.run("quickstart", stor="study.sqlite")
    Traceback (most recent call last):
    cheaptalk.rules.arguments.WrongArgument: run has no argument "stor" (did you mean "store"?)
    """


def checked(function: F, module: str | None = None) -> F:
    """Return a function that raises an error for wrong arguments.

    The error is a :class:`WrongArgument`, or a :class:`.WrongValue` for a number out of range.

    Args:
        module: the module that the function is said to belong to; by default its own.

    >>> @checked
    ... def double(number: int, times: int = 1) -> int:
    ...     return number * 2**times
    >>> double(2, times=2)
    8
    >>> double("2")
    Traceback (most recent call last):
    cheaptalk.rules.arguments.WrongArgument: number of double must be an integer, not a str: "2"
    """
    if not inspect.isfunction(inspect.unwrap(function)) or hasattr(function, MARK):
        return function
    if not inspect.signature(function).parameters:
        return function
    checks = _Checks(function)
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def called(*args: Any, **kwargs: Any) -> Any:
            checks(args, kwargs)
            try:
                return await function(*args, **kwargs)
            except TypeError:
                checks.bind(args, kwargs)
                raise

    else:

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            checks(args, kwargs)
            try:
                return function(*args, **kwargs)
            except TypeError:
                checks.bind(args, kwargs)
                raise

    setattr(called, MARK, True)
    called.__module__ = module or function.__module__
    return called  # type: ignore[return-value] # it has the function's signature


class _Checks:
    """The checks of a function's arguments, made at its first call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = function.__qualname__.removesuffix(".__init__")
        self.positional: list[tuple[str, Accepts]] | None = None
        self.by_name: dict[str, Accepts] = {}
        self.others: Accepts = nothing
        """The check of keyword arguments without a parameter of their own."""

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if self.positional is None:
            self.positional = self._read()
        for (name, accepts), value in zip(self.positional, args, strict=False):
            if not accepts(value):
                self._fail(name, value)
        for value in args[len(self.positional) :]:
            if "*" in self.by_name and not self.by_name["*"](value):
                self._fail("*", value)
        for name, value in kwargs.items():
            if not self.by_name.get(name, self.others)(value):
                self._fail(name, value)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise :class:`WrongArgument` if arguments are missing, too many or given twice."""
        signature = inspect.signature(self.function)
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            named = [p for p in signature.parameters.values() if p.kind in NAMED]
            required = [p.name for p in named if p.default is p.empty]
            names = [name for name, _ in self.positional or ()]
            missing = [name for name in required if name not in {*names[: len(args)], *kwargs}]
            if missing:
                problem = f"requires the argument{'s' * (len(missing) > 1)} {' and '.join(missing)}"
            elif len(args) > len(names):
                accepted = counted(len({*names}.difference(BOUND)), "positional argument")
                problem = f"accepts {accepted}; pass the others by name"
            else:
                problem = f"got an argument twice: {error}"
            raise WrongArgument(f"{self.name} {problem}") from None

    def _read(self) -> list[tuple[str, Accepts]]:
        positional = []
        for name, parameter in inspect.signature(self.function).parameters.items():
            accepts = _test(hint_of(self.function, parameter))
            if parameter.kind is parameter.VAR_POSITIONAL:
                self.by_name["*"] = accepts
            elif parameter.kind is parameter.VAR_KEYWORD:
                options = _options(hint_of(self.function, parameter))
                self.by_name |= {key: _test(hint) for key, hint in options.items()}
                self.others = nothing if options else accepts
            else:
                accepts = _or_default(accepts, parameter.default)
                if name in RANGES and not accepts(""):  # seeds may be texts
                    accepts = _within(name, accepts)
                self.by_name[name] = accepts
                if parameter.kind is not parameter.KEYWORD_ONLY:
                    positional.append((name, accepts))
        return positional

    def _fail(self, name: str, value: object) -> None:
        if name not in self.by_name and self.others is nothing:
            known = [key for key in self.by_name if key not in ("*", *BOUND)]
            raise WrongArgument(f"{self.name} has no argument {suggest(name, known)}")
        parameters = inspect.signature(self.function).parameters
        starred = {parameter.kind: parameter for parameter in parameters.values()}
        kind = inspect.Parameter.VAR_POSITIONAL if name == "*" else inspect.Parameter.VAR_KEYWORD
        parameter = parameters.get(name) or starred[kind]
        hint = hint_of(self.function, parameter)
        accepted = described(_options(hint).get(name, hint))
        label = parameter.name if name == "*" else name
        if isinstance(value, str) and accepted.startswith("a sequence of strings"):
            accepted += f", such as [{shown(value)}]"
        if isinstance(value, Real) and not _in_range(name, value):
            low, high = RANGES[name]
            accepted = f"at least {low}" if high == inf else f"from {low} to {high:,}"
            raise WrongValue(f"{label} of {self.name} must be {accepted}, not {value}")
        raise WrongArgument(f"{label} of {self.name} must be {accepted}, not {_kind(value)}")


def check_functions(namespace: dict[str, Any]) -> None:
    """Let the public functions of a package check their arguments."""
    for name in namespace["__all__"]:
        namespace[name] = checked(namespace[name], namespace["__name__"])


def describe_type(hint: Any, noun: str) -> None:
    """Set the description of a type in messages, such as "a store, its file or its URL"."""
    NOUNS[hint] = noun


def hint_of(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the annotation of a parameter; Any if it has none or names what type checkers know."""
    hint = parameter.annotation
    if hint is parameter.empty:
        return Any
    if isinstance(hint, str):
        try:
            return eval(hint, inspect.unwrap(function).__globals__)  # noqa: S307 - our own source
        except NameError:
            return Any
    return hint


def _options(hint: Any) -> Mapping[str, Any]:
    """Return the annotations of options, by name, from the annotation ``Unpack[Options]``."""
    options = get_args(hint)[:1] if "Unpack" in str(get_origin(hint)) else ()
    return dict(options[0].__annotations__) if options else {}


def anything(value: Any) -> bool:  # noqa: ARG001 - a check that accepts all values
    """Accept any value."""
    return True


def nothing(value: Any) -> bool:  # noqa: ARG001 - a check that accepts no value
    """Reject any value."""
    return False


def _within(name: str, accepts: Accepts) -> Accepts:
    return lambda value: accepts(value) and (not isinstance(value, Real) or _in_range(name, value))


def _in_range(name: str, number: Any) -> bool:
    low, high = RANGES.get(name, (-inf, inf))
    return bool(low <= number <= high)


def _or_default(accepts: Accepts, default: object) -> Accepts:
    if default is inspect.Parameter.empty or accepts(default):
        return accepts
    return lambda value: value is default or accepts(value)


def _test(hint: Any) -> Accepts:
    """Return a function that tells whether a value fits an annotation.

    Of lists, sets and dictionaries, the first elements are tested.
    """
    origin, args = get_origin(hint), get_args(hint)
    kind = origin or hint
    if hint is None or hint is NoneType:
        return lambda value: value is None
    if origin is Annotated:
        return _test(args[0])
    if _is_array(args):
        others = [_test(arg) for arg in args if arg is NoneType]
        return _any_of([_is_numeric, *others])
    if kind in (Union, UnionType):
        return _any_of([_test(arg) for arg in args])
    if kind is Literal:
        return lambda value: any(type(value) is type(arg) and value == arg for arg in args)
    if hasattr(hint, "__supertype__"):
        return _test(hint.__supertype__)
    if kind is Callable:
        return callable
    if kind in (Any, object) or not isinstance(kind, type):
        return anything
    return _test_of_class(kind, args)


def _is_array(args: tuple[Any, ...]) -> bool:
    """Return whether a union contains the types of NumPy's ``ArrayLike``."""
    return any(getattr(get_origin(arg), "__name__", "") == "_NestedSequence" for arg in args)


def _is_numeric(value: object) -> bool:
    """Return whether a value is an array, a frame, a number or a list, possibly of numbers."""
    return hasattr(value, "__array__") or isinstance(value, Number | list | tuple)


def _any_of(tests: list[Accepts]) -> Accepts:
    def accepts(value: Any) -> bool:
        for test in tests:  # noqa: SIM110 - faster than any()
            if test(value):
                return True
        return False

    return accepts


def _test_of_class(kind: Any, args: tuple[Any, ...]) -> Accepts:
    if kind in NUMBERS:
        return _instance(NUMBERS[kind])
    if kind is bool:
        return lambda value: isinstance(value, bool) or type(value).__name__ == "bool_"
    if is_typed_dict(kind):
        return _instance(Mapping)
    if kind is type:
        return _instance(type)
    if issubclass(kind, Mapping):
        return _mapping(kind, *map(_test, args or (Any, Any)))
    if kind.__module__ in BUILT_IN and hasattr(kind, "__iter__"):
        return _elements(kind, args)
    if getattr(kind, "_is_protocol", False) and not getattr(kind, "_is_runtime_protocol", False):
        names = {*vars(kind), *kind.__annotations__} - {"__annotations__", *vars(_NoMembers)}
        return lambda value: all(hasattr(value, name) for name in names)
    return _instance(kind)


def _instance(kind: Any) -> Accepts:
    return lambda value: isinstance(value, kind)


def _mapping(kind: Any, key: Accepts = anything, item: Accepts = anything) -> Accepts:
    def accepts(value: Any) -> bool:
        if not isinstance(value, kind):
            return False
        if type(value) is not dict:
            return True
        return all(
            key(k) and item(v) for k, v, _ in zip(value, value.values(), range(FEW), strict=False)
        )

    return accepts


def _elements(kind: Any, args: tuple[Any, ...]) -> Accepts:
    """Return the test of a collection; it accepts arrays and columns of frames as sequences."""
    if kind in (str, bytes):
        return _instance(kind)
    tests = [_test(arg) for arg in args if arg is not Ellipsis] or [anything]
    fixed = kind is tuple and Ellipsis not in args and bool(args)

    def accepts(value: Any) -> bool:
        if isinstance(value, str | bytes | bytearray) or not hasattr(value, "__iter__"):
            return False
        if kind is not Iterable and not hasattr(value, "__len__"):
            return False
        if kind is Sequence and isinstance(value, Set):
            return False
        if type(value) not in (list, tuple, set, frozenset):
            return isinstance(value, kind) or (kind is not tuple and hasattr(value, "dtype"))
        if fixed:
            return len(value) == len(tests) and all(t(v) for t, v in zip(tests, value, strict=True))
        return all(tests[0](v) for v, _ in zip(value, range(FEW), strict=False))

    return accepts


def described(hint: Any) -> str:
    """Describe the values that an annotation accepts.

    >>> described(int | None), described(list[str] | str)
    ('an integer or None', 'a sequence of strings or a string')
    >>> described(Mapping[str, Literal["a", "b"]])
    'a mapping from strings to "a" or "b"'
    """
    origin, args = get_origin(hint), get_args(hint)
    kind = origin or hint
    if origin is Annotated:
        return described(args[0])
    if hint in NOUNS:
        return NOUNS[hint]
    if kind in (Union, UnionType, Literal):
        return _alternatives(kind, args)
    if args and isinstance(kind, type) and issubclass(kind, Mapping):
        return f"a mapping from {_plural(args[0])} to {_plural(args[1])}"
    if kind in NOUNS:
        return NOUNS[kind]
    if args and getattr(kind, "__module__", "") in BUILT_IN:
        return f"a {'tuple' if kind is tuple else 'sequence'} of {_plural(args[0])}"
    return _named(kind) if isinstance(kind, type) else "an object"


def _alternatives(kind: Any, args: tuple[Any, ...]) -> str:
    if kind is Literal:
        nouns = [shown(arg) for arg in args]
    elif _is_array(args):
        nouns = ["an array of numbers", *["None"] * (NoneType in args)]
    elif NoneType in args:
        rest = reduce(or_, [arg for arg in args if arg is not NoneType])
        nouns = [described(rest), "None"]
    else:
        nouns = list(dict.fromkeys(described(arg) for arg in args))
    return " or ".join(filter(None, [", ".join(nouns[:-1]), nouns[-1]]))


def _plural(hint: Any) -> str:
    """Describe several values of a type."""
    if hint in (Any, object):
        return "values"
    article, _, noun = described(hint).partition(" ")
    if isinstance(hint, type) and hint not in NOUNS:
        return f"{noun} objects"
    return f"{noun}s" if article in ("a", "an") and " " not in noun else f"{article} {noun}"


def _named(kind: type) -> str:
    """Return a class's name with an article, and with its package if it isn't from this one."""
    package = kind.__module__.partition(".")[0]
    name = kind.__name__
    if package not in ("builtins", "cheaptalk", "__main__"):
        name = f"{package}.{name}"
    return with_article(name)


def _kind(value: object) -> str:
    """Describe a value by its type, and by its text if it consists of plain data."""
    if value is None:
        return "None"
    parts = value.values() if isinstance(value, dict) else value
    parts = list(parts)[:FEW] if isinstance(parts, Collection) else [value]
    plain = all(isinstance(part, str | int | float | NoneType) for part in parts)
    return f"{_named(type(value))}: {shown(value)}" if plain else _named(type(value))
