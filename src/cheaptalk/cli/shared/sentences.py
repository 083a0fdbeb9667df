"""What several commands say of calls, money and matches, each in one line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import cheaptalk as ct

MOST_DIFFERENCES = 10
"""Differences between two forms of a study that are named."""


def counted(number: int, what: str) -> str:
    """So many of something, as :func:`cheaptalk.rules.counted` words it."""
    return ct.rules.counted(number, what)


def cost_text(cost: ct.records.Cost) -> str:
    """What calls took.

    >>> cost_text(ct.records.Cost(calls=3, dollars=0.25, unpriced=1))
    '3 calls, 0 tokens, $0.25, 1 of unknown price'
    >>> cost_text(ct.records.Cost(calls=36, unpriced=36, uncounted=36))
    '36 calls, tokens unknown for 36 of them, 36 of unknown price'
    >>> cost_text(ct.records.Cost(calls=1, implausible=1, dollars=0.25))
    '1 call, 0 tokens, 1 call with usage that cannot be true, counted by our estimate, $0.25'
    """
    parts = [counted(cost.calls, "call")]
    if cost.tokens or not (cost.uncounted or cost.unresolved):
        parts.append(counted(cost.tokens, "token"))
    if cost.uncounted:
        parts.append(_uncounted(cost.uncounted))
    if cost.implausible:
        calls = counted(cost.implausible, "call")
        parts.append(f"{calls} with usage that cannot be true, counted by our estimate")
    if cost.dollars_known is not None:
        parts.append(ct.studies.money(cost.dollars))
    if cost.unpriced:
        parts.append(f"{cost.unpriced:,} of unknown price")
    if cost.unresolved:
        parts.append(f"{cost.unresolved:,} without a reply")
    if cost.unreached:
        parts.append(f"{counted(cost.unreached, 'attempt')} that reached no server")
    return ", ".join(parts)


def spent(state: ct.studies.RunState) -> str:
    """What a study has cost so far, of what it may.

    Dollars are left out where nobody knows them.
    """
    parts = []
    for unit in ct.studies.UNITS:
        used, most = getattr(state, unit), state.budget.get(unit)
        if most is not None and used is not None:
            so_far = ct.studies.money(used) if unit == "dollars" else f"{used:,}"
            parts.append(f"{so_far} of {ct.studies.amount_text(unit, most)}")
        elif used or (used is not None and not (unit == "tokens" and state.uncounted)):
            parts.append(ct.studies.amount_text(unit, used))
        if unit == "tokens" and state.uncounted:
            parts.append(_uncounted(state.uncounted))
    return ", ".join(parts)


def _uncounted(calls: int) -> str:
    """What is said of calls that brought no count of tokens."""
    return f"tokens unknown for {calls:,} of them"


def state_notes(state: ct.studies.RunState | None) -> list[str]:
    """What a run has spent, and its notice if it has one; nothing before there is a state."""
    return [] if state is None else [one for one in (spent(state), state.notice) if one]


def excluded_text(found: ct.records.Excluded) -> str:
    """What a study's policy for matches without an answer has come to.

    >>> excluded_text(ct.records.Excluded(dropped=1, redealt=1))
    '1 match dropped from measures, 1 match dealt afresh'
    """
    dropped, redealt = (counted(number, "match") for number in found)
    return f"{dropped} dropped from measures, {redealt} dealt afresh"


def set_aside_text(count: int) -> str:
    """What has become of matches that a study no longer plans.

    >>> set_aside_text(1)
    '1 match of earlier forms of the study set aside: in the store and its exports, but not counted'
    """
    return (
        f"{counted(count, 'match')} of earlier forms of the study set aside: in the store "
        "and its exports, but not counted"
    )


def change_lines(changes: ct.studies.StudyChanges | None) -> Iterator[str]:
    """What running a study would change about what the store has of it, a line each.

    >>> seed = "seed is 1; what is stored has 0"
    >>> list(change_lines(ct.studies.StudyChanges("small", [seed], 4, 0, 6)))
    ['small: seed is 1; what is stored has 0', 'small: its 4 recorded matches stay, and 2 are new']
    """
    if changes is None or changes.line is None:
        return
    for difference in changes.differences[:MOST_DIFFERENCES]:
        yield f"{changes.study}: {difference}"
    if len(changes.differences) > MOST_DIFFERENCES:
        further = counted(len(changes.differences) - MOST_DIFFERENCES, "further difference")
        yield f"{changes.study}: and {further}"
    yield f"{changes.study}: {changes.line}"


def at_store(store: str) -> str:
    """The option that names a store, as it is to be typed; a password is left out.

    >>> at_store("my store")
    "--store 'my store'"
    """
    return f"--store {shlex.quote(ct.records.store_name(store))}"


def see_verdicts(study: str, store: str) -> str:
    """The command that shows what judges said.

    >>> see_verdicts("a", "my store")
    "cheaptalk judge a --report --store 'my store'"
    """
    return f"cheaptalk judge {study} --report {at_store(store)}"
