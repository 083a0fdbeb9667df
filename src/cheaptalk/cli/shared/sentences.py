"""Messages on calls, cost and matches that several commands print."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import cheaptalk as ct

MAX_DIFFERENCES = 10
"""Maximum number of printed differences between two versions of a study."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in singular or plural, e.g. "3 matches"."""
    return ct.rules.counted(number, noun)


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
    """Return the numbers of excluded and replaced matches as text.

    >>> excluded_text(ct.records.Excluded(dropped=1, replaced=1))
    '1 match excluded from metrics, 1 replacement match'
    """
    dropped, replaced = excluded
    replacements = counted(replaced, "replacement match")
    return f"{counted(dropped, 'match')} excluded from metrics, {replacements}"


def superseded_text(count: int) -> str:
    """Return a note on matches that the study's plan no longer contains.

    >>> superseded_text(1)
    '1 match superseded by changes to the study: stored and exported, but not in results'
    """
    reason = "superseded by changes to the study"
    return f"{counted(count, 'match')} {reason}: stored and exported, but not in results"


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
