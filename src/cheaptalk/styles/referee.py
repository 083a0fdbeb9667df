"""Decide whether a reply gives its answer, by where the object is and what is beside it.

The referee does not understand a reply. It counts an answer only if it recognizes everything that
could change what the object means:

1. The object is the only content of its lines, or of its fence.
2. Before it is nothing, an announcement of known words, or reasoning that ends in a full sentence.
3. After it is nothing. If the answer comes first, a plain explanation may follow.

A word that the referee does not know costs a repeated request, never a move. The words are in
:mod:`.reply_words`.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from cheaptalk.styles.json_objects import Braced
from cheaptalk.styles.reply_words import (
    ADDITION,
    CAUSE,
    CONDITION,
    CONNECTIVES,
    CONTEXT,
    COURTESY,
    DISCLAIMER,
    ENGLISH,
    FILLERS,
    LABEL,
    NEGATION,
    NOUNS,
    POINTER,
    RESERVATION,
    RETRACTION,
    VAGUE,
    VERBS,
)

EMBEDDED = "the answer is part of a sentence, a list, a quotation or a program"
INTRODUCED = "the words before the answer do not say plainly that it is your answer"
FOLLOWED = "the words after the answer leave it in doubt"
REQUEST = "give the JSON object and nothing else"

MARKS = " `*_#$\\\"'\u201c\u201d[](){}-\u2192\ufeff\t\r\n"
"""Marks that may surround an answer: fences, bold, quotation marks, brackets, list marks."""
VALUE_MARKS = " `*_\"'\u201c\u201d.!\t\r\n"
"""Marks that may surround a bare value."""
FENCE = re.compile(r"(?:```|~~~)[^`~\n]*$", re.MULTILINE)
TAG = re.compile(
    r"</?(?:(?:final_?)?(?:answer|response|output|action|decision|move)|final|json|tool_call|"
    r"\w+_of_turn|s|eos|bos)/?>|<\|[^<>|]{1,40}\|>(?:final|assistant)?|\[/INST\]|\\boxed\b|"
    r"^functions\.\w+$|^assistant$",
    re.IGNORECASE | re.MULTILINE,
)
"""A tag that marks an answer, a token of a chat template, or LaTeX's box."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f])|\n")
FINISHED = re.compile(
    r"[.!\u3002\uff01]$|"  # a sentence
    r"(?:[=\u2248<>]|\\approx)\s*\$?\d[\d.,%]*$"  # a computation
)
LIST_ITEM = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s+\S.*\n\s*\n\Z", re.MULTILINE)
"""A list that ends with an empty line."""
KEY = re.compile(r":[ \t]*\n[ \t]+\S+:\s*$")
"""An indented key, as in YAML."""
CALL = re.compile(r"\w\s*\($")
SHORT = 4
"""Words of the shortest sentence that is more than a remark, and of the longest other answer."""


class Vocabulary(NamedTuple):
    """The words and numbers of an answer, and the words of other answers, in small letters."""

    own: frozenset[str]
    others: frozenset[str]


def verdict(
    text: str,
    objects: Iterable[Braced],
    occurrences: Iterable[Braced],
    vocabulary: Vocabulary,
    *,
    cut_off: bool = False,
) -> str | None:
    """Return why none of the places where a reply gives its answer counts; None if one does.

    Args:
        text: the reply without its thinking.
        objects: all objects in it.
        occurrences: those that give the answer; at least one.
        vocabulary: what the answer and other answers are called.
        cut_off: whether a length limit ended the reply.
    """
    for item in objects:
        text = f"{text[: item.start]}{'.':{len(item.text)}}{text[item.end :]}"
    problems = [
        _problem(text[: occurrence.start], text[occurrence.end :], vocabulary, cut_off)
        for occurrence in occurrences
    ]
    return f"{problems[-1]}: {REQUEST}" if all(problems) else None


def bare_value(text: str) -> str:
    """Return a reply without the marks around it: a single value may remain."""
    return FENCE.sub("", text).strip(VALUE_MARKS)


def _problem(before: str, after: str, vocabulary: Vocabulary, cut_off: bool) -> str | None:
    if not (_fills_fence(before, after) and _fills_lines(before, after, vocabulary)):
        return EMBEDDED
    lead = _sentences(before)
    explanation = [line for line in _sentences(after) if not COURTESY.fullmatch(line)]
    is_announced = not lead or _announces(lead[-1], vocabulary)
    if lead and (
        not (is_announced or _finishes(lead[-1], before)) or _names_another(lead[-1], vocabulary)
    ):
        return INTRODUCED
    comes_first = is_announced and len(lead) <= 1
    if explanation and not (comes_first and _explains(explanation, vocabulary, cut_off)):
        return FOLLOWED
    return None


def _fills_fence(before: str, after: str) -> bool:
    """Whether the fence around an object, if there is one, holds nothing else."""
    fences = list(re.finditer(r"(?:```|~~~)\w*", before))
    if len(fences) % 2 == 0:
        return True
    end = re.search(r"```|~~~", after)
    return not _plain(before[fences[-1].end() :] + after[: end.start() if end else None])


