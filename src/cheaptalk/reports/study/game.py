"""The part of a study's report on one game: best players, outcomes and pairings."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from cheaptalk.frames.unscored import unscored, unscored_text
from cheaptalk.players import Kind
from cheaptalk.records import FEW, Status
from cheaptalk.records.imports import IMPORTERS
from cheaptalk.reports.charts.chart import Chart, Lead
from cheaptalk.reports.pages import KINDS
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Charts, RecipePart, Shown, Text
from cheaptalk.reports.recipes.tables import Header, ReportTable, counts
from cheaptalk.reports.study import figures
from cheaptalk.reports.study.answers import answer
from cheaptalk.reports.study.effects import effects
from cheaptalk.reports.study.factors import factor_results
from cheaptalk.reports.study.figures import COUNTS
from cheaptalk.reports.study.scores import (
    ANSWERS,
    FAULTS,
    VALID,
    GameScores,
    Score,
    ended,
    query,
    seated_text,
)
from cheaptalk.rules import counted, game_title
from cheaptalk.text import capital, plain, readable

ROLE, ROLE_TITLE, PLAYERS = "role", "role.title", "players"
SHARE = "share_"
"""The prefix of columns with the share of a kind of answer."""
OF_ANSWERS = "% of answers"


def scores_by_game(evidence: Evidence) -> Mapping[str, GameScores]:
    """Return the scores of all games of a study."""
    return {
        name: GameScores(name, frame, evidence.seats[name])
        for name, frame in evidence.frames.items()
    }


def game_part(name: str) -> RecipePart:
    """Return the part of a study's report on a game."""
    return RecipePart(game_title(name), "", partial(_game, name))


def _game(name: str, evidence: Evidence) -> Iterator[Shown]:
    """Means are over all rivals and instances, with 95 % intervals clustered by instance.

    If several seats have the same role, a match counts once for each of its players, with the mean
    payoff of the seats that the player fills. Payoffs and forfeits are the player's own; all other
    columns describe the whole match. All configurations are pooled; if their payoffs have different
    units, compare players within one configuration. The counts of repaired, refused and failed
    answers include matches of any status.
    """
    game = evidence.once(scores_by_game)[name]
    if game.scored.height:
        yield from factor_results(game, evidence.factors)
        yield answer(game)
        if lacking := game.unscored.items():
            sentences = (f"{label} has no finished match: {end}." for label, end in lacking)
            yield Answer(" ".join(sentences))
        labels = ", ".join(game.unscored)
        without = f"Not in the charts, because they have no scored match: {labels}." * bool(labels)
        yield Charts(f"{name}-gains", "Gains", figures.gains(game), without)
    else:
        ends = unscored_text(unscored(game.frame), game.frame.height)
        yield Answer(f"No match finished, so there are no scores. {ends}.", "no match finished")
    yield _players(game, evidence)
    yield from _charts(name, "Outcomes", figures.metrics(game))
    across = (
        f"{capital(game.seats[0])} down, {capital(game.seats[1])} across."
        if len(game.seats) == 2
        else ""
    )
    yield from _charts(f"{name}-matrices", "Results by pairing", figures.matrices(game), across)
    yield from _charts(
        f"{name}-trade-off",
        "Efficiency and fairness",
        figures.trade_off(game),
        f"Each dot is a pairing, in the color of the player in seat {capital(game.seats[0])}; "
        "whiskers are 95 % intervals.",
        wide=True,
    )
    yield _pairings(game, evidence)
    yield from _charts(f"{name}-values", "Distributions", figures.distributions(game))
    yield _answers(game, evidence)
    yield _varied(game, evidence)
    yield from effects(game)
    first, details = game.doc
    forfeit = f"If a player gives no valid answer after all retries: {game.rules.forfeit}"
    yield Text("The game", "\n\n".join(filter(None, (first, details, forfeit, *game.notes))))


