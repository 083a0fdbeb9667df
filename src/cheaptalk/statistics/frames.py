"""A study's matches as frames: one row a match, with all that statistics want to know of it."""

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from cheaptalk.players import Kind
from cheaptalk.records import MatchRecord, Status, Store, digest, digest_key, line_up
from cheaptalk.records.browsing import places_of
from cheaptalk.records.policies import Unanswered, policies_of
from cheaptalk.rules import CheaptalkError, Measure, game_box

Row = list[Any]
KINDS = tuple(kind.value for kind in Kind)

HEAD = {
    "match": pl.String,
    "status": pl.String,
    "dropped": pl.Boolean,
    "rules": pl.Int64,
    "configuration": pl.String,
    "deal": pl.String,
    "repeat": pl.Int64,
    "pairing": pl.String,
    "calls": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "dollars": pl.Float64,
    "finished": pl.Float64,
}
"""The columns that every game's frame begins with."""


class MeasureError(CheaptalkError):
    """A measure's own code failed on a finished match."""


def match_frames(
    store: Store, study: str, *, as_published: bool = False
) -> dict[str, pl.DataFrame]:
    """The matches of a study, as one frame a game.

    Every match is a row, whatever its status. Measures and payoffs are null unless it finished and
    was not dropped (see :class:`~cheaptalk.studies.Unanswered`); measures also where they
    are undefined, and where the match was played under another version of the rules than the one
    installed (column ``rules``), to which they may not apply.

    Columns: ``match`` (its id), ``status``, ``dropped``, ``rules``, ``configuration`` (a digest of
    game and parameters), ``deal`` (equal, within a configuration, for matches on the same deal),
    ``repeat``, ``pairing`` (labels in the order of places, see :func:`.line_up`), ``calls``,
    ``input_tokens``, ``output_tokens``, ``dollars`` (as far as prices were known), ``finished``
    (seconds since 1970), then
    ``player.PLACE`` (labels), ``kind.PLACE.KIND`` (how many answers were of each kind),
    ``payoff.PLACE`` (in the game's unit), the game's measures under their own names, and
    ``game.PARAMETER`` (numbers and booleans as such, anything else as JSON). There are columns
    for the places of all configurations; they are null where a match has no such place.

    Args:
        study: its name in the store.
        as_published: take the published variants of measures where these differ.

    Raises:
        StoreError: there is no such study.
        UnknownName: a game is not installed.
        MeasureError: a measure failed.
    """
    policies = policies_of(store.study(study, counted=False).spec)
    places = places_of(store, study)
    games: dict[str, _Rows] = {}
    for record in store.records(study, bodies=True):
        if record.game not in games:
            seats = list(places[record.game])
            games[record.game] = _Rows(record.game, seats, policies, as_published)
        games[record.game].add(record)
    return {name: games[name].frame() for name in sorted(games)}


class _Rows:
    """The rows of one game as they are read."""

    def __init__(
        self, game: str, places: list[str], policies: Unanswered, as_published: bool
    ) -> None:
        box = game_box(game)
        self.version = box.rules.version
        self.places = places
        self.policies = policies
        self.measures = list(box.measures.values())
        self.as_published = as_published
        self.rows: list[Row] = []
        self.configurations: dict[tuple[int, str], tuple[str, dict[str, Any]]] = {}

    def add(self, record: MatchRecord) -> None:
        labels = {place: record.label(place) for place in record.seats}
        dropped = self.policies.why_dropped(record.kinds) is not None
        kinds = [record.kinds.get(at, {}) if at in labels else None for at in self.places]
        self.rows.append(
            [
                record.id, record.status.value, dropped, record.version, self.configuration(record),
                record.deal_key, record.repeat, line_up(list(labels.values())), record.calls,
                record.input_tokens, record.output_tokens, record.dollars, record.finished,
                *map(labels.get, self.places),
                *[None if of is None else of.get(kind, 0) for of in kinds for kind in KINDS],
                *(self.scores(record) if not dropped else self.no_scores()),
            ]
        )  # fmt: skip

    def configuration(self, record: MatchRecord) -> str:
        """The digest of the match's game and parameters, as in the plan of its study."""
        key = (record.version, digest_key(record.parameters))
        found = self.configurations.get(key)
        if found is None:
            found = (digest(record.game, *key), record.parameters)
            self.configurations[key] = found
        return found[0]

    def scores(self, record: MatchRecord) -> Row:
        """Payoffs by place, then the measures."""
        if record.status is not Status.FINISHED or record.payoffs is None:
            return self.no_scores()
        payoffs: Row = [record.payoffs.get(place) for place in self.places]
        if record.version != self.version:
            return payoffs + [None] * len(self.measures)
        return payoffs + _measured(record, self.measures, self.as_published)

    def no_scores(self) -> Row:
        return [None] * (len(self.places) + len(self.measures))

    def frame(self) -> pl.DataFrame:
        columns: dict[str, Any] = dict(HEAD)
        columns |= {f"player.{place}": pl.String for place in self.places}
        columns |= {f"kind.{place}.{kind}": pl.Int64 for place in self.places for kind in KINDS}
        columns |= {f"payoff.{place}": pl.Float64 for place in self.places}
        clash = sorted(columns.keys() & {measure.name for measure in self.measures})
        if clash:
            raise MeasureError(f'no measure can be called "{clash[0]}": frames use the name')
        columns |= {measure.name: pl.Float64 for measure in self.measures}
        frame = pl.DataFrame(self.rows, schema=columns, orient="row")
        return frame.join(self.parameters(), on="configuration", maintain_order="left")

    def parameters(self) -> pl.DataFrame:
        """One row a configuration with its parameters."""
        made = list(self.configurations.values())
        names = dict.fromkeys(name for _, values in made for name in values)
        columns: dict[str, list[Any]] = {"configuration": [key for key, _ in made]}
        for name in names:
            columns[f"game.{name}"] = _uniform([values.get(name) for _, values in made])
        return pl.DataFrame(columns)


def _measured(record: MatchRecord, measures: Sequence[Measure], as_published: bool) -> Row:
    result = record.result()
    values: Row = []
    for measure in measures:
        try:
            values.append(measure.variant(as_published)(result))
        except Exception as error:
            raise MeasureError(
                f"measure {measure.name} of {record.game} failed on match {record.id}: "
                f"{type(error).__name__}: {error}"
            ) from error
    return values


def _uniform(values: list[Any]) -> list[Any]:
    """Values that fit one column: as they are if all are of one plain type, else as JSON."""
    types = {type(value) for value in values if value is not None}
    if types == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(types) <= 1 and types <= {bool, int, float, str}:
        return values
    return [None if value is None else json.dumps(value) for value in values]
