"""Results of commands: each field is declared once, for text and JSON; and sentences in them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import cheaptalk as ct

MAX_DIFFERENCES = 10
"""Maximum number of printed differences between two versions of a study."""
MAX_PROBLEMS = 10
"""Maximum number of problems that are printed."""


class Field(NamedTuple):
    """A field of a result.

    Attributes:
        key: name in JSON; empty if only the text contains the field.
        value: path of the attribute or function of the result; None for the attribute ``key``.
        text: returns the line or lines that describe a value, which is not empty. None if only JSON
            contains the field.
    """

    key: str
    value: str | Callable[[Any], Any] | None = None
    text: Callable[[Any], str | Iterable[str]] | None = None

    def of(self, result: Any) -> Any:
        """Return the field's value."""
        value = self.key if self.value is None else self.value
        return attrgetter(value)(result) if isinstance(value, str) else value(result)


def as_json(fields: Sequence[Field], result: Any) -> dict[str, Any]:
    """Return the fields of a result as plain data."""
    values = {field.key: field.of(result) for field in fields if field.key}
    return {k: v.as_json() if hasattr(v, "as_json") else v for k, v in values.items()}


def lines(fields: Sequence[Field], result: Any) -> Iterator[str]:
    """Yield the lines that describe a result; empty values and texts are omitted."""
    for field in fields:
        if field.text is not None and (value := field.of(result)):
            text = field.text(value)
            yield from filter(None, [text] if isinstance(text, str) else text)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in singular or plural, e.g. "3 matches"."""
    return ct.rules.counted(number, noun)


def halt_text(reason: str) -> str:
    """Return why a run halted; the stored reason is a code or a sentence."""
    return f"{reason} by cheaptalk control" if reason == ct.studies.STOPPED else reason


def cost_text(cost: ct.records.Cost) -> str:
    """Return the calls, tokens and dollars of a cost as text.

    >>> cost_text(ct.records.Cost(calls=3, dollars=0.25, unpriced=1))
    '3 calls, 0 tokens, $0.25, 1 without a known price'
    >>> cost_text(ct.records.Cost(calls=36, unpriced=36, uncounted=36))
    '36 calls, 36 without token counts, 36 without a known price'
    >>> cost_text(ct.records.Cost(calls=1, implausible=1, dollars=0.25))
    '1 call, 0 tokens, 1 call with implausible usage (estimated instead), $0.25'
    """
    parts = [counted(cost.calls, "call")]
    if cost.tokens or not (cost.uncounted or cost.unresolved):
        parts.append(counted(cost.tokens, "token"))
    if cost.uncounted:
        parts.append(f"{cost.uncounted:,} without token counts")
    if cost.implausible:
        calls = counted(cost.implausible, "call")
        parts.append(f"{calls} with implausible usage (estimated instead)")
    if cost.dollars_known is not None:
        parts.append(ct.studies.money(cost.dollars))
    if cost.unpriced:
        parts.append(f"{cost.unpriced:,} without a known price")
    if cost.unresolved:
        parts.append(f"{cost.unresolved:,} without a response")
    if cost.unreached:
        parts.append(f"{counted(cost.unreached, 'attempt')} that did not reach a server")
    return ", ".join(parts)


def spent(state: ct.studies.RunState) -> str:
    """Return a study's spending and budget as text; dollars are omitted if they are unknown."""
    parts = []
    for unit in ct.studies.UNITS:
        used, cap = getattr(state, unit), state.budget.get(unit)
        if cap is not None and used is not None:
            amount = ct.studies.money(used) if unit == "dollars" else f"{used:,}"
            parts.append(f"{amount} of {ct.studies.amount_text(unit, cap)}")
        elif used or (used is not None and not (unit == "tokens" and state.uncounted)):
            parts.append(ct.studies.amount_text(unit, used))
        if unit == "tokens" and state.uncounted:
            parts.append(f"{state.uncounted:,} without token counts")
    return ", ".join(parts)


def state_notes(state: ct.studies.RunState | None) -> list[str]:
    """Return short texts on a run's spending and its notice."""
    return [] if state is None else [text for text in (spent(state), state.notice) if text]