def _fills_lines(before: str, after: str, vocabulary: Vocabulary) -> bool:
    """Whether an object shares its lines only with what may introduce or follow it."""
    line = FENCE.sub("", before.rpartition("\n")[2])
    introduction = (_sentences(line) or [_plain(line)])[-1]
    introduces = FINISHED.search(introduction) or _announces(introduction, vocabulary)
    is_code = CALL.search(before) or KEY.search(before)
    rest = _plain(after.partition("\n")[0])
    return bool(introduces and not is_code and re.match(r"[. ]*$|[.,]?\s*[A-Z]", rest))


def _announces(sentence: str, vocabulary: Vocabulary) -> bool:
    """Whether words only announce an answer, as "Here is my final offer:" does."""
    clause = re.sub(r"[:\uff1a]\W*$|[-=]>$", "", sentence).casefold().replace("\u2019", "'")
    if re.search(r"[^\w\s',.:!()*_`-]", clause):
        return False
    words = re.findall(r"[\w']+", ADDITION.sub("", CONTEXT.sub("", clause)))
    verbs = VERBS | vocabulary.own
    acts = any(
        before in ("i", "i'll", "will") and verb in verbs for before, verb in pairwise(words)
    )
    known = NOUNS | FILLERS | (verbs if acts else vocabulary.own)
    return CONNECTIVES.issuperset(words) or (
        (acts or not NOUNS.isdisjoint(words))
        and all(word in known or (word.isdigit() and "round" in words) for word in words)
    )


def _finishes(sentence: str, before: str) -> bool:
    """Whether what precedes an answer ends in a statement that is not about the answer."""
    if POINTER.search(sentence) or DISCLAIMER.search(sentence):
        return False
    if LIST_ITEM.search(before):
        return True
    is_remark = len(sentence.split()) < SHORT or sentence.endswith(" no.")
    is_denial = is_remark and NEGATION.search(sentence)
    return bool(FINISHED.search(sentence.rstrip("$ "))) and not is_denial


def _explains(sentences: list[str], vocabulary: Vocabulary, cut_off: bool) -> bool:
    """Whether what follows an answer is an explanation that changes nothing about it."""
    if any(
        sentence.endswith("?")
        or RETRACTION.search(sentence)
        or _names_another(sentence, vocabulary)
        for sentence in sentences
    ):
        return False
    if LABEL.match(sentences[0]):
        return not any(map(DISCLAIMER.search, sentences))
    if cut_off:
        return _begins_plainly(sentences[0])
    return bool(ENGLISH.search(" ".join(sentences))) and all(
        _is_plain(sentence, vocabulary) for sentence in sentences
    )


def _is_plain(sentence: str, vocabulary: Vocabulary) -> bool:
    """Whether an English sentence neither denies, limits nor disclaims an answer."""
    is_remark = len(sentence.split()) < SHORT or VAGUE.match(sentence)
    own = "|".join(map(re.escape, sorted(vocabulary.own)))
    confirmation = rf"\bI (?:will|(?:have )?decided to) (?={own})"
    statement = CAUSE.sub("", re.sub(confirmation, "", sentence) if own else sentence)
    return not (
        is_remark
        or DISCLAIMER.search(sentence)
        or any(doubt.search(statement) for doubt in (NEGATION, CONDITION, RESERVATION))
    )


def _begins_plainly(sentence: str) -> bool:
    """Whether chatter that a limit cut off begins as an English statement without reservation."""
    doubts = (NEGATION, CONDITION, DISCLAIMER, VAGUE)
    return bool(
        ENGLISH.search(sentence)
        and not RESERVATION.search(sentence)
        and not any(doubt.match(sentence) for doubt in doubts)
    )


def _names_another(sentence: str, vocabulary: Vocabulary) -> bool:
    """Whether a sentence gives another answer: in few words, or as what "I" do."""
    words = _words(sentence)
    others = "|".join(map(re.escape, sorted(vocabulary.others))) or r"(?!)"
    own = "|".join(sorted(filter(str.isdigit, vocabulary.own)))
    verbs = "|".join(sorted(VERBS | {"go with", "give", "contribute", "prefer"}))
    numbers = rf"(?:{verbs}) (?!(?:{own})\b)\d+" if own else r"(?!)"
    is_short = len(words) <= SHORT and not vocabulary.others.isdisjoint(words)
    acts = re.search(
        rf"(?<!\bif )(?<!\bwhen )\bi (?:\w+ )?(?:{others}|{numbers})\b", " ".join(words)
    )
    return is_short or acts is not None


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _sentences(text: str) -> list[str]:
    """The sentences and lines of a text, without fences, tags and marks."""
    plain = FENCE.sub("", TAG.sub(" ", text))
    return [line for line in map(_plain, SENTENCE_END.split(plain)) if re.search(r"\w", line)]


def _plain(text: str) -> str:
    """A text without marks and tags at its ends."""
    return TAG.sub(" ", text).strip(MARKS)
