"""Recorded matches that fit: by game, player, place, state, measures and payoffs."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from cheaptalk.records.record import MatchRecord, Status
from cheaptalk.records.store.queries import ORDERS, games_in, in_state, labels_in
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError, game_box, unknown
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import GAMES

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
    "=": operator.eq,
}  # fmt: skip
CONDITION = re.compile(r"([^<>!=]+)(<=|>=|!=|<|>|=)([^<>!=]+)")
PAYOFF = "payoff."
ANYWHERE: Mapping[str, str] = MappingProxyType({})


class Condition(NamedTuple):
    """A bound on a number of a match: a measure's name, or ``payoff.PLACE``."""

    name: str
    holds: Callable[[float, float], bool]
    bound: float

    @classmethod
    def parse(cls, written: str) -> "Condition":
        """A condition such as ``agreement=0`` or ``payoff.bob > 50``.

        Raises:
            CheaptalkError: it is none.
        """
        found = CONDITION.fullmatch(written)
        try:
            assert found is not None
            return cls(found[1].strip(), COMPARISONS[found[2]], float(found[3]))
        except (AssertionError, ValueError):
            form = "NAME=NUMBER, NAME<NUMBER or the like"
            raise CheaptalkError(f"{shown(written)} is not {form}") from None

    def of(self, record: MatchRecord) -> bool:
        """Whether it holds; never where there is no such number."""
        found = self._number(record)
        return found is not None and self.holds(found, self.bound)

    def _number(self, record: MatchRecord) -> float | None:
        if record.status is not Status.FINISHED:
            return None
        if self.name.startswith(PAYOFF):
            return (record.payoffs or {}).get(self.name.removeprefix(PAYOFF))
        measure = game_box(record.game).measures.get(self.name)
        return None if measure is None else measure.variant(False)(record.result())


def find_matches(
    store: Store,
    study: str | None = None,
    *,
    games: Sequence[str] = (),
    players: Sequence[str] = (),
    seats: Mapping[str, str] = ANYWHERE,
    states: Iterable[Status | str] = Status,
    where: Iterable[str] = (),
    sort: str = "stored",
    reverse: bool = False,
) -> Iterator[MatchRecord]:
    """The matches of a store that fit all that is wished, read one by one.

    Args:
        store: open for as long as they are read.
        study: only this study's.
        games: only of these; of all without.
        players: only with all of these, by label.
        seats: only with these players in their places: label by place.
        states: only those that have come so far.
        where: only where measures and payoffs are so, such as ``agreement=0`` or ``payoff.bob>50``:
            all of them.
        sort: one of :data:`~cheaptalk.records.ORDERS`.
        reverse: the last or greatest first.

    Raises:
        StoreError: there is no such study.
        UnknownName: nothing in the store is of a name that is wished.
        CheaptalkError: a condition is none.
    """
    conditions = [Condition.parse(one) for one in where]
    if study is not None:
        store.study(study, counted=False)
    known = games_in(store)
    _check("game", games, known)
    _check("player", [*players, *seats.values()], labels_in(store, study))
    _check("measure", [one.name for one in conditions], _measures(known))
    _check("order", [sort], list(ORDERS))
    key = ORDERS[sort]
    found = store.records(
        study, bodies=True,
        games=games or None, where=in_state(str(one) for one in states),
        order=key.desc() if reverse else key,
    )  # fmt: skip
    return (
        one
        for one in found
        if _seated(one, players, seats) and all(each.of(one) for each in conditions)
    )


def _check(kind: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names that nothing in the store has, as nothing would fit for another reason."""
    for one in wanted:
        if one not in known and not (kind == "measure" and one.startswith(PAYOFF)):
            raise unknown(kind, one, list(known))


def _measures(names: Sequence[str]) -> list[str]:
    """The measures of those of these games that are installed."""
    installed = [game_box(name) for name in names if name in GAMES]
    return sorted({name for box in installed for name in box.measures})


def _seated(record: MatchRecord, players: Sequence[str], seats: Mapping[str, str]) -> bool:
    """Whether all these players sit there, and these in their places."""
    labels = {place: player["label"] for place, player in record.seats.items()}
    there = labels.values()
    return all(one in there for one in players) and seats.items() <= labels.items()
