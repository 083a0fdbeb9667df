"""What counts as an answer: an object that stands by itself, and that no word beside it doubts.

The rule is one that a human referee would accept. It reads where an object stands, and the words
that introduce and follow it. A reply in doubt does not count, and its author is asked again. An
introduction consists of a few known words, since any others may deny, quote or suppose; what
follows may explain, so that only words are known there that it may not hold. All are English.
"""

import re
from collections.abc import Iterable

from cheaptalk.styles.json_objects import Braced

MARKS = " `*_#$\\\"'\u201c\u201d[](){}-\ufeff\t\r\n"
"""Marks that may stand around an answer: fences, bold, quotation marks, brackets, list marks."""
VALUE_MARKS = " `*_\"'\u201c\u201d.!\t\r\n"
"""Marks that may stand around a bare value."""
TAG = re.compile(r"</?([\w.:-]{1,40})/?>|<\|[^<>|]{1,40}\|>(?:final|assistant)?|\\boxed\b")
"""A tag around an answer, such as ``<answer>``, a token of a chat template, or LaTeX's box."""
FENCE = re.compile(r"^\s*(?:```|~~~).*$", re.MULTILINE)
SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
CALL = re.compile(r"\w\s*\(\s*$")
"""How the call of a function begins."""
SHORT = 4
"""Words of the longest sentence that is another answer if it holds a word for one."""
BRIEF = 6
"""Words of a brief sentence, in which a denial is about the answer."""
REMARK = 3
"""Words of a remark, which may mean anything unless it is one of thanks."""
THANKS = re.compile(r"thank|deal|agreed|that(?:['\u2019]s| is) all|\d|:", re.IGNORECASE)

