"""The decision whether a JSON object in a reply is the answer, based on the text around the object.

The referee does not understand replies. It accepts an object only if the text around the object is
known not to change its meaning:

1. The object is the only content of its lines, or of its fence.
2. The text before the object is empty, an announcement of known words, or complete sentences.
3. The text after the object is empty, or a plain explanation. After sentences that do not announce
   the answer, the explanation must begin by stating that the answer is the player's own.

An unknown word leads to a repeated request, never to a wrong move. The known words are in
``reply_words.yaml`` beside this module.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.styles.json_objects import Braced
from cheaptalk.yaml_files import read_yaml

LEXICON: dict[str, Any] = read_yaml(Path(__file__).with_name("reply_words.yaml"))
WORDS = {name: frozenset(text.split()) for name, text in LEXICON.items() if isinstance(text, str)}
PATTERNS = {
    name: re.compile("".join(pieces), re.IGNORECASE)
    for name, pieces in LEXICON.items()
    if isinstance(pieces, list)
}

EMBEDDED = "the answer is part of a sentence, a list, a quotation or a program"
INTRODUCED = "the words before the answer do not say plainly that it is your answer"
FOLLOWED = "the words after the answer leave it in doubt"
COMMENTED = "a comment within the answer leaves it in doubt"
REQUEST = "give the JSON object and nothing else"

MARKS = " `*_#$\\\"'\u201c\u201d[](){}-\u2192\ufeff\t\r\n"
"""Characters that may surround an answer: fences, bold, quotation marks, brackets, bullets."""
VALUE_MARKS = " `*_\"'\u201c\u201d.!\t\r\n"
"""Characters that may surround an answer that is only a value."""
FENCE = re.compile(r"(?:```|~~~)[^`~\n]*$", re.MULTILINE)
TAG = re.compile(
    r"</?(?:(?:final_?)?(?:answer|response|output|action|decision|move)|final|json|tool_call|"
    r"\w+_of_turn|s|eos|bos)(?:\s+[\w-]+=(?:\"[^\"<>]*\"|'[^'<>]*'))*\s*/?>|"
    r"<\|[^<>|]{1,40}\|>(?:final|assistant)?|\[/INST\]|\\boxed\b|"
    r"^functions\.\w+$|^assistant$",
    re.IGNORECASE | re.MULTILINE,
)
"""A tag around an answer, a token of a chat template, or the box of LaTeX."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f])|\n")
FINISHED = re.compile(
    r"[.!\u3002\uff01]$|"  # a sentence
    r"(?:[=\u2248<>]|\\approx)\s*\$?\d[\d.,%]*$"  # a computation
)
LIST_ITEM = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s+\S.*\n\s*\n\Z", re.MULTILINE)
"""A list item that an empty line follows."""
KEY = re.compile(r":[ \t]*\n[ \t]+\S+:\s*$")
"""An indented key, as in YAML."""
CALL = re.compile(r"\w\s*\($")
DOUBTS = ("negation", "condition", "reservation", "retraction", "disclaimer")
"""Patterns of words that may qualify or revoke an answer."""
SPEAKERS = ("i", "i'll", "i've", "i'm", "have", "will", "me")
"""Words before the verb of an announcement, such as "I choose" or "let me propose"."""
DECISIONS = frozenset(("accept", "reject", "decline"))
"""Verbs that name another answer unless they name this one."""
GO_WITH = r"(?!(?<=\bgo) with (?:the following|this|these)\b)"
"""Excludes "I go with this answer", in which "go" is not a choice."""
SHORT = 4
"""Minimum words of a statement (fewer words are a remark), and maximum words of another answer."""


