"""The table of results of a profile's study, with a row for each player in each match."""

from collections.abc import Iterator, Mapping, Sequence, Sized
from itertools import product
from typing import Any

import polars as pl

from cheaptalk.frames.reader import Reader
from cheaptalk.judges import verdict_frame
from cheaptalk.players import Kind
from cheaptalk.profiles.batteries import Battery, styled_label
from cheaptalk.profiles.conduct import SCHEMA as CONDUCT
from cheaptalk.profiles.conduct import conduct, course
from cheaptalk.profiles.metrics.attainable import could_have, first_asked
from cheaptalk.profiles.metrics.leaks import leaks
from cheaptalk.profiles.requests import SCHEMA as REQUESTS
from cheaptalk.profiles.requests import requests_to
from cheaptalk.profiles.weaknesses.endings import FailedMatch
from cheaptalk.records import MatchRecord, Status, Store
from cheaptalk.records.descriptions import FAILED_CALL, cause
from cheaptalk.records.judgements import judges_of
from cheaptalk.records.ledger.spending import FailedAttempt, failed_attempts
from cheaptalk.rules import Instance, Result, get_game

FAILURES = ("illegal", "unparsable", "truncated", "refused", "filtered", "timed_out")
"""Kinds of invalid answers."""
SCHEMA: dict[str, Any] = {
    "player": pl.String, "other": pl.String, "match_id": pl.String, "game": pl.String,
    "part": pl.String, "configuration": pl.String, "instance": pl.String, "seat": pl.String,
    "role": pl.String, "stratum": pl.String, "cluster": pl.String, "words": pl.Boolean,
    "way": pl.String, "repeat": pl.Int64, "draws": pl.Boolean, "number": pl.Int64,
    "began": pl.Boolean, "asked": pl.Float64, "offered": pl.Float64, "finished": pl.Boolean,
    "forfeited": pl.Boolean, "earned": pl.Float64, "left": pl.Float64, "agreed": pl.Float64,
    "given": pl.Float64, "said": pl.Int64, "false": pl.Int64, "mistakes": pl.Int64,
    "losses": pl.Int64, "leaks": pl.Int64, "answers": pl.Int64, "at_once": pl.Int64,
    "failed": pl.Int64, **dict.fromkeys(FAILURES, pl.Int64), **REQUESTS, "judged": pl.Int64,
    "claims": pl.Int64, "belied": pl.Int64, **CONDUCT,
}  # fmt: skip
CLAIMS = "claims"
"""The rubric by which a judge rates players' claims about themselves."""


