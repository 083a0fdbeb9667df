"""The questions that participants answered: texts, admissible values and labels of answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import ValidationError

from cheaptalk.records.exports.columns import INTEGER, NUMBER, TEXT
from cheaptalk.records.store.reader import StoreReader
from cheaptalk.studies.people.answers import (
    Allocation,
    Checkboxes,
    Choices,
    Date,
    Grid,
    Number,
    Ranking,
    Scale,
    Slider,
    Text,
    WithRows,
)
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.page_texts.texts import FIRST, Words
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.people.steps import Games, Step


class Label(NamedTuple):
    """A value of a column, and its text by language."""

    value: str | int
    texts: Mapping[str, str]


class Question(NamedTuple):
    """A question, or a row of it such as a statement of a grid, for which a value is recorded.

    Attributes:
        step: the name of the step that asks it.
        item: the name under which answers are recorded, ``ITEM`` or ``ITEM.ROW``.
        in_game: whether the step is before or after each game.
        once: whether the step is only before or after the first game.
        type: the type of its values.
        range: the admissible values.
        unit: the unit of its values.
        texts: the question by language; empty if it is generated or no longer in the study.
        labels: the labels of values.
    """

    step: str
    item: str
    in_game: bool = False
    once: bool = False
    type: str = TEXT
    range: str = ""
    unit: str = ""
    texts: Mapping[str, str] = {}
    labels: Sequence[Label] = ()


def protocols_of(store: StoreReader, study: str) -> list[Protocol]:
    """Return the protocol of a study, or those of the studies that it pools.

    A protocol that this version can't read is omitted.
    """
    spec = store.study(study, counted=False).spec
    protocols = []
    for source in spec.get("pooled") or [spec]:
        try:
            protocols.append(Protocol.model_validate(source.get("people")))
        except ValidationError:  # no participants, or written by another version
            continue
    return protocols


def steps_of(protocol: Protocol) -> Iterator[tuple[Step, bool]]:
    """Yield each step of a path except the games, and whether it is before or after each game."""
    for step in protocol.path:
        if not isinstance(step, Games):
            yield step, False
            continue
        for inner in (*step.before, *step.after):
            yield inner, True


def questions_of(protocols: Sequence[Protocol]) -> list[Question]:
    """Return the questions of protocols in the order of their paths, without duplicates."""
    questions: dict[tuple[str, str], Question] = {}
    for protocol in protocols:
        for step, in_game in steps_of(protocol):
            for item in (item for part in step.parts for item in part):
                for key, name in item.columns.items():
                    question = Question(
                        step.called,
                        name,
                        in_game,
                        step.once and not step.when,
                        *_values(item),
                        texts=_texts(item, key),
                        labels=_labels(item),
                    )
                    questions.setdefault((step.called, name), question)
    return list(questions.values())


def _by_language(words: Words) -> dict[str, str]:
    return {FIRST: words} if isinstance(words, str) else dict(words)


def _texts(item: Item, key: str) -> dict[str, str]:
    """Return the text of a question by language, with the text of one of its rows."""
    texts = _by_language(item.ask)
    if not isinstance(item.answer, WithRows):
        return texts
    rows = _by_language(item.answer.rows[key])
    first = next(iter(rows.values()))
    fallback = next(iter(texts.values()))
    return {
        code: f"{texts.get(code, fallback)} [{rows.get(code, first)}]"
        for code in dict.fromkeys((*texts, *rows))
    }


def _values(item: Item) -> tuple[str, str, str]:
    """Return the type, the range and the unit of a question's values."""
    match item.answer:
        case Text(max_length=length):
            return TEXT, f"at most {length:,} characters", ""
        case Choices(values=values):
            return TEXT, " | ".join(values), ""
        case Scale(low=low, high=high) | Grid(scale=Scale(low=low, high=high)):
            return INTEGER, f"{low} to {high}", ""
        case Checkboxes():
            return INTEGER, "0 | 1", ""
        case Ranking(positions=positions):
            return INTEGER, f"1 to {len(positions)}", ""
        case Slider(min=low, max=high, step=step, whole=whole):
            return _number(whole), f"{low:g} to {high:g} in steps of {step:g}", ""
        case Number(min=low, max=high, whole=whole):
            bounds = [f">= {low:g}"] if low is not None else []
            return (
                _number(whole),
                ", ".join([*bounds, *([f"<= {high:g}"] if high is not None else [])]),
                "",
            )
        case Allocation(total=total, unit=unit, decimals=decimals):
            first_unit = next(iter(_by_language(unit).values()))
            return _number(decimals == 0), f"0 to {total:g}", first_unit
        case Date(min=first, max=last):
            bounds = [f">= {first}"] if first is not None else []
            last_text = [f"<= {last}"] if last is not None else []
            return TEXT, ", ".join(["YYYY-MM-DD", *bounds, *last_text]), ""
    return TEXT, "", ""


def _number(whole: bool) -> str:
    return INTEGER if whole else NUMBER


def _labels(item: Item) -> list[Label]:
    """Return the labels of a question's values; none if each value is its own text."""
    match item.answer:
        case Choices(values=values, options=options):
            pairs = zip(values, options, strict=True)
            return [Label(value, _by_language(option)) for value, option in pairs]
        case Scale() as scale:
            return _of_scale(scale)
        case Grid(scale=scale):
            return _of_scale(scale)
        case Slider(min=low, max=high, low_label=first, high_label=last):
            ends = ((f"{low:g}", first), (f"{high:g}", last))
            return [Label(value, _by_language(text)) for value, text in ends if text]
        case Checkboxes():
            return [Label(0, {FIRST: "not ticked"}), Label(1, {FIRST: "ticked"})]
    return []


def _of_scale(scale: Scale) -> list[Label]:
    if scale.labels:
        texts = zip(scale.points, scale.labels, strict=True)
    else:
        ends = ((scale.low, scale.low_label), (scale.high, scale.high_label))
        return [Label(value, _by_language(text)) for value, text in ends if text]
    return [Label(value, _by_language(text)) for value, text in texts]
