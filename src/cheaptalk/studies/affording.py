"""Whether what a study is going to take goes with what it may spend."""

from collections.abc import Iterator

from cheaptalk.records.costs import Cost
from cheaptalk.studies.amounts import NOTHING, Amounts, Range, amount_text
from cheaptalk.studies.estimating import Estimate
from cheaptalk.studies.spec import Budget, Cap

UNITS = ("calls", "tokens", "dollars")


def budget_text(budget: Budget) -> str:
    """What a study may spend, in words.

    >>> budget_text(Budget(calls=2000, per_match=Cap(calls=1, dollars=0.1)))
    '2,000 calls; 1 call, $0.10 a match'
    """
    whole, each = caps_text(budget), caps_text(budget.per_match)
    return (
        "; ".join([*([whole] if whole else []), *([f"{each} a match"] if each else [])]) or "none"
    )


def caps_text(cap: Cap) -> str:
    """What a cap allows, in words; empty where it limits nothing."""
    caps = {unit: getattr(cap, unit) for unit in UNITS}
    return ", ".join(amount_text(unit, most) for unit, most in caps.items() if most is not None)


def doubts(takes: Estimate, budget: Budget, spent: Cost) -> Iterator[str]:
    """Where a study may not, or cannot, end within its budget, a sentence each.

    Args:
        takes: what is left of it.
        spent: by the study so far.
    """
    if not takes.matches:
        return
    yield from shortfalls(takes.total, budget, spent, key="budget.", who="the study")
    for unit in UNITS:
        most, needed = getattr(budget.per_match, unit), _of(takes.per_match, unit)
        if most is not None and needed.high > most:
            yield (
                f"budget.per_match.{unit} allows {amount_text(unit, most)}, and a match may take "
                f"up to {amount_text(unit, needed.high)}: one that does fails"
            )


def shortfalls(takes: Amounts, cap: Cap, spent: Cost, *, key: str, who: str) -> Iterator[str]:
    """Where a cap may not, or does not, allow what is left, a sentence each.

    Args:
        takes: what is left.
        spent: so far.
        key: what stands before a unit where the cap is set.
        who: takes it.
    """
    for unit in UNITS:
        most, used, needed = getattr(cap, unit), getattr(spent, unit), _of(takes, unit)
        if most is None or used + needed.high <= most:
            continue
        sure = used + needed.low > most
        least = used + (needed.low if sure else needed.high)
        so_far = f" ({amount_text(unit, used)} so far)" if used else ""
        needs, halts = ("takes at least", "halts") if sure else ("may take up to", "may halt")
        yield (
            f"{key}{unit} allows {amount_text(unit, most)}, and {who} {needs} "
            f"{amount_text(unit, least)}{so_far}: the run {halts} before its end"
        )


def _of(amounts: Amounts, unit: str) -> Range:
    found: Range | None = getattr(amounts, unit)
    return found or NOTHING
