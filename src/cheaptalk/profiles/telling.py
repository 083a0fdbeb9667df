"""The matches that tell most of a player, and the turn of each that decided."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from cheaptalk.frames.reader import Reader
from cheaptalk.games.item_bargaining import measures as items
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.persuasion.events import Purchase
from cheaptalk.games.persuasion.rules import Persuasion
from cheaptalk.profiles.metrics.stakes import gain
from cheaptalk.profiles.metrics.statements import leaks, statements
from cheaptalk.profiles.profiles import PLACES, Profile
from cheaptalk.records import MatchRecord, Store
from cheaptalk.records.store.queries import some
from cheaptalk.rules import Action, Result
from cheaptalk.text import fixed


class Telling(NamedTuple):
    """A match that tells much of a player.

    Attributes:
        title: what it is an example of.
        about: who met whom over what, and what came of it, in a sentence.
        record: the match.
        decisive: the request whose answer decided; None where none did more than others.
    """

    title: str
    about: str
    record: MatchRecord
    decisive: int | None


Deciding: TypeAlias = Callable[[Sequence[Result], str], int | None]
"""Finds the decisive request of a place in a match, and perhaps its twin."""


class Choice(NamedTuple):
    """A match to be shown.

    Attributes:
        title: what it is an example of.
        row: of the player's seats.
        deciding: finds the decisive turn.
        twin: the id of the match that it is held against, if any.
    """

    title: str
    row: dict[str, Any]
    deciding: Deciding
    twin: str | None = None


def telling(store: Store, profile: Profile) -> Iterator[Telling]:
    """A player's best match, its worst, that in which words moved it most, a lie and a leak, as far
    as there are such.

    The best is where it earned most, the worst where the best of the panel got most more in its
    seat against the same other on the same deals. Ties are broken by the order of deals.
    """
    reader = Reader.of(store, profile.study)
    own = profile.seats.filter(pl.col("finished"), player=profile.player).sort("deal", "match")
    for choice in _chosen(profile, own):
        yield _read(store, reader, profile, choice)


def shown_match(
    store: Store, profile: Profile, title: str, row: dict[str, Any], twin: str | None
) -> Telling:
    """Return a match that shows a weakness, with the turn that decided.

    Args:
        title: the weakness.
        row: the player's row of the seats.
        twin: the id of the match under the plain condition, if there is one.
    """
    deciding: Deciding = _parting if twin is not None else _settled
    deciding = {"Makes false statements": _first_lie}.get(title, deciding)
    if title.startswith("Leaks"):
        deciding = _first_leak
    return _read(
        store, Reader.of(store, profile.study), profile, Choice(title, row, deciding, twin)
    )


def _read(store: Store, reader: Reader, profile: Profile, choice: Choice) -> Telling:
    """Read a match, and its twin if it has one, from the store."""
    ids = [choice.row["match"], *filter(None, [choice.twin])]
    records = list(some(store, profile.study, ids))
    results = [result for one in records if (result := reader.result(one)) is not None]
    place = choice.row["place"]
    decisive = choice.deciding(results, place) if len(results) == len(ids) else None
    return Telling(choice.title, _about(profile, choice.row), records[0], decisive)


def _chosen(profile: Profile, own: pl.DataFrame) -> Iterator[Choice]:
    regret = profile.numbers.get("regret")
    if regret is not None:
        by = ("match", "place")
        values = regret.of.values.filter(player=profile.player).select(*by, regret="value")
        ranked = own.join(values, by, maintain_order="left", validate="1:1")
        best = ranked.sort("earned", -pl.col("regret"), descending=True, maintain_order=True)
        worst = ranked.sort("regret", descending=True, maintain_order=True)
        yield Choice("Its best", best.row(0, named=True), _settled)
        yield Choice("Its worst", worst.row(0, named=True), _last_chance)
    moved = _most_moved(profile, own)
    if moved is not None:
        yield moved
    for title, column, deciding in (
        ("A lie", "false", _first_lie), ("A secret told", "leaks", _first_leak),
    ):  # fmt: skip
        found = own.filter(pl.col(column) > 0).sort(column, descending=True, maintain_order=True)
        if not found.is_empty():
            yield Choice(title, found.row(0, named=True), deciding)


def _most_moved(profile: Profile, own: pl.DataFrame) -> Choice | None:
    """The match in which words changed most, and its silent twin; None where they changed nothing.

    What harmed the player comes before what helped it as much.
    """
    every = [
        one.of.values.filter(player=profile.player) for one in profile.numbers.values()
        if one.of.theme == "words" and one.of.twins and one.of.key != "words.repeats"
    ]  # fmt: skip
    if not every:
        return None
    values = pl.concat(every).select("match", "place", change="value")
    values = values.filter(pl.col("change").abs() > 10**-PLACES)
    said = own.filter("words").join(
        values, ["match", "place"], maintain_order="left", validate="1:1"
    )
    said = said.sort(
        pl.col("change").abs(), -pl.col("change"), descending=True, maintain_order=True
    )
    silent = next(iter(profile.battery.talkers), "")
    for row in said.iter_rows(named=True):
        same = {key: row[key] for key in ("configuration", "deal", "place", "repeat")}
        twin = own.filter(other=silent, **same)["match"]
        if not twin.is_empty():
            return Choice("Most moved by words", row, _parting, twin[0])
    return None


def _about(profile: Profile, row: dict[str, Any]) -> str:
    battery = profile.battery
    part = {**battery.parts, **battery.words, **battery.anew}[row["part"]]
    met = row["other"] if not row["words"] else f"an opponent ({row['other'].replace('_', ' ')})"
    said = f"{part.title}, as {row['place'].replace('_', ' ')} against {met}"
    if row["earned"] is not None:
        said += f": it earned {fixed(row['earned'], PLACES)} of the attainable payoff"
    if row.get("regret") is not None:
        said += f", and the best baseline {fixed(row['earned'] + row['regret'], PLACES)}"
    if row.get("change") is not None:
        silent = fixed(row["earned"] - row["change"], PLACES)
        said += f", and {silent} where the same was offered in silence"
    return f"{said}."


def _first_lie(results: Sequence[Result], place: str) -> int | None:
    said = (one for one in statements(results[0]) if _sits(results[0], one.seat, place))
    return next((one.request for one in said if not one.true), None)


def _first_leak(results: Sequence[Result], place: str) -> int | None:
    return next(iter(leaks(results[0], place) or ()), None)


def _sits(result: Result, seat: str, place: str) -> bool:
    return any(one.name == seat and one.place == place for one in result.game.seats)


def _answers(result: Result, place: str) -> list[tuple[int, Action]]:
    """What a place answered, by request."""
    return [(request, action) for request, seat, action in result.given()
            if action is not None and _sits(result, seat, place)]  # fmt: skip


def _parting(results: Sequence[Result], place: str) -> int | None:
    """The first answer of a place that is another than in the other match, words left aside."""
    one, other = (_answers(result, place) for result in results)
    for (request, action), (_, twin) in zip(one, other, strict=False):
        if _without_words(action) != _without_words(twin):
            return request
    return None


def _without_words(action: Action) -> dict[str, Any]:
    return action.model_dump(exclude={"message", "reasoning"})


def _settled(results: Sequence[Result], place: str) -> int | None:
    """The last answer of a place: what it took, offered and was given, or turned down."""
    answered = _answers(results[0], place)
    return answered[-1][0] if answered else None


def _last_chance(results: Sequence[Result], place: str) -> int | None:
    """The best offer that a place turned down, or the first product that it bought and should not
    have, or should have bought and did not; its last answer where there was neither."""
    wrong = _wrong_purchase(results[0], place)
    if wrong is not None:
        return wrong
    refused = list(_refused(results[0], place))
    best = max(refused, key=lambda one: one[1], default=(None, 0.0))
    return best[0] if best[1] > 0 else _settled(results, place)


def _wrong_purchase(result: Result, place: str) -> int | None:
    """The request at which a buyer first bought what is of low quality, or left what is of high."""
    if not isinstance(result.game, Persuasion) or place != "bob":
        return None
    bought = [(request, action.decision == "yes") for request, _, action in result.given()
              if isinstance(action, Purchase)]  # fmt: skip
    qualities = zip(bought, result.deal.qualities, strict=False)
    return next((request for (request, yes), high in qualities if yes != high), None)


def _refused(result: Result, place: str) -> Iterator[tuple[int, float]]:
    """The requests at which a place turned something down, with what that was worth to it."""
    if isinstance(result.game, ItemBargaining):
        for (request, _, _), turn in zip(result.given(), items.turns(result), strict=True):
            mine = list(result.game.places)[turn.player] == place
            if mine and turn.table is not None and turn.action != "ACCEPT":
                yield request, float(turn.table)
        return
    offered = 0.0
    for request, seat, action in result.given():
        named = gain(result.game, place, action)
        if named is not None and not _sits(result, seat, place):
            offered = named
        elif _sits(result, seat, place) and getattr(action, "decision", "") == "reject":
            yield request, offered
