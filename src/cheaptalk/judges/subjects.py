"""The inputs of a judge: matches, or participants with free-text survey answers."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from cheaptalk.judges.answers import answers_of
from cheaptalk.judges.items import Item, items_of
from cheaptalk.judges.rubrics import Rubric
from cheaptalk.records import Store
from cheaptalk.records.store.queries import read_matches


class Subject(NamedTuple):
    """A match, or a participant with survey answers.

    Attributes:
        id: the id of the match, or of the participant (see :func:`.answers_id`).
        items: creates the items to judge.
    """

    id: str
    items: Callable[[], list[Item]]


def subjects(
    store: Store, study: str, rubric: Rubric, ids: Sequence[str], batch: int = 200
) -> Iterator[Subject]:
    """Yield the matches or participants with the given ids, in the given order.

    Args:
        ids: ids of matches, or of participants if the rubric is for answers.
        batch: number of matches read together.
    """
    if rubric.item == "answer":
        items_by_person = answers_of(store, study, rubric)
        for id_ in ids:
            yield Subject(id_, partial(items_by_person.__getitem__, id_))
        return
    for record in read_matches(store, study, ids, batch):
        yield Subject(record.id, partial(items_of, record, rubric))