class Vocabulary(NamedTuple):
    """The words and numbers of an answer, and the words of other possible answers, in lowercase."""

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
    """Return why a reply does not clearly give its answer; None if the answer is accepted.

    Args:
        text: the reply without thinking.
        objects: all JSON objects in the reply.
        occurrences: the objects that state the answer, at least one; one clear statement suffices.
        cut_off: whether a length limit ended the reply.
    """
    for item in objects:
        text = f"{text[: item.start]}{'.':{len(item.text)}}{text[item.end :]}"
    problems = [
        _problem(text[: occurrence.start], text[occurrence.end :], vocabulary, cut_off)
        or _doubtful_comment(occurrence.comments, vocabulary)
        for occurrence in occurrences
    ]
    return f"{problems[-1]}: {REQUEST}" if all(problems) else None


def bare_value(text: str) -> str:
    """Return a reply without fences and surrounding punctuation, which may leave a single value."""
    return FENCE.sub("", text).strip(VALUE_MARKS)


def _problem(before: str, after: str, vocabulary: Vocabulary, cut_off: bool) -> str | None:
    if not (_fills_fence(before, after) and _fills_lines(before, after, vocabulary)):
        return EMBEDDED
    lead = _sentences(before)
    explanation = [line for line in _sentences(after) if not PATTERNS["courtesy"].fullmatch(line)]
    is_announced = not lead or _announces(lead[-1], vocabulary)
    if lead and (
        not (is_announced or _finishes(lead[-1], before)) or _names_another(lead[-1], vocabulary)
    ):
        return INTRODUCED
    is_own = is_announced or PATTERNS["affirmation"].match(explanation[0] if explanation else "")
    if explanation and not (is_own and _explains(explanation, vocabulary, cut_off)):
        return FOLLOWED
    return None


def _doubtful_comment(comments: Iterable[str], vocabulary: Vocabulary) -> str | None:
    """Return an error about comments within an object that may change its meaning."""
    for comment in comments:
        words = set(re.findall(r"\w+", comment.casefold()))
        numbers = set(filter(str.isdigit, words))
        if not vocabulary.others.isdisjoint(words) or numbers - vocabulary.own or in_doubt(comment):
            return COMMENTED
    return None


def in_doubt(text: str) -> bool:
    """Return whether a text asks a question, or has a word that may qualify or revoke an answer."""
    return "?" in text or any(PATTERNS[doubt].search(text) for doubt in DOUBTS)


def _fills_fence(before: str, after: str) -> bool:
    """Return whether an object fills the code fence around it; True if there is no fence."""
    fences = list(re.finditer(r"(?:```|~~~)\w*", before))
    if len(fences) % 2 == 0:
        return True
    end = re.search(r"```|~~~", after)
    return not _plain(before[fences[-1].end() :] + after[: end.start() if end else None])


def _fills_lines(before: str, after: str, vocabulary: Vocabulary) -> bool:
    """Return whether an object shares its lines only with an introduction or a new sentence."""
    line = FENCE.sub("", before.rpartition("\n")[2])
    introduction = (_sentences(line) or [_plain(line)])[-1]
    introduces = FINISHED.search(introduction) or _announces(introduction, vocabulary)
    is_code = CALL.search(before) or KEY.search(before)
    rest = _plain(after.partition("\n")[0])
    return bool(introduces and not is_code and re.match(r"[. ]*$|[.,]?\s*[A-Z]", rest))


def _announces(sentence: str, vocabulary: Vocabulary) -> bool:
    """Return whether words only announce an answer, such as "Here is my final offer:"."""
    clause = re.sub(r"[:\uff1a]\W*$|[-=]>$", "", sentence).casefold().replace("\u2019", "'")
    if re.search(r"[^\w\s',.:!()*_`-]", clause):
        return False
    words = re.findall(r"[\w']+", PATTERNS["addition"].sub("", PATTERNS["context"].sub("", clause)))
    verbs = WORDS["verbs"] | vocabulary.own
    acts = any(word in SPEAKERS and verb in verbs for word, verb in pairwise(words))
    known = WORDS["nouns"] | WORDS["fillers"] | (verbs if acts else vocabulary.own)
    return WORDS["connectives"].issuperset(words) or (
        (acts or not WORDS["nouns"].isdisjoint(words))
        and all(word in known or (word.isdigit() and "round" in words) for word in words)
    )


