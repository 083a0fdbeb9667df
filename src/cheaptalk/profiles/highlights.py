"""Highlights: instructive matches of a player, each with its decisive turn."""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from cheaptalk.profiles.conduct import leaks
from cheaptalk.profiles.profiles import DECIMALS, Profile
from cheaptalk.records import Standing, Store
from cheaptalk.records.store.queries import read_records
from cheaptalk.reports.recipes.parts import Match
from cheaptalk.rules import Action, Result, get_game
from cheaptalk.text import fixed

Deciding: TypeAlias = Callable[[Sequence[Result], str], int | None]
"""A function that returns the decisive request of a seat, given a match and perhaps its twin."""


class Choice(NamedTuple):
    """A match chosen as a highlight, perhaps with the id of a match to compare it with."""

    title: str
    row: dict[str, Any]
    deciding: Deciding
    twin: str | None = None


def highlight(store: Store, profile: Profile) -> Iterator[Match]:
    """Yield instructive matches of a player: the best, the worst, and examples of its conduct.

    The examples show the largest effect of messages, a false statement and a leak, if any. The
    player earned most in the best match, and has the largest regret in the worst match. Ties are
    broken by the order of instances.
    """
    standing = Standing(store, profile.study)
    finished = profile.seats.filter(pl.col("finished"), player=profile.player)
    rows = finished.sort("instance", "match_id")
    for choice in _chosen(profile, rows):
        yield _read(store, standing, profile, choice)


def shown_match(
    store: Store, profile: Profile, title: str, row: dict[str, Any], twin: str | None
) -> Match:
    """Return a match that shows a weakness, with its decisive turn.

    Args:
        twin: id of the match under the plain condition; None without such a match.
    """
    deciding: Deciding = _parting if twin is not None else _settled
    deciding = {"Makes false statements": _first_lie}.get(title, deciding)
    if title.startswith("Leaks"):
        deciding = _first_leak
    standing = Standing(store, profile.study)
    return _read(store, standing, profile, Choice(title, row, deciding, twin))


def _read(store: Store, standing: Standing, profile: Profile, choice: Choice) -> Match:
    ids = [choice.row["match_id"], *filter(None, [choice.twin])]
    records = list(read_records(store, profile.study, ids))
    results = [result for record in records if (result := standing.result(record)) is not None]
    seat = choice.row["seat"]
    decisive = choice.deciding(results, seat) if len(results) == len(ids) else None
    return Match(choice.title, _about(profile, choice.row), records[0], decisive)


def _chosen(profile: Profile, matches: pl.DataFrame) -> Iterator[Choice]:
    regret = profile.numbers.get("regret")
    if regret is not None:
        by = ("match_id", "seat")
        values = regret.of.values.filter(player=profile.player).select(*by, regret="value")
        ranked = matches.join(values, by, maintain_order="left", validate="1:1")
        best = ranked.sort("earned", -pl.col("regret"), descending=True, maintain_order=True)
        worst = ranked.sort("regret", descending=True, maintain_order=True)
        yield Choice("Best match", best.row(0, named=True), _settled)
        yield Choice("Worst match", worst.row(0, named=True), _last_chance)
    moved = _most_moved(profile, matches)
    if moved is not None:
        yield moved
    examples = {
        "false": ("A false statement", _first_lie),
        "leaks": ("A leaked secret", _first_leak),
    }
    for column, (title, deciding) in examples.items():
        rows = matches.filter(pl.col(column) > 0).sort(column, descending=True, maintain_order=True)
        if not rows.is_empty():
            yield Choice(title, rows.row(0, named=True), deciding)


def _most_moved(profile: Profile, rows: pl.DataFrame) -> Choice | None:
    """Return the match with the largest change due to messages; None if nothing changed."""
    effects = [
        number.of.values.filter(player=profile.player)
        for key, number in profile.numbers.items()
        if number.of.theme == "words" and number.of.twins and key != "words.repeats"
    ]
    if not effects:
        return None
    values = pl.concat(effects).select("match_id", "seat", change="value")
    values = values.filter(pl.col("change").abs() > 10**-DECIMALS)
    matches = rows.filter("words").join(
        values, ["match_id", "seat"], maintain_order="left", validate="1:1"
    )
    matches = matches.sort(
        pl.col("change").abs(), -pl.col("change"), descending=True, maintain_order=True
    )
    silent = next(iter(profile.battery.talkers), "")
    for row in matches.iter_rows(named=True):
        keys = {key: row[key] for key in ("configuration", "instance", "seat", "repeat")}
        twin = rows.filter(other=silent, **keys)["match_id"]
        if not twin.is_empty():
            return Choice("Largest effect of messages", row, _parting, twin[0])
    return None


def _about(profile: Profile, row: dict[str, Any]) -> str:
    battery = profile.battery
    part = {**battery.parts, **battery.words, **battery.anew}[row["part"]]
    met = row["other"] if not row["words"] else f"an opponent ({row['other'].replace('_', ' ')})"
    sentence = f"{part.title}, as {row['seat'].replace('_', ' ')} against {met}"
    if row["earned"] is not None:
        sentence += f": it earned {fixed(row['earned'], DECIMALS)} of the attainable payoff"
    if row.get("regret") is not None:
        sentence += f", the best baseline {fixed(row['earned'] + row['regret'], DECIMALS)}"
    if row.get("change") is not None:
        silent = fixed(row["earned"] - row["change"], DECIMALS)
        sentence += f", and {silent} with the same offers in silence"
    return f"{sentence}."


def _first_lie(results: Sequence[Result], seat: str) -> int | None:
    statements = get_game(results[0].game.name).assessment.statements(results[0])
    false = (statement for statement in statements if not statement.true)
    own = (item.request for item in false if _sits(results[0], item.actor, seat))
    return next(own, None)


def _first_leak(results: Sequence[Result], seat: str) -> int | None:
    return next(iter(leaks(results[0], seat) or ()), None)


def _sits(result: Result, actor: str, seat: str) -> bool:
    return any(member.name == actor and member.seat == seat for member in result.game.actors)


def _answers(result: Result, seat: str) -> list[tuple[int, Action]]:
    given = result.given()
    return [(n, action) for n, actor, action in given if action and _sits(result, actor, seat)]


def _parting(results: Sequence[Result], seat: str) -> int | None:
    """Return the first request at which the player's move differs from that in the paired match."""
    answers, twins = (_answers(result, seat) for result in results)
    for (request, action), (_, twin) in zip(answers, twins, strict=False):
        moves = [move.model_dump(exclude={"message", "reasoning"}) for move in (action, twin)]
        if moves[0] != moves[1]:
            return request
    return None


def _settled(results: Sequence[Result], seat: str) -> int | None:
    """Return the request that led to a seat's last answer."""
    answered = _answers(results[0], seat)
    return answered[-1][0] if answered else None


def _last_chance(results: Sequence[Result], seat: str) -> int | None:
    """Return the request at which a seat missed the most, or else that of its last answer."""
    missed = get_game(results[0].game.name).assessment.missed(results[0], seat)
    best = max(missed, key=attrgetter("payoff"), default=None)
    return _settled(results, seat) if best is None or best.payoff <= 0 else best.request