def _charts(
    name: str, title: str, panels: Sequence[Chart], caption: str = "", *, wide: bool = False
) -> Iterator[Charts]:
    if panels:
        yield Charts(name, title, [*panels], caption, wide)


def _players(game: GameScores, evidence: Evidence) -> ReportTable:
    names = dict.fromkeys(name for levels in evidence.factors.values() for name in levels)
    factors = (Header(f"factor_{name}", capital(plain(name)), "level") for name in names)
    columns = [Header("player", "Player"), *factors, *_role_header(game)]
    columns += [*_scores(game, game.scores, evidence), *_bookkeeping(game, evidence)]
    frame = _with_levels(_by_role(game), evidence.factors)
    return _linked(game, "players", frame, columns, notes=tuple(_remarks(game)))


def _linked(
    game: GameScores, name: str, frame: pl.DataFrame, columns: Sequence[Header], **options: Any
) -> ReportTable:
    """Return a table whose rows and numbers link to their matches."""
    links: dict[str, Any] = {
        "leads": partial(_lead, game),
        "cells": partial(_lead, game),
        "counts": COUNTS,
    }
    return ReportTable(f"{game.name}-{name}", capital(name), frame, columns, **(links | options))


def _with_levels(frame: pl.DataFrame, factors: Mapping[str, Mapping[str, str]]) -> pl.DataFrame:
    levels = [
        {"player": label, **{f"factor_{name}": level for name, level in levels.items()}}
        for label, levels in factors.items()
    ]
    if not levels:
        return frame
    named = pl.DataFrame(levels, infer_schema_length=None)
    return frame.join(named, on="player", how="left", validate="m:1", maintain_order="left")


def _remarks(game: GameScores) -> Iterator[str]:
    yield from (f"{capital(sentence)}." for sentence in game.beyond)
    if game.other_rules:
        verb, pronoun = ("was", "it") if game.other_rules == 1 else ("were", "them")
        yield (
            f"{counted(game.other_rules, 'finished match')} of {plain(game.name)} {verb} played "
            "under another version of its rules than the installed one "
            f"({game.rules.version}); only the payoffs of {pronoun} are reported."
        )


def _role_header(game: GameScores) -> tuple[Header, ...]:
    return (Header(ROLE_TITLE, "Role"),) if len(game.roles) > 1 else ()


def _pairings(game: GameScores, evidence: Evidence) -> ReportTable:
    names = {seat: capital(seat) for seat in game.seats}
    headers = [Header(f"player_{seat}", title) for seat, title in names.items()]
    seated = pl.struct(f"player_{seat}" for seat in game.seats)
    frame = game.pairings.with_columns(
        seated.map_elements(seated_text, return_dtype=pl.String).alias(PLAYERS)
    )
    if len(names) > FEW:
        headers = [Header(PLAYERS, "Players", "in seat order")]
    columns = [*headers, *_scores(game, game.pairing_scores, None), *_bookkeeping(game, evidence)]
    return _linked(game, "pairings", frame, columns)


def _scores(
    game: GameScores, scores: Sequence[Score], explained: Evidence | None
) -> Iterator[Header]:
    gained = [game.gain(role).key for role in game.roles]
    for score in sorted(scores, key=lambda score: (score.key not in gained, score.is_payoff)):
        about = score.meaning if explained else ""
        if explained and score.published:
            used = explained.as_published
            variant = "The published variant, used" if used else "A published variant, not used"
            about += f"\n\n{variant} here: {score.published}"
        yield Header(score.key, score.title, score.unit, game.decimals[score.key], about)


def _bookkeeping(game: GameScores, evidence: Evidence) -> Iterator[Header]:
    for status in game.statuses:
        yield Header(status.value, capital(status.value), "matches", 0)
    if not evidence.imported:
        yield Header(VALID, "Valid at first try", OF_ANSWERS, 1)
        if game.answers["ok"] < game.answers["all"]:
            yield Header(FAULTS, "Other answers", OF_ANSWERS)