def _finishes(sentence: str, before: str) -> bool:
    """Return whether the text before an answer ends in a statement that is not about the answer."""
    if PATTERNS["pointer"].search(sentence) or PATTERNS["disclaimer"].search(sentence):
        return False
    if LIST_ITEM.search(before):
        return True
    is_remark = len(sentence.split()) < SHORT or sentence.endswith(" no.")
    is_denial = is_remark and PATTERNS["negation"].search(sentence)
    return bool(FINISHED.search(sentence.rstrip("$ "))) and not is_denial


def _explains(sentences: list[str], vocabulary: Vocabulary, cut_off: bool) -> bool:
    """Return whether the text after an answer only explains the answer."""
    for sentence in sentences:
        if sentence.endswith("?") or PATTERNS["retraction"].search(sentence):
            return False
        if _names_another(sentence, vocabulary):
            return False
    if PATTERNS["label"].match(sentences[0]):
        return not any(map(PATTERNS["disclaimer"].search, sentences))
    if cut_off:
        return _begins_plainly(sentences[0])
    return bool(PATTERNS["english"].search(" ".join(sentences))) and all(
        _is_plain(sentence, vocabulary) for sentence in sentences
    )


def _is_plain(sentence: str, vocabulary: Vocabulary) -> bool:
    """Return whether an English sentence is free of denials, conditions and disclaimers."""
    is_remark = len(sentence.split()) < SHORT or PATTERNS["vague"].match(sentence)
    own = "|".join(map(re.escape, sorted(vocabulary.own)))
    confirmation = rf"\bI (?:will|(?:have )?decided to) (?={own})"
    statement = PATTERNS["cause"].sub("", re.sub(confirmation, "", sentence) if own else sentence)
    return not (
        is_remark
        or not PATTERNS["opener"].match(sentence)
        or (PATTERNS["own"].match(sentence) and not PATTERNS["motive"].search(sentence))
        or PATTERNS["disclaimer"].search(sentence)
        or any(
            PATTERNS[doubt].search(statement) for doubt in ("negation", "condition", "reservation")
        )
    )


def _begins_plainly(sentence: str) -> bool:
    """Return whether a truncated text begins as an English statement without a reservation."""
    doubts = (
        PATTERNS["negation"],
        PATTERNS["condition"],
        PATTERNS["disclaimer"],
        PATTERNS["vague"],
    )
    return bool(
        PATTERNS["english"].search(sentence)
        and PATTERNS["opener"].match(sentence)
        and not PATTERNS["reservation"].search(sentence)
        and not any(doubt.match(sentence) for doubt in doubts)
    )


def _names_another(sentence: str, vocabulary: Vocabulary) -> bool:
    """Return whether a sentence names another answer, as in "I would reject"."""
    words = re.findall(r"\w+", sentence.casefold())
    others = "|".join(map(re.escape, sorted(vocabulary.others))) or r"(?!)"
    own = "|".join(sorted(filter(str.isdigit, vocabulary.own)))
    verbs = "|".join(sorted(WORDS["verbs"] | {"go with", "give", "contribute", "prefer"}))
    numbers = rf"(?:{verbs}) (?!(?:{own})\b)\d+" if own else r"(?!)"
    is_short = len(words) <= SHORT and not vocabulary.others.isdisjoint(words)
    act = rf"(?<!\bif )(?<!\bwhen )\bi (?:\w+ )?(?:{others}|{numbers})\b{GO_WITH}"
    decides = words[:1] == ["i"] and not (DECISIONS - vocabulary.own).isdisjoint(words[1:2])
    return is_short or decides or re.search(act, " ".join(words)) is not None


def _sentences(text: str) -> list[str]:
    """Return a text's sentences and lines, without fences, tags and surrounding punctuation."""
    plain = FENCE.sub("", TAG.sub(" ", text))
    return [line for line in map(_plain, SENTENCE_END.split(plain)) if re.search(r"\w", line)]


def _plain(text: str) -> str:
    """Return a text without tags, and without punctuation at its ends."""
    return TAG.sub(" ", text).strip(MARKS)
