"""The table of results of a profile's study, with a row for each player in each match."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import polars as pl

from cheaptalk.judges import verdict_frame
from cheaptalk.players import Kind
from cheaptalk.profiles.batteries import Battery, styled_label
from cheaptalk.profiles.conduct import Course, conduct, could_have, course, first_asked, leaks
from cheaptalk.profiles.requests import Requests, requests_to
from cheaptalk.profiles.weaknesses.outcomes import FailedMatch
from cheaptalk.records import MatchRecord, Standing, Status, Store
from cheaptalk.records.descriptions import FAILED_CALL, cause
from cheaptalk.records.judgements import judges_of
from cheaptalk.records.ledger.spending import failed_attempts
from cheaptalk.rules import Instance, Result, get_game
from cheaptalk.rules.assessment import Conduct

FAILURES = ("illegal", "unparsable", "truncated", "refused", "filtered", "timed_out")
"""Kinds of invalid answers."""
TYPES = (
    (str, "player other match_id game part configuration instance seat role stratum cluster"),
    (bool, "words"),
    (str, "way"),
    (int, "repeat"),
    (bool, "draws"),
    (int, "number"),
    (bool, "began"),
    (float, "asked offered"),
    (bool, "finished forfeited"),
    (float, "earned left agreed given"),
    (int, "said false mistakes losses leaks answers at_once failed"),
)
SCHEMA: dict[str, Any] = {
    **{name: kind for kind, names in TYPES for name in names.split()},
    **dict.fromkeys(FAILURES, int),
    **Requests.__annotations__,
    **dict.fromkeys(("judged", "claims", "belied"), int),
    **Course.__annotations__,
    **Conduct.__annotations__,
}
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
        alike: baselines that fill a seat exactly like the player, by game and seat; see
            :meth:`.Battery.alike`. Their rows are included for both.
    """
    standing = Standing(store, study)
    verdicts, failed = _verdicts(store, study), failed_attempts(store, study)
    styles = {
        styled_label(player, way.style): way.style
        for part in battery.anew.values()
        for way in part.ways.values()
        if way.style is not None
    }
    rows: list[list[Any]] = []
    for record in store.records(study, bodies=True):
        part = battery.part_of.get(record.configuration.digest)
        if part is None or record.status not in (Status.FINISHED, Status.FORFEITED):
            continue
        result, attempts = standing.result(record), failed.get(record.id, ())
        labels = {seat: record.label(seat) for seat in record.seats}
        names = {seat: [player if label in styles else label] for seat, label in labels.items()}
        for seat, label in labels.items():
            names[seat] += [player] if alike.get((record.game, seat)) == label else []
        for seat, label in labels.items():
            other = next(name for name in labels if name != seat)
            itself = label == labels[other]
            ways = _anew(record, battery, styles.get(label), styles.get(labels[other]))
            row = [
                *(record.id, record.game, part, record.configuration.digest, record.instance_key),
                *(seat, record.roles[seat], *apart(record, seat, labels[other])),
                *(labels[other] in battery.talkers, ways[0], record.repeat, draws(record), ways[1]),
                *_results(record, result, seat, other),
                *_answers(record, seat),
                *requests_to(record, seat, attempts),
                *_judged(verdicts.get((record.id, seat))),
                *course(record, result, seat),
                *conduct(record, result, seat),
            ]
            # if a label plays itself, the opponent keeps the label, and each name has a row
            rows += [
                [name, their, *row]
                for name, their in product(names[seat], names[other])
                if (their == labels[other] if itself else name != their)
            ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def failed_matches(
    store: Store, study: str, battery: Battery, player: str
) -> Iterator[FailedMatch]:
    """Yield a player's matches that failed for a technical reason; no metric includes them."""
    for record in store.records(study):
        labels = {seat: record.label(seat) for seat in record.seats}
        for seat, label in labels.items():
            style = label.removeprefix(styled_label(player, ""))
            if record.status is not Status.FAILED or (label != player and style == label):
                continue
            reason = record.reason or "unknown"
            call = FAILED_CALL.match(reason)
            styled = style if label != player else None
            yield FailedMatch(
                match=record.id,
                reason=cause(reason),
                own=call is None or call[1] == seat or record.seat_of(call[1]) == seat,
                game=record.game,
                other=next((name for role, name in labels.items() if role != seat), label),
                way=_anew(record, battery, styled, None)[0],
                answers=sum(record.kinds.get(seat, {}).values()),
            )
            break


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
    judges = judges_of(store, study).items()
    chosen = [key for key, spec in judges if spec["rubric"]["name"] == CLAIMS]
    if not chosen:
        return {}
    judged = verdict_frame(store, study).filter(
        pl.col("judge").is_in(chosen), pl.col("verdict").is_not_null()
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


def _answers(record: MatchRecord, seat: str) -> list[int]:
    """Return a seat's number of answers, of those valid at once and failed, and the failures."""
    kinds = record.kinds.get(seat, {})
    answers, valid = sum(kinds.values()), kinds.get(Kind.OK.value, 0)
    failed = answers - valid - kinds.get(Kind.REPAIRED.value, 0)
    return [answers, valid, failed, *(kinds.get(kind, 0) for kind in FAILURES)]


def _results(record: MatchRecord, result: Result | None, seat: str, other: str) -> list[Any]:
    """Return the columns from ``began`` to ``leaks``, which are null without a result."""
    kinds = record.kinds.get(seat, {}).keys() - {Kind.OK.value, Kind.REPAIRED.value}
    forfeited = record.status is Status.FORFEITED and any(record.kinds[seat][k] for k in kinds)
    if result is None:
        return [None, None, None, False, forfeited, *[None] * 4, 0, 0, None, None, None]
    spec, first = get_game(record.game), next(iter(result.given()), None)
    spoken = spec.assessment.statements(result)
    truths = [item.true for item in spoken if record.seat_of(item.actor) == seat]
    mistakes, revealed = spec.assessment.mistakes(result, seat), leaks(result, seat)
    efficiency, agreed = (
        None if (metric := spec.metrics.get(name)) is None else metric.of(result)
        for name in ("efficiency", "agreement")
    )
    return [
        None if first is None else first[1] == seat,
        *(first_asked(result, seat) or (None, None)),
        True,
        forfeited,
        *(_earned(result, seat), efficiency, agreed, _earned(result, other)),
        *(len(truths), truths.count(False)),
        *((None, None) if mistakes is None else (sum(mistakes), mistakes.losses)),
        None if revealed is None else len(revealed),
    ]


def _earned(result: Result, seat: str) -> float | None:
    attainable = could_have(result.game, result.instance, seat)
    payoff: float = result.game.seat_payoffs(result.outcome)[seat]
    return None if attainable is None else payoff / attainable


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
