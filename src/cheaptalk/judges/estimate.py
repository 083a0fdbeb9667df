"""What a judge is going to cost, as a range, before it is asked anything."""

from dataclasses import dataclass
from typing import Any

from cheaptalk.judges.judges import Judge, matches_for, why_nothing
from cheaptalk.judges.subjects import subjects
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.models.usage import characters
from cheaptalk.records import Store
from cheaptalk.records.costs import Cost
from cheaptalk.records.judgements import GIVEN, judge_cost, judged_items
from cheaptalk.studies.estimates.amounts import Amounts
from cheaptalk.studies.estimates.rehearsal import Load, evenly
from cheaptalk.studies.estimates.tokens import CHARACTERS, REASKED, amounts_of, reasoning_assumed
from cheaptalk.studies.lookup import reads_study

READ = 400
"""Matches whose items are read and measured, at the most."""
VERDICT = (100, 800)
"""Characters of a verdict with its reason and quote: a short one, and a long one."""


@dataclass(frozen=True)
class JudgingEstimate:
    """What a judge is going to take.

    Attributes:
        matches: those to be judged, or the people whose answers are.
        items: what is still to be judged in them.
        before: what was judged before, in the matches that were read.
        invalid_before: what the judge gave no verdict of before, and is not asked about again.
        read: matches that were read to find out.
        spent: by the judge for the study so far.
        amounts: calls, tokens and dollars that are still to come.
        assumes: what the range rests on, a sentence each.
        nothing: why there is nothing to judge, if that is so.
    """

    matches: int
    items: int
    before: int
    invalid_before: int
    read: int
    spent: Cost
    amounts: Amounts
    assumes: tuple[str, ...]
    nothing: str | None

    def as_json(self) -> dict[str, Any]:
        """The estimate as plain data."""
        counts = {name: getattr(self, name) for name in ("matches", "items", "before", "read")}
        told = {"assumes": list(self.assumes), "nothing": self.nothing}
        counts["no_verdict_before"] = self.invalid_before
        return counts | {"spent": self.spent.as_json()} | self.amounts.as_json() | told


@reads_study
def estimate_judging(
    store: Store,
    study: str,
    by: Judge,
    *,
    sample: int | None = None,
    seed: int = 0,
    player: str | None = None,
    again: bool = False,
    prices: Prices | None = None,
) -> JudgingEstimate:
    """Estimate what a judge is going to take for what it has not judged yet; nothing is asked.

    What the judge would read is put together and its characters are counted: in all matches, or in
    400 spread evenly over more. Replies in a cache are not taken into account.

    Args:
        sample: as for :func:`.judge`.
        player: likewise.
        seed: as for :func:`.judge`.
        again: as for :func:`.judge`.
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: no match fits the rubric.
        ReplayMismatch: the installed rules do not replay a match.
    """
    chosen = matches_for(store, study, by, sample=sample, seed=seed, player=player)
    known = judged_items(store, study, by.digest)
    read = evenly(chosen, READ)
    before = without = items = asked = 0
    for subject in subjects(store, study, by.rubric, read):
        for item in subject.items():
            kind = known.get((subject.id, item.name))
            if kind in GIVEN:
                before += 1
            elif kind is not None and not again:
                without += 1
            else:
                items += 1
                asked += characters(by.call(by.messages(item)))
    share = len(chosen) / len(read)
    items, asked = round(items * share), round(asked * share)
    few, many = (Load(items, asked, answered=items * long) for long in VERDICT)
    known_prices = prices or load_prices()
    assumes = [
        f"a token has {CHARACTERS[1]:g} to {CHARACTERS[0]:g} characters",
        f"a verdict with its reason has {VERDICT[0]:,} to {VERDICT[1]:,} characters",
        f"up to {REASKED:.0%} of the items are asked about again because a reply was no verdict",
        "failed sendings are not billed, and no reply is in a cache",
        *reasoning_assumed({"the judge": by.seat}, known_prices),
    ]
    if len(read) < len(chosen):
        assumes.append(f"the {len(chosen):,} matches are as the {len(read):,} that were read")
    amounts = amounts_of((few, many), by.seat, known_prices)
    return JudgingEstimate(
        len(chosen), items, before, without, len(read), judge_cost(store, by.digest, study),
        amounts, tuple(assumes),
        None if items else why_nothing(by.rubric, before, without),
    )  # fmt: skip