def seats(
    store: Store, study: str, battery: Battery, player: str, alike: Mapping[tuple[str, str], str]
) -> pl.DataFrame:
    """Return a table of a study's results with a row per match and player.

    - ``player``, ``other`` (the opponent), ``match_id``, ``game``, ``part`` of the battery,
      ``configuration``, ``instance``, ``seat``, ``role``, ``repeat``, ``finished``, ``forfeited``
      (by the player).
    - ``stratum`` and ``cluster``: see :func:`apart`; ``draws``: see :func:`draws`.
    - ``words``: whether the opponent is a talker.
    - ``way`` and ``number``: the presentation of a decision (empty for the plain presentation) and
      the index of the decision in the part; null for parts with one presentation.
    - ``began``: whether the player answered first.
    - ``asked`` and ``offered``: see :func:`.first_asked`.
    - ``earned`` and ``given``: payoffs of the player and the opponent as shares of
      :func:`.could_have`; ``agreed``: 1 or 0; ``left``: the efficiency metric.
    - ``said`` and ``false``: statements that an exact check can read, and false ones among them;
      ``leaks``: see :func:`.leaks`; ``mistakes`` and ``losses``: see :meth:`.Assessment.mistakes`.
    - ``answers``, answers that are valid ``at_once`` (at the first try), ``failed`` answers, and
      failed answers by :data:`FAILURES`.
    - ``judged``, ``claims`` and ``belied``: messages that a judge has rated with the rubric
      ``claims``, claims about the speaker, and claims that contradict the speaker's knowledge.
    - The fields of :class:`.Requests`, :class:`.Course` and :class:`.Conduct`.

    Unknown values are null.

    Args:
        player: the player with the profile.
        alike: baselines that fill a seat exactly like the player, by game and seat; see
            :meth:`.Battery.alike`. Their rows are included for both.
    """
    reader = Reader.of(store, study)
    verdicts, failed = _verdicts(store, study), failed_attempts(store, study)
    styles = {styled_label(player, style): style for part in battery.anew.values()
            for way in part.ways.values() if (style := way.style) is not None}  # fmt: skip
    rows = [
        row for record in store.records(study, bodies=True)
        if record.status in (Status.FINISHED, Status.FORFEITED)
        for row in _rows(
            record, reader.result(record), battery, player, alike, styles, verdicts,
            failed.get(record.id, ()),
        )
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def failed_matches(
    store: Store, study: str, battery: Battery, player: str
) -> Iterator[FailedMatch]:
    """Yield a player's matches that failed for a technical reason, such as a server error.

    Failed matches are not forfeits, and no metric includes them.
    """
    for record in store.records(study):
        labels = {seat: record.label(seat) for seat in record.seats}
        for seat, label in labels.items():
            style = label.removeprefix(styled_label(player, ""))
            if record.status is not Status.FAILED or (label != player and style == label):
                continue
            reason = record.reason or "unknown"
            call = FAILED_CALL.match(reason)
            other = next((name for label, name in labels.items() if label != seat), label)
            styled = style if label != player else None
            yield FailedMatch(
                record.id, cause(reason),
                call is None or call[1] == seat or _seat_of(record, call[1]) == seat,
                record.game, other, _anew(record, battery, styled, None)[0],
                sum(record.kinds.get(seat, {}).values()),
            )  # fmt: skip
            break


def _rows(
    record: MatchRecord, result: Result | None, battery: Battery, player: str,
    alike: Mapping[tuple[str, str], str], styles: Mapping[str, str],
    verdicts: Mapping[tuple[str, str], list[str]], failed: Sequence[FailedAttempt],
) -> Iterator[list[Any]]:  # fmt: skip
    labels = {seat: record.label(seat) for seat in record.seats}
    names = {
        seat: [label, player] if alike.get((record.game, seat)) == label
        else [player if label in styles else label]
        for seat, label in labels.items()
    }  # fmt: skip
    part = battery.part_of.get(record.configuration.digest)
    if part is None:
        return
    earned = {seat: _earned(result, seat) for seat in labels}
    spoken = [] if result is None else get_game(record.game).assessment.statements(result)
    roles = record.roles
    for seat in labels:
        other = next(label for label in labels if label != seat)
        kinds = record.kinds.get(seat, {})
        way, number = _anew(record, battery, styles.get(labels[seat]), styles.get(labels[other]))
        truths = [item.true for item in spoken if _seat_of(record, item.actor) == seat]
        counted = sum(kinds.values())
        good = kinds.get(Kind.OK.value, 0)
        row = [
            record.id, record.game, part, record.configuration.digest, record.instance_key, seat,
            roles[seat], *apart(record, seat, labels[other]), labels[other] in battery.talkers,
            way, record.repeat, draws(record), number,
            _began(result, seat), *_first_asked(result, seat),
            result is not None, _forfeited(record, kinds), earned[seat],
            _measured(result, "efficiency"), _measured(result, "agreement"), earned[other],
            len(truths), truths.count(False), *_mistaken(result, seat),
            _length(None if result is None else leaks(result, seat)), counted, good,
            counted - good - kinds.get(Kind.REPAIRED.value, 0),
            *(kinds.get(kind, 0) for kind in FAILURES), *requests_to(record, seat, failed),
            *_judged(verdicts.get((record.id, seat))), *course(record, result, seat),
            *conduct(record, result, seat),
        ]  # fmt: skip
        for player_label, their in product(names[seat], names[other]):
            # if a label plays itself, the opponent keeps the label, and each name has a row
            itself = labels[seat] == labels[other]
            if their == labels[other] if itself else player_label != their:
                yield [player_label, their, *row]


def _anew(
    record: MatchRecord, battery: Battery, own: str | None, other: str | None
) -> tuple[str | None, int | None]:
    """Return the presentation and index of a match's decision; None if it has no variants."""
    digest = record.configuration.digest
    if digest not in battery.asked_anew:
        return None, None
    part, number, way = battery.asked_anew[digest]
    style = own or other
    ways = battery.anew[part].ways.items()
    return next((name for name, way in ways if style and way.style == style), way), number


def _verdicts(store: Store, study: str) -> Mapping[tuple[str, str], list[str]]:
    """Return the verdicts of the judge that checked the most claims, by match and seat."""
    judges = [key for key, spec in judges_of(store, study).items()
              if spec["rubric"]["name"] == CLAIMS]  # fmt: skip
    if not judges:
        return {}
    judged = verdict_frame(store, study).filter(
        pl.col("judge").is_in(judges), pl.col("verdict").is_not_null()
    )
    main_judge = judged.filter(pl.col("judge") == pl.col("judge").mode().sort().first())
    verdicts: dict[tuple[str, str], list[str]] = {}
    for match, seat, verdict in main_judge.select("match_id", "seat", "verdict").iter_rows():
        verdicts.setdefault((match, seat), []).append(verdict)
    return verdicts


def _judged(verdicts: list[str] | None) -> tuple[int | None, int | None, int | None]:
    if verdicts is None:
        return None, None, None
    none, belied = verdicts.count("none"), verdicts.count("contradicts")
    return len(verdicts), len(verdicts) - none, belied


def _length(items: Sized | None) -> int | None:
    return None if items is None else len(items)


def _mistaken(result: Result | None, seat: str) -> tuple[int | None, int | None]:
    """Return a seat's number of mistakes, and how many of these accept or demand a loss."""
    if result is None:
        return None, None
    counts = get_game(result.game.name).assessment.mistakes(result, seat)
    return (None, None) if counts is None else (sum(counts), counts.losses)


def _first_asked(result: Result | None, seat: str) -> tuple[float | None, float | None]:
    first = None if result is None else first_asked(result, seat)
    return (None, None) if first is None else first


def _began(result: Result | None, seat: str) -> bool | None:
    """Return whether a seat gave the first answer of the match."""
    first = None if result is None else next(iter(result.given()), None)
    return None if first is None else first[1] == seat


def apart(record: MatchRecord, seat: str, other: str) -> tuple[str, str]:
    """Return the stratum of a match, and the cluster of dependent matches that includes it.

    If instances are random or all players are scripts, the strata are configurations and the
    clusters are instances. Otherwise, the strata are combinations of configuration, seat and
    opponent, and every match is a cluster.
    """
    configuration = record.configuration.digest
    if draws(record) and record.rules.instance_type is Instance:
        return f"{configuration} {seat} {other}", record.id
    return configuration, record.instance_key


def draws(record: MatchRecord) -> bool:
    """Return whether replaying an instance may give another result, because of a model or agent.

    Matches of the same scripts on an instance are identical, because the instance determines all
    random draws of scripts.
    """
    return any("model" in seat["spec"] for seat in record.seats.values())


def _seat_of(record: MatchRecord, seat: str) -> str:
    return next(actor.seat for actor in record.rules.actors if actor.name == seat)


def _earned(result: Result | None, seat: str) -> float | None:
    if result is None:
        return None
    attainable = could_have(result.game, result.instance, seat)
    payoff: float = result.game.seat_payoffs(result.outcome)[seat]
    return None if attainable is None else payoff / attainable


def _forfeited(record: MatchRecord, kinds: Mapping[str, int]) -> bool:
    valid = {Kind.OK.value, Kind.REPAIRED.value}
    return record.status is Status.FORFEITED and any(kinds[k] for k in kinds.keys() - valid)


def _measured(result: Result | None, name: str) -> float | None:
    if result is None:
        return None
    metric = get_game(result.game.name).metrics.get(name)
    return None if metric is None else metric.of(result)
