"""What a judge is put to, one after the other: matches, or the free answers of people."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from cheaptalk.judges.answers import answers_of
from cheaptalk.judges.items import Item, items_of
from cheaptalk.judges.rubrics import Rubric
from cheaptalk.records import Store
from cheaptalk.records.store.queries import some


class Subject(NamedTuple):
    """A match, or a person's answers.

    Attributes:
        id: its id; see :func:`.answers_id`.
        items: makes what is judged of it.
    """

    id: str
    items: Callable[[], list[Item]]


def subjects(
    store: Store, study: str, rubric: Rubric, ids: Sequence[str], batch: int = 200
) -> Iterator[Subject]:
    """What a judge is put to, in the order of ids.

    Args:
        ids: of matches, or of people's answers where the rubric is for those.
        batch: matches read at once.

    Raises:
        ReplayMismatch: the installed rules do not replay a match whose items are made.
    """
    if rubric.item == "answer":
        found = answers_of(store, study, rubric)
        for id_ in ids:
            yield Subject(id_, partial(found.__getitem__, id_))
        return
    for record in some(store, study, ids, batch):
        yield Subject(record.id, partial(items_of, record, rubric))