def excluded_text(excluded: ct.records.Excluded) -> str:
    """Return the numbers of excluded and replaced matches as text; empty if there are none.

    >>> excluded_text(ct.records.Excluded(dropped=1, replaced=1))
    '1 match excluded from metrics, 1 replacement match'
    """
    dropped, replaced = excluded
    if not any(excluded):
        return ""
    replacements = counted(replaced, "replacement match")
    return f"{counted(dropped, 'match')} excluded from metrics, {replacements}"


def superseded_text(count: int) -> str:
    """Return a note on matches that the study's plan no longer contains.

    >>> superseded_text(1)
    '1 match superseded by changes to the study: stored and exported, but not in results'
    """
    reason = "superseded by changes to the study"
    return f"{counted(count, 'match')} {reason}: stored and exported, but not in results"


def each(form: str, limit: int | None = None) -> Callable[[Mapping[str, int]], Iterator[str]]:
    """Return a function that formats each ``name`` and its ``count``, the most frequent first."""

    def texts(counts: Mapping[str, int]) -> Iterator[str]:
        for name, count in Counter(counts).most_common(limit):
            yield form.format(name=name, count=count, matches=counted(count, "match"))

    return texts


def cost_of(subject: str) -> Callable[[ct.records.Cost], str]:
    """Return a function that describes the cost of a subject; empty if no call was sent."""
    return lambda cost: f"{subject}{cost_text(cost)}" if cost.sendings else ""


def unresolved_text(count: int) -> str:
    """Return a note on calls without a recorded response."""
    return f"{counted(count, 'call')} of earlier runs never received a response"


def problem_lines(problems: Counter[str]) -> Iterator[str]:
    """Yield the most frequent problems with their numbers of matches."""
    for problem, count in problems.most_common(MAX_PROBLEMS):
        yield f"{count:,} x {problem}"
    if len(problems) > MAX_PROBLEMS:
        further = counted(len(problems) - MAX_PROBLEMS, "further problem")
        yield f"and {further}; to list all, run: cheaptalk status"


def validity_lines(responses: dict[str, Counter[str]]) -> Iterator[str]:
    """Yield each player's shares of valid and invalid responses; nothing if all are valid.

    >>> list(validity_lines({"model": Counter(ok=15, timed_out=5)}))
    ['model: 20 responses, 75.0 % ok, 25.0 % timed out']
    """
    if not any(kinds.keys() - {"ok"} for kinds in responses.values()):
        return
    for player, kinds in sorted(responses.items()):
        total = kinds.total()
        shares = [f"{100 * n / total:.1f} % {kind}" for kind, n in kinds.most_common()]
        yield f"{player}: {counted(total, 'response')}, {', '.join(shares).replace('_', ' ')}"


def change_lines(changes: ct.studies.StudyChanges | None) -> Iterator[str]:
    """Yield a line for each difference between a study and its stored version.

    >>> seed = "seed is 1 (stored: 0)"
    >>> list(change_lines(ct.studies.StudyChanges("small", [seed], 4, 0, 6)))
    ['small: seed is 1 (stored: 0)', 'small: 4 recorded matches kept, and 2 new']
    """
    if changes is None or changes.line is None:
        return
    for difference in changes.differences[:MAX_DIFFERENCES]:
        yield f"{changes.study}: {difference}"
    if len(changes.differences) > MAX_DIFFERENCES:
        further = counted(len(changes.differences) - MAX_DIFFERENCES, "further difference")
        yield f"{changes.study}: and {further}"
    yield f"{changes.study}: {changes.line}"


def at_store(store: str) -> str:
    """Return the ``--store`` option for a store, without passwords.

    >>> at_store("my store")
    "--store 'my store'"
    """
    return f"--store {shlex.quote(ct.records.store_name(store))}"


def see_verdicts(study: str, store: str) -> str:
    """Return the command that shows judges' verdicts.

    >>> see_verdicts("a", "my store")
    "cheaptalk judge run a --results-only --store 'my store'"
    """
    return f"cheaptalk judge run {study} --results-only {at_store(store)}"
