"""Texts for participants: languages, placeholders, and all texts of a study."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeAlias, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo

from cheaptalk.rules.errors import Location, shown

FIRST = "en"
"""Code of the fallback language of texts."""
CODE = re.compile("[a-z]{2}")
"""Matches the code of a language."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,59}(\.[a-z][a-z0-9_]{0,59})?")
"""Matches the name of an item, or of one of its rows."""
PLACEHOLDER = re.compile(rf"\{{(\{{{NAME.pattern}\}})\}}|\{{({NAME.pattern})\}}")
"""Matches a placeholder, or double braces around a name, which stand for single braces."""


class _Marker:
    """Marks annotations by how their values may change after participants have started."""


MARKER = _Marker()
"""Marks texts for participants, which can be corrected."""
CONTENT = _Marker()
"""Marks other contents of pages, such as images, which can be corrected."""
RECORDED = _Marker()
"""Marks texts that are recorded as answers in the fallback language, and can't change in it."""
LONG = _Marker()
"""Marks texts of several paragraphs."""
ADJUSTABLE = _Marker()
"""Marks settings that can change at any time, such as the number of places."""


def in_languages(data: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is a text in several languages, by two-letter codes."""
    return bool(data) and all(CODE.fullmatch(str(code)) for code in data)


def _check(words: str | dict[str, str]) -> str | dict[str, str]:
    if isinstance(words, dict) and not in_languages(words):
        raise ValueError(
            f"{shown(next(iter(words), ''))} is not the code of a language; write a text, or texts "
            "by two-letter codes, such as {en: Hello, de: Hallo}"
        )
    if isinstance(words, str):
        return words.strip()
    return {code: text.strip() for code, text in words.items()}


Words: TypeAlias = Annotated[str | dict[str, str], AfterValidator(_check), MARKER]
"""A text for participants, or a mapping from language code to text."""


Prose: TypeAlias = Annotated[Words, LONG]
"""A text of several paragraphs for participants, in Markdown."""


def in_language(words: str | Mapping[str, str], code: str) -> str:
    """Return a multilingual text in one language, or else in the fallback language.

    >>> in_language({"en": "Age", "de": "Alter"}, "de"), in_language("Age", "de")
    ('Alter', 'Age')
    """
    if isinstance(words, str):
        return words
    return words.get(code) or words.get(FIRST) or next(iter(words.values()))


def versions(words: str | Mapping[str, str]) -> list[str]:
    """Return a text in all its languages."""
    return [words] if isinstance(words, str) else list(words.values())


def placeholders(words: str | Mapping[str, str]) -> list[str]:
    """Return the names of the placeholders in a text, in any language.

    >>> placeholders({"en": "You are {age}, or {{age}}.", "de": "Sie sind {age}; {trust.self}"})
    ['age', 'trust.self']
    """
    matches = (match for text in versions(words) for match in PLACEHOLDER.finditer(text))
    return list(dict.fromkeys(match[3] for match in matches if match[3]))


def filled(text: str, value: Callable[[str], str]) -> str:
    """Return a text with the values of its placeholders.

    >>> filled("You are {age}. {{age}} is {literal text}.", {"age": "30"}.__getitem__)
    'You are 30. {age} is {literal text}.'
    """
    return PLACEHOLDER.sub(lambda match: match[1] or value(match[3]), text)


def texts_in(
    value: Any, annotation: Any = None, location: Location = ()
) -> Iterator[tuple[Location, str | dict[str, str]]]:
    """Yield all nonempty texts for participants in a part of a study, with their locations."""
    if MARKER in markers(annotation):
        if value:
            yield location, value
    elif isinstance(value, BaseModel):
        for name, info in type(value).model_fields.items():
            if name not in value.model_fields_set:
                continue  # a default is not a text of the study
            yield from texts_in(getattr(value, name), marked(info), (*location, name))
    elif isinstance(value, list | tuple):
        for number, member in enumerate(value):
            yield from texts_in(member, of_members(annotation, list), (*location, number))
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from texts_in(member, of_members(annotation, dict), (*location, key))


def of_members(annotation: Any, container: type) -> Any:
    """Return the annotation of the members of a list or dictionary; None if it is unknown."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else [annotation]
    for option in options:
        plain = get_args(option)[0] if get_origin(option) is Annotated else option
        if get_origin(plain) is container:
            return get_args(plain)[-1]
    return None


def marked(info: FieldInfo) -> Any:
    """Return the annotation of a model's field, with its markers."""
    return Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation


def markers(annotation: Any) -> tuple[Any, ...]:
    """Return the metadata of an annotation."""
    is_annotated = get_origin(annotation) is Annotated
    return tuple(annotation.__metadata__) if is_annotated else ()


class MissingTranslation(NamedTuple):
    """A text that some language of the study lacks: its location and the languages' codes."""

    location: str
    codes: list[str]


def missing_translations(part: BaseModel) -> list[MissingTranslation]:
    """Return the texts that are not in all languages in which any text is.

    A text without languages counts as missing in all languages but the fallback language. Numbers
    and other texts without letters need no translation.
    """
    texts = list(texts_in(part))
    codes = {code for _, words in texts if isinstance(words, dict) for code in words}
    if not codes:
        return []
    missing = []
    for location, words in texts:
        has = {FIRST} if isinstance(words, str) else {code for code in words if words[code]}
        lacks = sorted(codes - has)
        letters = PLACEHOLDER.sub("", "".join(versions(words)))
        if lacks and any(map(str.isalpha, letters)):
            missing.append(MissingTranslation(written_location(part, location), lacks))
    return missing


def written_location(part: BaseModel, location: Location) -> str:
    """Return a location as in a study file, in which an item's kind of answer is a key."""
    names: list[str] = []
    value: Any = part
    for key in location:
        value = getattr(value, str(key)) if isinstance(value, BaseModel) else value[key]
        kind = getattr(type(value), "kind", None)
        if isinstance(key, int):
            names += [getattr(value, "name", "") or str(key), *filter(None, [kind])]
        else:
            names.append(kind if key == "answer" and kind else str(key))
    return ".".join(names)
