"""Differences between two versions of a study: texts, adjustable settings and rules.

The annotations of fields determine which is which (see the markers in :mod:`.texts`): texts and
other contents of pages can be corrected after participants have started, and some settings can be
adjusted at any time. All other fields are rules, which stay as they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from cheaptalk.records.people.corrections import TextChange
from cheaptalk.rules.errors import Location, shown
from cheaptalk.studies.people.page_texts.texts import (
    ADJUSTABLE,
    CONTENT,
    FIRST,
    MARKER,
    RECORDED,
    in_language,
    marked,
    markers,
    of_members,
    written_location,
)
from cheaptalk.studies.people.steps import Step, Treatment

ADVICE = (
    "after participants have started, rules can't change; restore it, or use another study name"
)


class RuleChange(NamedTuple):
    """A changed rule: its location in the study file, and what has changed."""

    location: str
    problem: str


class Differences(NamedTuple):
    """The differences between two versions of a study.

    Attributes:
        texts: the changed texts and other contents of pages, in order.
        settings: names of changed settings that can change at any time.
        rules: the changed rules, in order.
    """

    texts: list[TextChange]
    settings: list[str]
    rules: list[RuleChange]

    @property
    def rule(self) -> str:
        """A sentence about the first changed rule; empty if no rule has changed."""
        return f"{self.rules[0].location}: {self.rules[0].problem}; {ADVICE}" if self.rules else ""

    @property
    def any(self) -> bool:
        return bool(self.texts or self.settings or self.rules)


@dataclass(frozen=True)
class _Rule:
    location: Location
    problem: str


@dataclass(frozen=True)
class _Setting:
    location: Location


@dataclass(frozen=True)
class _Text:
    location: Location
    language: str
    before: str | None
    after: str | None


_Difference = _Rule | _Setting | _Text


def differences(old: BaseModel, new: BaseModel) -> Differences:
    """Compare two versions of a study or of a part of it.

    >>> from cheaptalk.studies.people.steps import Consent
    >>> differences(Consent(text="Helo."), Consent(text="Hello.")).texts
    [TextChange(text='text', language='', before='Helo.', after='Hello.')]
    >>> differences(Consent(text="Hi."), Consent(text="Hi.", once=False)).rule.partition(";")[0]
    'once: true was changed to false'
    """
    found = list(_of_models(old, new, ()))
    texts = [
        TextChange(
            _written(new if item.after is not None else old, item.location),
            item.language,
            item.before,
            item.after,
        )
        for item in found
        if isinstance(item, _Text)
    ]
    settings = [_written(new, item.location) for item in found if isinstance(item, _Setting)]
    rules = [
        RuleChange(_written(old, item.location), item.problem)
        for item in found
        if isinstance(item, _Rule)
    ]
    return Differences(texts, settings, rules)


def _written(part: BaseModel, location: Location) -> str:
    return written_location(part, location) or "study"


def _of_models(old: BaseModel, new: BaseModel, location: Location) -> Iterator[_Difference]:
    if type(old) is not type(new):
        yield _Rule(location, f"{_kind(old)} was changed to {_kind(new)}")
        return
    found: list[_Difference] = []
    for name, info in type(old).model_fields.items():
        if not info.exclude:
            values = getattr(old, name), getattr(new, name)
            found += _of_values(*values, marked(info), (*location, name))
    yield from found
    if isinstance(old, Step) and isinstance(new, Step) and _parts(old) != _parts(new):
        yield _Rule(
            location,
            "the questions are divided differently into pages, because the placeholders in a text "
            "refer to another question of the step",
        )


def _of_values(old: Any, new: Any, annotation: Any, location: Location) -> Iterator[_Difference]:
    marks = markers(annotation)
    if MARKER in marks:
        yield from _of_words(old, new, location, recorded=RECORDED in marks)
    elif CONTENT in marks:
        yield from _of_contents(old, new, location)
    elif ADJUSTABLE in marks:
        if old != new:
            yield _Setting(location)
    else:
        yield from _of_rules(old, new, annotation, location)


def _of_words(
    old: str | dict[str, str], new: str | dict[str, str], location: Location, *, recorded: bool
) -> Iterator[_Difference]:
    before, after = in_language(old, FIRST), in_language(new, FIRST)
    if recorded and before != after:
        problem = f"{shown(before)} was changed to {shown(after)}, but it is recorded as an answer"
        yield _Rule(location, problem)
    else:
        yield from _of_texts(old, new, location)


def _of_contents(old: Any, new: Any, location: Location) -> Iterator[_Difference]:
    """Yield the changed contents of pages: a text, also by language, or files by name."""
    if location[-1:] != ("files",):
        yield from _of_texts(old, new, location)
        return
    for name in dict.fromkeys([*old, *new]):
        yield from _of_texts(old.get(name), new.get(name), (*location, name))


def _of_rules(old: Any, new: Any, annotation: Any, location: Location) -> Iterator[_Difference]:
    match old, new:
        case BaseModel(), BaseModel():
            yield from _of_models(old, new, location)
        case ((list() | tuple()), (list() | tuple())):
            yield from _of_lists(old, new, of_members(annotation, list), location)
        case dict(), dict() if _has_same_keys(old, new, member := of_members(annotation, dict)):
            for key in old:
                yield from _of_values(old[key], new[key], member, (*location, str(key)))
        case dict(), dict():
            yield _Rule(location, f"{_names(old)} was changed to {_names(new)}")
        case _ if old != new:
            yield _Rule(location, f"{_text(old)} was changed to {_text(new)}")


def _has_same_keys(old: Mapping[str, Any], new: Mapping[str, Any], member: Any) -> bool:
    """Return whether two mappings have the same keys, in the same order if it has a meaning."""
    is_ordered = MARKER in markers(member) or member is Treatment  # rows, and fixed orders
    return [*old] == [*new] if is_ordered else old.keys() == new.keys()


def _of_lists(old: Any, new: Any, member: Any, location: Location) -> Iterator[_Difference]:
    if len(old) != len(new):
        yield _Rule(location, f"it has {len(new)} entries instead of {len(old)}")
        return
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        yield from _of_values(before, after, member, (*location, number))


def _of_texts(old: Any, new: Any, location: Location) -> Iterator[_Text]:
    """Yield the changed versions of a text; a text without languages is in the fallback one."""
    several = isinstance(old, Mapping) or isinstance(new, Mapping)
    before, after = _by_language(old), _by_language(new)
    for code in dict.fromkeys([*before, *after]):
        if before.get(code) != after.get(code):
            language = code if several else ""
            yield _Text(location, language, before.get(code), after.get(code))


def _by_language(words: str | Mapping[str, str] | None) -> Mapping[str, str]:
    if words is None:
        return {}
    return {FIRST: words} if isinstance(words, str) else words


def _parts(step: Step) -> list[list[str]]:
    return [[item.name for item in part] for part in step.parts]


def _kind(model: BaseModel) -> str:
    kind = getattr(type(model), "kind", None)
    return str(kind or type(model).__name__)


def _names(value: Mapping[str, Any]) -> str:
    return ", ".join(map(str, value)) or "nothing"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.15g}"
    return "nothing" if value in (None, "") else shown(value)
