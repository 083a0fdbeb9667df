"""Stores given by path or URL, and stored studies given by name, study file or study object."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.store import Store
from cheaptalk.rules.arguments import describe_type
from cheaptalk.yaml_files import read_yaml

FILES = (".yaml", ".yml", ".json")
"""Extensions of study files."""
F = TypeVar("F", bound=Callable[..., Any])


class NamedStudy(Protocol):
    """Protocol of :class:`~cheaptalk.studies.study.Study`, which is in a higher layer."""

    @property
    def name(self) -> str: ...

    def written(self) -> dict[str, Any]:
        """Return the study as in a study file."""
        ...


StoreLike: TypeAlias = Store | Path | str
"""An open store, or the path or URL of a store, which is open during the call."""
StudyLike: TypeAlias = NamedStudy | Path | str
"""A stored study: its name, or a study or study file of the same name."""
describe_type(StoreLike, "a store, its file or its URL")
describe_type(StudyLike, "a study, its name or its file")


def name_of(study: StudyLike) -> str:
    """Return the name of a study.

    Raises:
        StoreError: the study file cannot be read, or has no name.
    """
    if not isinstance(study, Path | str):
        return study.name
    if isinstance(study, str) and not study.endswith(FILES):
        return study
    try:
        data = read_yaml(Path(study))
    except ValueError as error:
        raise StoreError(str(error)) from None
    name = data.get("name") if isinstance(data, Mapping) else None
    if not isinstance(name, str):
        raise StoreError(f"{study}: the study file has no name")
    return name


def reads(function: F) -> F:
    """Decorate a function to open stores given by path or URL, and to look up studies' names.

    The function receives a :class:`Store` for each parameter annotated with :data:`StoreLike`, and
    a name for each parameter annotated with :data:`StudyLike`. A store that the decorator opens is
    closed when the function returns, or when the iterator that it returns is exhausted. Because its
    annotations are those for callers, the function asserts the resolved types for type checkers.
    """
    signature = inspect.signature(function)
    hints = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    stores = [name for name, hint in hints.items() if hint in (StoreLike, StoreLike | None)]
    studies = [name for name, hint in hints.items() if hint in (StudyLike, StudyLike | None)]

    def resolved(stack: ExitStack, args: Any, kwargs: Any) -> inspect.BoundArguments:
        bound = signature.bind(*args, **kwargs)
        for name in stores:
            if isinstance(store := bound.arguments.get(name), Path | str):
                bound.arguments[name] = stack.enter_context(Store.open(store))
        for name in studies:
            if (study := bound.arguments.get(name)) is not None:
                bound.arguments[name] = name_of(study)
        return bound

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with ExitStack() as stack:
                bound = resolved(stack, args, kwargs)
                return await function(*bound.args, **bound.kwargs)

        return cast(F, awaited)

    @wraps(function)
    def reading(*args: Any, **kwargs: Any) -> Any:
        with ExitStack() as stack:
            bound = resolved(stack, args, kwargs)
            result = function(*bound.args, **bound.kwargs)
            return _closing(result, stack.pop_all()) if isinstance(result, Iterator) else result

    return cast(F, reading)


def _closing(items: Iterator[Any], stack: ExitStack) -> Iterator[Any]:
    """Yield items, then close the opened stores."""
    with stack:
        yield from items
