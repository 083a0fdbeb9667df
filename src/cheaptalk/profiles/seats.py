"""What players got at their seats: one row a match and player of a profile's study."""

from collections.abc import Iterator, Mapping, Sequence, Sized
from itertools import product
from typing import Any

import polars as pl

from cheaptalk.frames.reader import Reader
from cheaptalk.judges import verdict_frame
from cheaptalk.players import Kind
from cheaptalk.profiles.batteries import Battery, styled_label
from cheaptalk.profiles.conduct import SCHEMA as CONDUCT
from cheaptalk.profiles.conduct import conduct
from cheaptalk.profiles.metrics.mistakes import mistakes
from cheaptalk.profiles.metrics.stakes import could_have, first_asked
from cheaptalk.profiles.metrics.statements import leaks, statements
from cheaptalk.profiles.requests import SCHEMA as REQUESTS
from cheaptalk.profiles.requests import requests_to
from cheaptalk.profiles.weaknesses.endings import FailedMatch
from cheaptalk.records import MatchRecord, Status, Store
from cheaptalk.records.endings import FAILED_CALL, cause
from cheaptalk.records.judgements import judges_of
from cheaptalk.records.ledger.attempts import FailedAttempt, failed_attempts
from cheaptalk.rules import Deal, Result, game_box

FAILURES = ("illegal", "unparsable", "truncated", "refused", "filtered", "timed_out")
"""The kinds of an agent's answers that came to nothing."""
SCHEMA: dict[str, Any] = {
    "player": pl.String, "other": pl.String, "match": pl.String, "game": pl.String,
    "part": pl.String, "configuration": pl.String, "deal": pl.String, "place": pl.String,
    "role": pl.String, "stratum": pl.String, "cluster": pl.String, "words": pl.Boolean,
    "way": pl.String, "repeat": pl.Int64, "draws": pl.Boolean, "number": pl.Int64,
    "began": pl.Boolean, "asked": pl.Float64,
    "offered": pl.Float64, "finished": pl.Boolean, "forfeited": pl.Boolean,
    "earned": pl.Float64, "left": pl.Float64,
    "agreed": pl.Float64, "given": pl.Float64, "said": pl.Int64, "false": pl.Int64,
    "mistakes": pl.Int64, "losses": pl.Int64, "leaks": pl.Int64, "answers": pl.Int64,
    "at_once": pl.Int64, "failed": pl.Int64, **dict.fromkeys(FAILURES, pl.Int64),
    **REQUESTS,
    "judged": pl.Int64, "claims": pl.Int64, "belied": pl.Int64, **CONDUCT,
}  # fmt: skip
CLAIMS = "claims"
"""The rubric by which a judge reads what players say of themselves."""


