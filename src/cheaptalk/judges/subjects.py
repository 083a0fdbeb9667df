"""The subjects of a judge, one after the other: matches, or people with their free answers."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from cheaptalk.judges.answers import answers_of
from cheaptalk.judges.items import Item, items_of
from cheaptalk.judges.rubrics import Rubric
from cheaptalk.records import Store
from cheaptalk.records.store.queries import read_matches


class Subject(NamedTuple):
    """A match, or a person with their answers.

    Attributes:
        id: the match's id, or :func:`.answers_id`.
        items: creates the items to be judged.
    """

    id: str
    items: Callable[[], list[Item]]


def subjects(
    store: Store, study: str, rubric: Rubric, ids: Sequence[str], batch: int = 200
) -> Iterator[Subject]:
    """Iterate over a judge's subjects, in the order of ids.

    Args:
        ids: of matches, or of people if the rubric is for answers.
        batch: matches read at once.

    Raises:
        ReplayMismatch: the installed rules do not replay a match whose items are requested.
    """
    if rubric.item == "answer":
        items_by_person = answers_of(store, study, rubric)
        for id_ in ids:
            yield Subject(id_, partial(items_by_person.__getitem__, id_))
        return
    for record in read_matches(store, study, ids, batch):
        yield Subject(record.id, partial(items_of, record, rubric))
