"""Tagged text: answers that begin with a tag such as ``[propose]``, as in Deal or No Deal."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from pydantic import ValidationError

from cheaptalk.rules import Action, Ask, explain
from cheaptalk.styles.codec import CUT_OFF, EMPTY, IllegalMove
from cheaptalk.styles.json_objects import NoAnswer, Unparsable, after_thinking
from cheaptalk.styles.referee import FOLLOWED, in_doubt

LETTER = r"[^\W\d_]"
NUMBER = (
    rf"(?<!{LETTER})(?<!\d)[-+\N{{MINUS SIGN}}\N{{EN DASH}}]?\d+(?:[.,/]\d+)*"
    rf"(?!\d|[.,/]\d|{LETTER})"
)
"""A number; without possessive groups, which Python before 3.11.5 handles incorrectly."""


FILLER = re.compile(
    r"(?:\b(?:and|of|the|i|take|want|get|keep|propose|for|me|my|share|is|x)\b|"
    r"[\s,.;:()\[\]*_`=&\u00d7\u2022\u2013-])*",
    re.IGNORECASE,
)
"""Text that may surround the numbers and items of a proposal without changing its meaning."""


class TaggedCodec:
    """A codec for answers such as ``[message] Any text.`` or ``[propose] (1 books, 2 hats)``.

    A response is one answer and begins with a tag. The tag ``text`` and a space precede an action's
    text field, unchanged. The tag ``numbers`` precedes the integer fields, with their names and in
    their order. Tags may be in upper case, and thinking before the tag is skipped. A truncated
    response is invalid, because its message may be incomplete.

    Corrections follow Liao, Tomlin and Klein (2024, Table 1), as far as they do not depend on the
    rules. Parsing is stricter than their code, which reads numbers and items that were not written:
    "-1" is not 1, "that" does not contain a "hat", each number must be next to its item, two
    proposals are ambiguous, words such as "not" or "maybe" void a proposal, and text after it must
    not name an item or number, ask, or express doubt.

    A message from another style may contain a tag; it is written unchanged, but cannot be parsed.
    """

    def __init__(self, text: str, numbers: str) -> None:
        self.text = f"[{text}]"
        self.numbers = f"[{numbers}]"
        self._tag = re.compile(rf"\[(?:{re.escape(text)}|{re.escape(numbers)})\]", re.IGNORECASE)

    def form(self, action: type[Action]) -> str:
        return " or ".join(self._forms(_fields(action)))

    def write(self, action: Action) -> str:
        fields = _fields(type(action))
        if fields.text is not None and getattr(action, fields.text) is not None:
            return f"{self.text} {getattr(action, fields.text)}"
        counts = ", ".join(f"{getattr(action, name)} {name}" for name in fields.numbers)
        return f"{self.numbers} ({counts})"

    def read(self, reply: str, ask: Ask, *, cut_off: bool = False) -> Action:
        fields = _fields(ask.action)
        tag, body = self._split(reply, cut_off)
        if cut_off:
            raise Unparsable(CUT_OFF)
        if tag == self.numbers and fields.numbers:
            values: dict[str, Any] = _counts(body, fields.numbers)
        elif tag == self.text and fields.text is not None:
            values = {fields.text: body.removeprefix(" ")}
        else:
            tags = " or ".join(form.partition(" ")[0] for form in self._forms(fields))
            raise IllegalMove(f"no {tag} is possible now: begin with {tags}")
        try:
            action = ask.action.model_validate(values)
        except ValidationError as error:
            raise Unparsable(f"no answer could be read: {explain(error)}") from None
        reason = ask.refuse(action)
        if reason is not None:
            raise IllegalMove(reason)
        return action

    def _split(self, reply: str, cut_off: bool) -> tuple[str, str]:
        """Return the tag at the beginning of a response, and the text after the tag."""
        text = reply.lstrip()
        tag = self._tag.match(text)
        if tag is None:
            text = after_thinking(text).lstrip()
            tag = self._tag.match(text)
        if tag is None:
            if not text or (cut_off and text[0] == "["):
                raise Unparsable(CUT_OFF if cut_off else EMPTY)
            raise NoAnswer(f"a reply must begin with {self.text} or {self.numbers}")
        body = text[tag.end() :]
        if self._tag.search(body):
            raise Unparsable(
                f"{self.text} and {self.numbers} may stand only once, at the beginning of a reply"
            )
        return tag.group().lower(), body

    def _forms(self, fields: "Fields") -> Iterator[str]:
        if fields.text is not None:
            yield f"{self.text} <{fields.text}>"
        if fields.numbers:
            yield f"{self.numbers} ({', '.join(f'<number> {name}' for name in fields.numbers)})"


class Fields(NamedTuple):
    """The fields of an action: the text field, if any, and the integer fields."""

    text: str | None
    numbers: tuple[str, ...]


@cache
def _fields(action: type[Action]) -> Fields:
    """Return the text field and the integer fields; raise an error for other fields."""
    kinds = {
        name: [option.get("type") for option in spec.get("anyOf", [spec]) if "enum" not in option]
        for name, spec in action.model_json_schema()["properties"].items()
    }
    texts = [name for name, kind in kinds.items() if "string" in kind]
    numbers = tuple(name for name, kind in kinds.items() if "integer" in kind)
    if len(texts) > 1 or len(texts) + len(numbers) < len(kinds):
        raise TypeError(f"{action.__name__} cannot be written as tagged text")
    return Fields(texts[0] if texts else None, numbers)


def _counts(body: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return the count that a proposal gives for each item; items may be in the singular."""
    items = "|".join(rf"(?P<{name}>{name.removesuffix('s')}s?)" for name in names)
    pattern = rf"(?P<number>{NUMBER})|(?<!{LETTER})(?:{items})(?!{LETTER}|\d)"
    matches = [*re.finditer(pattern, body, re.IGNORECASE)]
    tokens = [(match.lastgroup or "", match.group()) for match in matches]
    numbers = [text for kind, text in tokens if kind == "number"]
    item_names = f"{', '.join(names[:-1])} and {names[-1]}"
    if [kind for kind, _ in tokens if kind != "number"] != list(names):
        raise Unparsable(f"a proposal must name {item_names}, once each and in this order")
    if len(numbers) != len(names):
        raise Unparsable(
            f"a proposal must hold exactly {len(names)} numbers in figures, one each of "
            f"{item_names}"
        )
    is_number = [kind == "number" for kind, _ in tokens]
    if is_number not in ([True, False] * len(names), [False, True] * len(names)):
        raise Unparsable("each number must stand beside its item")
    for text in numbers:
        if not (text.isascii() and text.isdigit()):
            raise Unparsable(f'a number of items must be 0, 1, 2 and so on, not "{text}"')
    ends = [0, *(match.end() for match in matches)]
    gaps = [body[end : match.start()] for end, match in zip(ends, matches, strict=False)]
    if not all(map(FILLER.fullmatch, gaps)):
        raise Unparsable("a proposal must hold numbers and items, and no other words between them")
    if in_doubt(body[ends[-1] :]):
        raise Unparsable(FOLLOWED)
    return dict(zip(names, numbers, strict=True))
