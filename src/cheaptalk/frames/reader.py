"""What frames by match and frames by round share: which matches count, and reading them."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import polars as pl

from cheaptalk.records import MatchRecord, Status, Store
from cheaptalk.records.exclusions import Unanswered, policies_of
from cheaptalk.rules import CheaptalkError, GameBox, Quantity, Result, game_box, unknown
from cheaptalk.rules.bounds import beyond, within
from cheaptalk.rules.display import brief, html_table

RowValues = list[Any]
Q = TypeVar("Q", bound=Quantity[Any])


class MeasureError(CheaptalkError):
    """A measure or a series failed on a match, or left its bounds, or its name is taken."""


class Reader:
    """Tells which matches of a study count, and what stands in them.

    Args:
        policies: which matches are dropped.
    """

    def __init__(self, policies: Unanswered) -> None:
        self.dropping = {kind for kind, one in policies.by_kind.items() if one != "keep"}

    @classmethod
    def of(cls, store: Store, study: str) -> "Reader":
        """For the matches of a study.

        Raises:
            StoreError: there is no such study.
        """
        return cls(policies_of(store.study(study, counted=False).spec))

    def dropped(self, record: MatchRecord) -> bool:
        """Whether the study's policies drop the match."""
        for counts in record.kinds.values():
            for kind, count in counts.items():
                if count and kind in self.dropping:
                    return True
        return False

    def counts(self, record: MatchRecord) -> bool:
        """Whether the match has payoffs that count: it finished and was not dropped."""
        return record.status is Status.FINISHED and not self.dropped(record)

    def result(self, record: MatchRecord) -> Result | None:
        """A match that counts as measures see it; None under other rules than those installed."""
        current = record.version == game_box(record.game).rules.version
        return record.result() if current and self.counts(record) else None


def failed(kind: str, name: str, record: MatchRecord, error: Exception) -> MeasureError:
    """What to raise where a measure or series failed on a match."""
    return MeasureError(
        f"{kind} {name} of {record.game} failed on match {record.id}: "
        f"{type(error).__name__}: {error}"
    )


def check_bounds(kind: str, one: Quantity[Any], value: float | None, record: MatchRecord) -> None:
    """Demand that a number of a measure or series lies in its bounds, where it is defined.

    Raises:
        MeasureError: it does not.
    """
    bounds = one.bounds_in(record.rules)
    if value is not None and not within(value, bounds):
        raise MeasureError(
            f"{kind} {one.name} of {record.game} is {beyond(value, bounds)}, in match "
            f"{record.id}; mend its bounds, or what it computes"
        )


def chosen(
    games: Iterable[str], kind: str, of: Callable[[GameBox], Mapping[str, Q]],
    only: Collection[str] | None,
) -> dict[str, list[Q]]:  # fmt: skip
    """The measures or series that are wanted, by game.

    Args:
        games: names of games.
        kind: "measure" or "series".
        of: what a game has of this kind, by name.
        only: names; None: all.

    Raises:
        UnknownName: a game is not installed, or none of them has what is wanted.
    """
    found = {game: of(game_box(game)) for game in games}
    known = list(dict.fromkeys(name for one in found.values() for name in one))
    strange = [name for name in only or () if name not in known]
    if strange:
        raise unknown(f"{kind} of {', '.join(found)}:", strange[0], known)
    return {
        game: [one for name, one in has.items() if only is None or name in only]
        for game, has in found.items()
    }


def check_free(kind: str, quantities: Iterable[Quantity[Any]], columns: Collection[str]) -> None:
    """Demand that no measure or series has the name of another column.

    Raises:
        MeasureError: one has.
    """
    taken = next((one.name for one in quantities if one.name in columns), None)
    if taken is not None:
        raise MeasureError(f'no {kind} can be called "{taken}": frames use the name')


def places_in(frame: pl.DataFrame) -> list[str]:
    """The places that a frame of matches has columns for, in their order."""
    return [name.removeprefix("player.") for name in frame.columns if name.startswith("player.")]


def parameters_in(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The parameters of each configuration in a frame of matches, as they first appear."""
    names = [name for name in frame.columns if name.startswith("game.")]
    rows = frame.select("configuration", *names).unique("configuration", maintain_order=True)
    plain = [name.removeprefix("game.") for name in names]
    return {
        key: dict(zip(plain, map(decoded, values), strict=True))
        for key, *values in rows.iter_rows()
    }


def varying(configurations: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The parameters in which some configurations differ."""
    names = dict.fromkeys(name for one in configurations.values() for name in one)
    values = {name: {json.dumps(one[name]) for one in configurations.values()} for name in names}
    return [name for name, of in values.items() if len(of) > 1]


def decoded(value: Any) -> Any:
    """A parameter's value, back from the JSON that stands in a frame for lists and the like."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:  # a text of its own
        return value


class Frames(dict[str, pl.DataFrame]):
    """A frame for each game, by its name."""

    def __repr__(self) -> str:
        sizes = (f"{name} ({len(one):,} rows)" for name, one in self.items())
        return brief(self, ", ".join(sizes))

    def _repr_html_(self) -> str:
        rows = [(name, f"{len(one):,}", ", ".join(one.columns)) for name, one in self.items()]
        return html_table("Frames", ["game", "rows", "columns"], rows)
