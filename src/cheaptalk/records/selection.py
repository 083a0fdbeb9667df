"""Search for recorded matches by game, player, seat, status, metrics and payoffs."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from cheaptalk.records.record import MatchRecord, Status
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.queries import ORDERS, games_in, labels_in, status_condition
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError, get_game, unknown
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import GAMES

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
CONDITION = re.compile(r"([^<>!=]+)(<=|>=|!=|<|>|=)([^<>!=]+)")
PAYOFF = "payoff_"
ANYWHERE: Mapping[str, str] = MappingProxyType({})


class Condition(NamedTuple):
    """A condition on a metric of a match, or on a payoff named ``payoff_SEAT``."""

    name: str
    holds: Callable[[float, float], bool]
    bound: float

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Parse a condition such as ``agreement=0``; raise CheaptalkError if it is invalid."""
        match = CONDITION.fullmatch(text)
        try:
            assert match is not None
            return cls(match[1].strip(), COMPARISONS[match[2]], float(match[3]))
        except (AssertionError, ValueError):
            form = "a condition: use NAME=NUMBER, NAME<NUMBER or similar"
            raise CheaptalkError(f"{shown(text)} is not {form}") from None

    def of(self, record: MatchRecord) -> bool:
        """Return whether a match has the metric or payoff and satisfies the condition."""
        number = self._number(record)
        return number is not None and self.holds(number, self.bound)

    def _number(self, record: MatchRecord) -> float | None:
        if record.status is not Status.FINISHED:
            return None
        if self.name.startswith(PAYOFF):
            return (record.payoffs or {}).get(self.name.removeprefix(PAYOFF))
        metric = get_game(record.game).metrics.get(self.name)
        return None if metric is None else metric.variant(False)(record.result())


@reads
def find_matches(
    store: StoreLike,
    study: StudyLike | None = None,
    *,
    games: Sequence[str] = (),
    players: Sequence[str] = (),
    seats: Mapping[str, str] = ANYWHERE,
    states: Iterable[Status | str] = Status,
    where: Iterable[str] = (),
    sort: str = "stored",
    reverse: bool = False,
) -> Iterator[MatchRecord]:
    """Yield the matches of a store that satisfy all criteria, read one at a time.

    Args:
        store: must remain open while matches are read.
        study: only matches of this study.
        games: only matches of these games; of all games if empty.
        players: only matches with all these players, by label.
        seats: only matches with these players in these seats: labels by seat.
        states: only matches with these statuses.
        where: conditions on metrics and payoffs that must all hold, such as ``agreement=0`` or
            ``payoff_bob>50``.
        sort: one of :data:`~cheaptalk.records.ORDERS`.
        reverse: sort in descending order.

    Raises:
        StoreError: the study does not exist.
        UnknownName: the store contains no game, player or metric with a given name.
        CheaptalkError: a condition is invalid.
    """
    assert isinstance(store, Store)
    assert study is None or isinstance(study, str)
    conditions = [Condition.parse(condition) for condition in where]
    if study is not None:
        store.study(study, counted=False)
    games_stored = games_in(store)
    _check("game", games, games_stored)
    _check("player", [*players, *seats.values()], labels_in(store, study))
    _check("metric", [condition.name for condition in conditions], _metrics(games_stored))
    _check("order", [sort], list(ORDERS))
    column = ORDERS[sort]
    records = store.records(
        study,
        bodies=True,
        games=games or None,
        where=status_condition(str(state) for state in states),
        order=column.desc() if reverse else column,
    )
    return (
        record
        for record in records
        if _seated(record, players, seats) and all(condition.of(record) for condition in conditions)
    )


def _check(kind: str, names: Sequence[str], known_names: Sequence[str]) -> None:
    """Raise UnknownName for a name that does not occur in the store."""
    for name in names:
        if name not in known_names and not (kind == "metric" and name.startswith(PAYOFF)):
            raise unknown(kind, name, list(known_names))


def _metrics(names: Sequence[str]) -> list[str]:
    installed = [get_game(name) for name in names if name in GAMES]
    return sorted({name for game_spec in installed for name in game_spec.metrics})


def _seated(record: MatchRecord, players: Sequence[str], seats: Mapping[str, str]) -> bool:
    """Return whether a match contains all required players, in the required seats if specified."""
    labels = {seat: player["label"] for seat, player in record.seats.items()}
    present = labels.values()
    return all(label in present for label in players) and seats.items() <= labels.items()