def seats(
    store: Store,
    study: str,
    battery: Battery,
    player: str,
    alike: Mapping[tuple[str, str], str],
) -> pl.DataFrame:
    """One row a match of the study and player in it.

    Args:
        player: whose profile it is.
        alike: who of the battery fills a seat just as this player would, by game and place; its
            rows are there for both; see :meth:`.Battery.alike`.

    Columns: ``player`` and ``other`` (labels), ``match``, ``game``, ``part`` (of the battery),
    ``configuration``, ``deal``, ``place``, ``role``, ``stratum`` and ``cluster`` (see
    :func:`apart`), ``words`` (whether a talker is the other),
    ``way`` (how a question is asked that is asked anew, empty for the plain way; null elsewhere),
    ``repeat`` (of the match on its deal), ``draws`` (see :func:`draws`),
    ``number`` (of that question within its part), ``began`` (whether the player answered first),
    ``asked`` and ``offered`` (see :func:`.first_asked`), ``finished``, ``forfeited`` (by the
    player), ``earned`` and ``given`` (shares of what the player and the other could have had; see
    :func:`.could_have`), ``agreed`` (1 or 0), ``left`` (the measure of efficiency), ``said`` and
    ``false`` (statements that an exact check can read, and those that it finds untrue),
    ``mistakes`` and those that are ``losses`` (see :func:`.mistakes`), ``leaks`` (see
    :func:`.leaks`), ``answers``, ``at_once`` (valid at the first try), ``failed`` (that came to
    nothing) and how many were of each kind of :data:`FAILURES`; the fields of :class:`.Requests`;
    of a judge by the rubric ``claims``, messages that it ``judged``, those that make ``claims``
    about the speaker, and those ``belied`` by what the speaker knows; and the fields of
    :class:`.Conduct`. A number that is not known, or means nothing there, is null.
    """
    reader = Reader.of(store, study)
    verdicts, failed = _verdicts(store, study), failed_attempts(store, study)
    told = {styled_label(player, style): style for part in battery.anew.values()
            for way in part.ways.values() if (style := way.style) is not None}  # fmt: skip
    rows = [
        row for record in store.records(study, bodies=True)
        if record.status in (Status.FINISHED, Status.FORFEITED)
        for row in _rows(
            record, reader.result(record), battery, player, alike, told, verdicts,
            failed.get(record.id, ()),
        )
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def failed_matches(
    store: Store, study: str, battery: Battery, player: str
) -> Iterator[FailedMatch]:
    """Yield a player's matches that failed.

    A failed match is no forfeit: a server broke, or a call brought nothing for another reason than
    play. It is in no number of the profile.
    """
    for record in store.records(study):
        labels = {place: record.label(place) for place in record.seats}
        for place, label in labels.items():
            style = label.removeprefix(styled_label(player, ""))
            if record.status is not Status.FAILED or (label != player and style == label):
                continue
            reason = record.reason or "unknown"
            call = FAILED_CALL.match(reason)
            other = next((name for at, name in labels.items() if at != place), label)
            styled = style if label != player else None
            yield FailedMatch(
                record.id, cause(reason),
                call is None or call[1] == place or _place(record, call[1]) == place,
                record.game, other, _anew(record, battery, styled, None)[0],
                sum(record.kinds.get(place, {}).values()),
            )  # fmt: skip
            break


def _rows(
    record: MatchRecord, result: Result | None, battery: Battery, player: str,
    alike: Mapping[tuple[str, str], str], told: Mapping[str, str],
    verdicts: Mapping[tuple[str, str], list[str]], failed: Sequence[FailedAttempt],
) -> Iterator[list[Any]]:  # fmt: skip
    labels = {place: record.label(place) for place in record.seats}
    names = {
        place: [label, player] if alike.get((record.game, place)) == label
        else [player if label in told else label]
        for place, label in labels.items()
    }  # fmt: skip
    part = battery.part_of.get(record.configuration.digest)
    if part is None:
        return
    earned = {place: _earned(result, place) for place in labels}
    said = [] if result is None else statements(result)
    roles = record.places
    for place in labels:
        other = next(one for one in labels if one != place)
        kinds = record.kinds.get(place, {})
        way, number = _anew(record, battery, told.get(labels[place]), told.get(labels[other]))
        mine = [one.true for one in said if _place(record, one.seat) == place]
        counted = sum(kinds.values())
        good = kinds.get(Kind.OK.value, 0)
        row = [
            record.id, record.game, part, record.configuration.digest, record.deal_key, place,
            roles[place], *apart(record, place, labels[other]), labels[other] in battery.talkers,
            way, record.repeat, draws(record), number,
            _began(result, place), *_first_asked(result, place),
            result is not None, _forfeited(record, kinds), earned[place],
            _measured(result, "efficiency"), _measured(result, "agreement"), earned[other],
            len(mine), sum(not one for one in mine),
            *_mistaken(result, place),
            _length(None if result is None else leaks(result, place)), counted, good,
            counted - good - kinds.get(Kind.REPAIRED.value, 0),
            *(kinds.get(kind, 0) for kind in FAILURES), *requests_to(record, place, failed),
            *_judged(verdicts.get((record.id, place))), *conduct(record, result, place),
        ]  # fmt: skip
        for own, their in product(names[place], names[other]):
            # in a match of a label with itself, the other keeps that label: a row for each name
            itself = labels[place] == labels[other]
            if their == labels[other] if itself else own != their:
                yield [own, their, *row]


def _anew(
    record: MatchRecord, battery: Battery, own: str | None, other: str | None
) -> tuple[str | None, int | None]:
    """The way in which a question is asked, and its number; None of what is asked once."""
    digest = record.configuration.digest
    if digest not in battery.asked_anew:
        return None, None
    part, number, way = battery.asked_anew[digest]
    style = own or other
    ways = battery.anew[part].ways.items()
    return next((name for name, one in ways if style and one.style == style), way), number


def _verdicts(store: Store, study: str) -> Mapping[tuple[str, str], list[str]]:
    """Verdicts by match and place, of the judge by the rubric ``claims`` that gave most of them."""
    judges = [key for key, spec in judges_of(store, study).items()
              if spec["rubric"]["name"] == CLAIMS]  # fmt: skip
    if not judges:
        return {}
    given = verdict_frame(store, study).filter(
        pl.col("judge").is_in(judges), pl.col("verdict").is_not_null()
    )
    most = given.filter(pl.col("judge") == pl.col("judge").mode().sort().first())
    found: dict[tuple[str, str], list[str]] = {}
    for match, place, verdict in most.select("match", "place", "verdict").iter_rows():
        found.setdefault((match, place), []).append(verdict)
    return found


def _judged(verdicts: list[str] | None) -> tuple[int | None, int | None, int | None]:
    if verdicts is None:
        return None, None, None
    none, belied = verdicts.count("none"), verdicts.count("contradicts")
    return len(verdicts), len(verdicts) - none, belied


def _length(found: Sized | None) -> int | None:
    return None if found is None else len(found)


def _mistaken(result: Result | None, place: str) -> tuple[int | None, int | None]:
    """The mistakes of a place, and those of them that are losses."""
    found = None if result is None else mistakes(result, place)
    return (None, None) if found is None else (sum(found), found.losses)


def _first_asked(result: Result | None, place: str) -> tuple[float | None, float | None]:
    first = None if result is None else first_asked(result, place)
    return (None, None) if first is None else first


def _began(result: Result | None, place: str) -> bool | None:
    """Whether a place answered first."""
    first = None if result is None else next(iter(result.given()), None)
    return None if first is None else first[1] == place


def apart(record: MatchRecord, place: str, other: str) -> tuple[str, str]:
    """What of the design a match is, and which matches of that share their luck.

    Where nature deals, all matches of a configuration on one deal do. So do scripts, whose own luck
    is that of the deal. Where neither is, none do: configuration, place and other are the design,
    and every match is a draw of its own.
    """
    configuration = record.configuration.digest
    if draws(record) and record.rules.deal_type is Deal:
        return f"{configuration} {place} {other}", record.id
    return configuration, record.deal_key


def draws(record: MatchRecord) -> bool:
    """Return whether a model or an agent plays, so that a replay of the instance may differ.

    Scripts take all their randomness from the instance: two matches of the same scripts on it are
    identical, and any difference between two scripts on it is theirs.
    """
    return any("model" in seat["spec"] for seat in record.seats.values())


def _place(record: MatchRecord, seat: str) -> str:
    """The place of a seat."""
    return next(one.place for one in record.rules.seats if one.name == seat)


def _earned(result: Result | None, place: str) -> float | None:
    if result is None:
        return None
    most = could_have(result.game, result.deal, place)
    payoff: float = result.game.place_payoffs(result.outcome)[place]
    return None if most is None else payoff / most


def _forfeited(record: MatchRecord, kinds: Mapping[str, int]) -> bool:
    valid = {Kind.OK.value, Kind.REPAIRED.value}
    return record.status is Status.FORFEITED and any(kinds[k] for k in kinds.keys() - valid)


def _measured(result: Result | None, name: str) -> float | None:
    if result is None:
        return None
    measure = game_box(result.game.name).measures.get(name)
    return None if measure is None else measure.of(result)
