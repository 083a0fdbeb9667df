"""What a judge is to judge: the matches of a study, and the items in them."""

from cheaptalk.measures.items import Item, items_of
from cheaptalk.measures.judges import Judge
from cheaptalk.measures.rubrics import Rubric
from cheaptalk.records import Status, Store, digest
from cheaptalk.records.browsing import ended_matches, some
from cheaptalk.rules import CheaptalkError


def matches_for(
    store: Store, study: str, by: Judge, *, sample: int | None = None, seed: int = 0
) -> list[str]:
    """The matches that a judge is to judge: finished ones of games that its rubric fits.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: it has none.
    """
    store.study(study)
    ended = ended_matches(store, study, Status.FINISHED)
    games = sorted({game for _, game in ended})
    found = [id_ for id_, game in ended if by.rubric.fits(game)]
    if not found:
        of = f"its games are {', '.join(games)}" if games else "it has no finished match"
        fits = f", which fits {', '.join(by.rubric.games)}" if by.rubric.games else ""
        raise CheaptalkError(f"{study} has nothing to judge by {by.rubric.name}{fits}: {of}")
    if sample is None or sample >= len(found):
        return found
    drawn = set(sorted(found, key=lambda id_: digest("sample", seed, id_))[:sample])
    return [id_ for id_ in found if id_ in drawn]


def first_item(
    store: Store, study: str, by: Judge, *, sample: int | None = None, seed: int = 0
) -> tuple[str, Item]:
    """The first thing that a judge is asked about, with its match's id.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: it has nothing to judge.
    """
    chosen = matches_for(store, study, by, sample=sample, seed=seed)
    for record in some(store, study, chosen, batch=20):
        for item in items_of(record, by.rubric):
            return record.id, item
    raise CheaptalkError(
        f"{study} has nothing to judge by {by.rubric.name}: {why_nothing(by.rubric, 0)}"
    )


def why_nothing(rubric: Rubric, before: int) -> str:
    """Why matches hold nothing to judge by a rubric, where so much was judged before."""
    if before:
        return "all was judged before"
    if rubric.item == "move" and rubric.actions is not None:
        return f"nobody gave an answer that it judges ({', '.join(rubric.actions)})"
    return "nobody said a word"