NAMES = (
    r"answers?|reply|respon[ds]\w*|decisions?|moves?|messages?|choices?|choos\w+|counter\w*|bid\w*|"
    r"offer\w*|propos\w+|vot(?:e|es|ing)|trad(?:e|es|ing)|orders?|prices?|numbers?|amounts?|"
    r"contribut\w+|plans?|shots?|actions?|json|output|result|object|final|arguments|functions|"
    r"accept\w*|reject\w*|declin\w*"
)
"""What an answer may be called."""
ANNOUNCING = re.compile(
    rf"(?:{NAMES}|here(?:['\u2019]?s)?|is|are|be|my|our|the|an?|i|we|i['\u2019](?:ll|d|m)|shall|will|am|"
    r"let['\u2019]?s|go|going|pick|take|send|submit\w*|give|make|with|as|follow(?:s|ing)|requested|based|"
    r"analysis|reasoning|clear|in|of|on|for|to|format|therefore|thus|hence|so|then|and|now|this|round|"
    r"turn|time|step|brief|short|best|optimal|own|game|\d+)",
    re.IGNORECASE,
)
"""The only words of a clause that may introduce an answer."""
CORE = re.compile(
    rf"\b(?:{NAMES}|here\w*|i|we|follow\w+|so|thus|hence|therefore|now|let['\u2019]?s|go)\b",
    re.IGNORECASE,
)
"""The words of which it holds one."""
DECIDES = re.compile(
    r"\b(?:my|final)\s+(?:\w+\s+)?(?:answer|decision|choice|reply|vote)\b", re.IGNORECASE
)
ADDRESS = re.compile(r"\s+(?:to|for)\s+(?:the\s+|my\s+)?\w+:?$", re.IGNORECASE)
"""To whom an answer goes, at the end of its introduction."""
LEAD_DOUBT = re.compile(
    r"\b(?:not|no|never|none|neither|nor|cannot|\w+n['\u2019]t|refus\w+|wrong|ignor\w+|"  # denials
    r"if|unless|when|whether|would|could|should|might|may|maybe|perhaps|suppos\w+|imagin\w+|assum\w+|"
    r"had|were|or|else|option\w*|tempt\w+|hypothe\w+|drafts?|tests?|"  # conditions
    r"\w*examples?|e\.g|valid|demonstrat\w+|quot\w+|like\s+(?:this|so|that)|"  # examples
    r"(?:the|this|that|required|expected)\s+(?:json\s+)?(?:form|format|structure|syntax))\b|"
    r"^(?-i:return|print|def|for|while|case)\b|\blambda\b|[=;<>]|//",  # programs
    re.IGNORECASE,
)
"""What no introduction may hold, in any of its clauses."""
POINTER = re.compile(r"\b(?:this|these|following)\W*$", re.IGNORECASE)
"""How a sentence ends that is about what follows it."""
AFTER_DOUBT = re.compile(
    r"\b(?:wait|actually|hold(?:ing)?\s+(?:on|out|off)|hmm+|second\s+thoughts?|reflection|instead|"
    r"reconsider\w*|scratch|strike|cancel\w*|undo|void|forget|correction|sorry|kidding|mistakes?|oops|"
    r"retract\w*|withdraw\w*|tak(?:e|ing)\s+(?:it|that|this)\s+back|make\s+(?:it|that)|undecided|unsure|"
    r"chang\w+\s+my\s+mind|other\s+hand|tomorrow|"
    r"let\s+me\s+(?:think|re|check|try)\w*|"  # second thoughts
    r"unless|only\s+if|provided|as\s+long\s+as|maybe|perhaps|would\s+be\s+(?:my|the)|that\s+would\s+be|"
    r"(?:would|\w+['\u2019]d)\s+have|appl(?:y|ies)|(?:holds|counts|stands)\s+if|"  # conditions
    r"pretend\w*|hypothe\w+|jok(?:e|es|ing)|lol|as\s+if|(?:just|only)\s+an?|tests?|fools?|yesterday|"
    r"(?:an?|my)\s+(?:\w+\s+)?(?:example|template|sample|draft)|demonstrat\w+|placeholders?|"
    r"replace\s+the|quot\w+|told\s+me|sent|the\s+(?:line|above)|strings?|instructions?|"
    r"(?:ignore|disregard)\s+(?:the|this|that|it|my)|"  # examples and quotations
    rf"(?:what|how)\s+(?:i['\u2019]?d|an?|one|they|s?he|you|it|no\w*|some\w*|other\w*|{NAMES})|"
    r"my\s+(?:decision|answer)|i(?:\s+\w+)?\s+(?:not|never)|i\s+\w+n['\u2019]t|"
    r"i['\u2019]\w+\s+(?:not|never))\b",  # denials
    re.IGNORECASE,
)
"""What may not follow an answer: second thoughts, conditions, and that it is none."""
DENIAL = re.compile(r"\b(?:no|not|never|nobody|none|\w+n['\u2019]t)\b", re.IGNORECASE)
"""What no short sentence may hold that follows an answer."""
BUT = re.compile(r"\W*(?:no|nope|not|never|but|or|if|though|however|else|is)\b", re.IGNORECASE)
"""How what follows an answer may not begin."""

BESIDE = "the answer does not stand by itself: give the JSON object and nothing else"
DOUBTED = "the words beside the answer leave it in doubt: give the JSON object and nothing else"


def verdict(
    text: str, objects: Iterable[Braced], places: Iterable[Braced], others: set[str]
) -> str | None:
    """Return why none of the places where a reply gives its answer counts; None if one does.

    Args:
        text: the reply without its thinking.
        objects: all objects in it.
        places: those that give the answer.
        others: words that are other answers, in small letters.
    """
    problem = BESIDE
    for one in objects:
        text = f"{text[: one.start]}{'.':{len(one.text)}}{text[one.end :]}"
    for place in places:
        lead, after = text[: place.start], text[place.end :]
        if not (_stands_apart(lead, after) and _fills_fence(lead, after)):
            continue
        if not _is_doubted(lead, after, others):
            return None
        problem = DOUBTED
    return problem


def bare_value(text: str) -> str:
    """Return a reply without the marks around it: a single value may remain."""
    return FENCE.sub("", text).strip(VALUE_MARKS)