def _by_role(game: GameScores, *added: pl.Expr) -> pl.DataFrame:
    return pl.concat(
        [
            frame.with_columns(
                pl.col(f"player_{role}").alias("player"),
                pl.lit(role).alias(ROLE),
                pl.lit(capital(role)).alias(ROLE_TITLE),
                *added,
            ).select(pl.exclude(f"player_{role}"))
            for role, frame in game.players.items()
        ],
        how="diagonal_relaxed",
    )


def _lead(game: GameScores, row: Mapping[str, Any], key: str = "") -> Lead:
    """Return a link to the matches of a table's row or, with ``key``, of one of its numbers."""
    players = {f"player_{row[ROLE]}": row["player"]} if ROLE in row else query(row)
    kind = key.removeprefix(SHARE)
    if key in set(Status):
        return Lead(game.name, ended(players, key))
    if kind != key:
        return Lead(game.name, players | {f"kind_{row[ROLE]}": kind})
    if key in (VALID, FAULTS, ANSWERS):
        return Lead(game.name, players)
    return Lead(game.name, players | {"status": Status.FINISHED.value})


def _answers(game: GameScores, evidence: Evidence) -> ReportTable:
    unknown = (Kind.OK.value, Kind.REPAIRED.value) if evidence.imported else ()
    share = [
        (
            pl.lit(None, pl.Float64)
            if kind in unknown
            else 100 * pl.col(f"answers_{kind}") / pl.when(pl.col(ANSWERS) > 0).then(ANSWERS)
        ).alias(SHARE + kind)
        for kind in game.kinds
    ]
    others = [status for status in game.statuses if status not in (Status.FINISHED, Status.LIVE)]
    titles = {"forfeited": "by the player"}
    columns = [Header("player", "Player"), *_role_header(game), *counts(**{ANSWERS: "Answers"})]
    columns += [
        Header(SHARE + kind, capital(kind), OF_ANSWERS, 1, KINDS[Kind(kind)]) for kind in game.kinds
    ]
    columns += [
        Header(value.value, capital(value.value), titles.get(value.value, "matches"), 0)
        for value in others
    ]
    notes = ("The number of tries is unknown for imported answers.",) if unknown else ()
    frame, lead = _by_role(game, *share), partial(_lead, game, key=ANSWERS)
    units = ("observation", "cluster")
    return _linked(game, "answers", frame, columns, notes=notes, leads=lead, counts=units)


def _varied(game: GameScores, evidence: Evidence) -> ReportTable | Text:
    importer = IMPORTERS.get(evidence.imported or "")
    notes = importer.notes.get(game.name, {}) if importer else {}
    constant = [
        f"{plain(parameter.name)} {readable(parameter.values[0][0]) or 'none'}"
        + (f" ({notes[parameter.name]})" if parameter.name in notes else "")
        for parameter in game.parameters
        if not parameter.varies
    ]
    fixed_text = f"The same in all matches: {'; '.join(constant)}." if constant else ""
    rows = [
        {
            "parameter": capital(parameter.name),
            "values": " · ".join(
                f"{readable(value)} ({count:,})" for value, count in parameter.values
            ),
            "meaning": parameter.meaning
            + (f" Note: {notes[parameter.name]}." if parameter.name in notes else ""),
        }
        for parameter in game.parameters
        if parameter.varies
    ]
    if not rows:
        return Text(
            "Varied parameters", f"None: all matches have the same parameters. {fixed_text}"
        )
    columns = [
        Header("parameter", "Parameter"),
        Header("values", "Values", "with the number of matches"),
        Header("meaning", "Meaning"),
    ]
    name, remarks = f"{game.name}-parameters", tuple(filter(None, [fixed_text]))
    return ReportTable(name, "Varied parameters", pl.DataFrame(rows), columns, notes=remarks)
