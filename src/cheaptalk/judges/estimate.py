"""Estimates of a judge's calls, tokens and cost before a run."""

from dataclasses import dataclass
from typing import Any

from cheaptalk.judges.items import subjects
from cheaptalk.judges.judges import Judge, matches_for, why_nothing
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.models.usage import characters
from cheaptalk.printing.printout import Printed
from cheaptalk.records import Store
from cheaptalk.records.costs import Cost
from cheaptalk.records.judgements import judge_cost, judged_items
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.studies.estimates.amounts import Amounts
from cheaptalk.studies.estimates.rehearsal import Load, evenly
from cheaptalk.studies.estimates.tokens import CHARACTERS, REASKED, amounts_of, reasoning_assumed

READ = 400
"""Maximum number of matches from which items are read."""
VERDICT = (100, 800)
"""Low and high estimate of the characters of a verdict with reason and quote."""


@dataclass(frozen=True, repr=False)
class JudgingEstimate(Printed):
    """The estimated usage of a judge.

    Attributes:
        matches: number of matches to judge, or of participants with answers to judge.
        items: number of remaining items.
        before: number of items with a verdict in the matches that were read.
        invalid_before: number of items with an invalid verdict that won't be judged again.
        read: number of matches read for the estimate.
        spent: the judge's cost for the study so far.
        amounts: remaining calls, tokens and dollars.
        assumes: the assumptions, one sentence each.
        nothing: the reason if there is nothing to judge, or None.
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
        """Return the estimate as JSON-compatible data."""
        counts = {name: getattr(self, name) for name in ("matches", "items", "before", "read")}
        notes = {"assumes": list(self.assumes), "nothing": self.nothing}
        counts["no_verdict_before"] = self.invalid_before
        return counts | {"spent": self.spent.as_json()} | self.amounts.as_json() | notes


@reads
def estimate_judging(
    store: StoreLike,
    study: StudyLike,
    by: Judge,
    *,
    sample: int | None = None,
    seed: int = 0,
    player: str | None = None,
    again: bool = False,
    prices: Prices | None = None,
) -> JudgingEstimate:
    """Estimate a judge's remaining usage without calling the model.

    The estimate counts the characters of the prompts for all matches, or for a sample of 400
    matches. It ignores cached responses.

    Args:
        sample: as for :func:`.judge`.
        seed: as for :func:`.judge`.
        player: as for :func:`.judge`.
        again: as for :func:`.judge`.
        prices: the models' prices; by default from :func:`~cheaptalk.models.prices.load_prices`.

    Raises:
        StoreError: the store has no study of this name.
        CheaptalkError: no match fits the rubric.
        ReplayMismatch: the installed rules cannot replay a match.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    ids = matches_for(store, study, by, sample=sample, seed=seed, player=player)
    kinds = judged_items(store, study, by.digest)
    read = evenly(ids, READ)
    before = invalid = items = prompt_characters = 0
    for subject in subjects(store, study, by.rubric, read):
        pending, judged, invalid_kinds = subject.by_verdict(kinds, again=again)
        before += judged
        invalid += invalid_kinds.total()
        items += len(pending)
        prompt_characters += sum(characters(by.call(by.messages(item))) for item in pending)
    share = len(ids) / len(read)
    items, prompt_characters = round(items * share), round(prompt_characters * share)
    low, high = (Load(items, prompt_characters, answered=items * length) for length in VERDICT)
    known_prices = prices or load_prices()
    assumes = [
        f"a token has {CHARACTERS[1]:g} to {CHARACTERS[0]:g} characters",
        f"a verdict with its reason has {VERDICT[0]:,} to {VERDICT[1]:,} characters",
        f"up to {REASKED:.0%} of the items need a retry because a response was not a valid verdict",
        "failed attempts are not billed, and no response is cached",
        *reasoning_assumed({"the judge": by.seat}, known_prices),
    ]
    if len(read) < len(ids):
        assumes.append(f"the {len(ids):,} matches resemble the {len(read):,} that were read")
    amounts = amounts_of((low, high), by.seat, known_prices)
    return JudgingEstimate(
        len(ids),
        items,
        before,
        invalid,
        len(read),
        judge_cost(store, by.digest, study),
        amounts,
        tuple(assumes),
        None if items else why_nothing(by.rubric, before, invalid),
    )