def _stands_apart(lead: str, after: str) -> bool:
    """Whether an object is no part of a sentence or of a program."""
    line = _plain(lead.rpartition("\n")[2])
    rest = _plain(after.partition("\n")[0]).lstrip(".,;! ")
    announces = re.search(r"\w", line) and _announces(line) and not CALL.search(lead)
    is_apart = line[-1:] in ".!?:" or bool(announces)
    return is_apart and (not rest or rest[0].isupper())


def _fills_fence(lead: str, after: str) -> bool:
    """Whether the fence around an object, if there is one, holds nothing else."""
    fences = list(FENCE.finditer(lead))
    if len(fences) % 2 == 0:
        return True
    end = FENCE.search(after)
    return not _plain(lead[fences[-1].end() :]) and not _plain(after[: end.start()] if end else "")


def _is_doubted(lead: str, after: str, others: set[str]) -> bool:
    tags = [tag[1] for tag in TAG.finditer(lead.rpartition("\n\n")[2]) if tag[1]]
    before, behind = _sentences(lead), _sentences(after)
    introduction = _introduction(lead, before)
    return (
        any(map(LEAD_DOUBT.search, [introduction, *tags]))
        or not _announces(introduction)
        or any(map(AFTER_DOUBT.search, behind))
        or any(len(sentence.split()) <= BRIEF and DENIAL.search(sentence) for sentence in behind)
        or any(map(BUT.match, behind[:1]))
        or any(map(_is_remark, behind[:1]))
        or any(_answers(sentence, others) for sentence in [*before[-1:], *behind])
    )


def _introduction(lead: str, sentences: list[str]) -> str:
    """The words that introduce an answer; empty if the last sentence before it stands for itself.

    Words on the same line introduce it, and so does a line before it that ends with a colon or,
    with no empty line between, has no end.
    """
    last = sentences[-1] if sentences else ""
    gap = re.search(r"\s*$", FENCE.sub("", TAG.sub(" ", lead)).rstrip(" `*"))
    assert gap is not None
    lines = gap[0].count("\n")
    if last[-1:] in ".!?":
        is_own = bool(POINTER.search(last)) or (lines == 0 and len(last.split()) <= REMARK)
    else:
        is_own = lines < 2 or last.endswith(":")
    outer = sentences[-2] if lines == 0 and len(sentences) > 1 else ""
    return f"{outer if outer.endswith(':') else ''} {last}".strip() if is_own else ""


def _announces(introduction: str) -> bool:
    """Whether the last clause of an introduction, if there is one, only announces an answer."""
    if introduction[-1:] in ".!?":
        return True
    clause = ADDRESS.sub("", re.split(r"[,;.!]\s", introduction)[-1])
    words = re.findall(r"[\w'\u2019]+", clause)
    return not words or (all(map(ANNOUNCING.fullmatch, words)) and bool(CORE.search(clause)))


def _answers(sentence: str, others: set[str]) -> bool:
    """Whether a sentence gives another answer: in few words, by "I", or as a decision."""
    words = re.findall(r"\w+", sentence.casefold())
    if sentence.endswith("?") or others.isdisjoint(words):
        return False
    first = re.search(
        rf"(?<!if )(?<!when )\bi (?:\w+ )?(?:{'|'.join(map(re.escape, others))})\b", " ".join(words)
    )
    return len(words) <= SHORT or first is not None or DECIDES.search(sentence) is not None


def _is_remark(sentence: str) -> bool:
    """Whether a sentence is too short to tell how it is meant."""
    return (
        len(sentence.split()) <= REMARK and sentence[-1:] in ".!?" and not THANKS.search(sentence)
    )


def _sentences(text: str) -> list[str]:
    """The sentences and lines of a text, without marks and tags."""
    split = SENTENCE_END.sub(lambda end: end[0] + "\n", FENCE.sub("", TAG.sub(" ", text)))
    return [line for line in map(_plain, split.split("\n")) if re.search(r"\w", line)]


def _plain(text: str) -> str:
    """A text without marks and tags at its ends."""
    return TAG.sub(" ", text).strip(MARKS)
