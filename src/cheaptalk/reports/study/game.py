"""The part of a study's report on one game: who did best, what came of it, who met whom."""

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
from cheaptalk.reports.recipes.tables import Header, ReportTable
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
SHARE = "share."
"""What stands before a kind of answer in the name of the column of its share."""
OF_ANSWERS = "% of answers"


def scores_by_game(evidence: Evidence) -> Mapping[str, GameScores]:
    """The scores of all games of a study."""
    return {
        name: GameScores(name, frame, evidence.places[name])
        for name, frame in evidence.frames.items()
    }


def game_part(name: str) -> RecipePart:
    """The part on a game."""
    return RecipePart(game_title(name), "", partial(_game, name))


def _game(name: str, evidence: Evidence) -> Iterator[Shown]:
    """Means are over all rivals and deals, with 95 % intervals clustered by deal.

    Where several places have one role, a match counts once for every player in it, with the mean
    payoff of the places that the player fills. Payoffs and forfeits are the player's own; all other
    columns are of the whole match, whoever else sat in it. All configurations are taken together;
    where they differ in what a payoff is counted in, compare within one of them. No score hides how
    many answers were repaired, refused or failed: answers are counted over matches of any status.
    """
    game = evidence.once(scores_by_game)[name]
    if game.scored.height:
        yield from factor_results(game, evidence.factors)
        yield answer(game)
        if game.unscored:
            yield Answer(_unscored_text(game.unscored))
        left = ", ".join(game.unscored)
        without = f"Without a scored match, and so not in the figures: {left}." if left else ""
        yield Charts(f"{name}-gains", "What players gained", figures.gains(game), without)
    else:
        ends = unscored_text(unscored(game.frame), game.frame.height)
        yield Answer(
            f"No match finished, so there is nothing to score. {ends}.", "no match finished"
        )
    yield _players(game, evidence)
    yield from _charts(name, "What came of it", figures.measures(game))
    across = (
        f"{capital(game.places[0])} down, {capital(game.places[1])} across."
        if len(game.places) == 2 else ""
    )  # fmt: skip
    yield from _charts(f"{name}-matrices", "Who met whom", figures.matrices(game), across)
    yield from _charts(
        f"{name}-trade-off", "Efficiency and fairness", figures.trade_off(game),
        f"Each dot is a pairing, in the colour of who plays {capital(game.places[0])}; whiskers "
        "are 95 % intervals.", wide=True,
    )  # fmt: skip
    yield _pairings(game, evidence)
    yield from _charts(f"{name}-values", "How matches went", figures.distributions(game))
    yield _answers(game, evidence)
    yield _varied(game, evidence)
    yield from effects(game)
    first, rest = game.doc
    forfeit = f"Where a seat finally gives no valid answer: {game.rules.forfeit}"
    yield Text("The game", "\n\n".join(filter(None, (first, rest, forfeit, *game.notes))))


def _unscored_text(players: Mapping[str, str]) -> str:
    """Name the players without a finished match, and say what became of theirs."""
    return " ".join(f"{label} has no finished match: {ends}." for label, ends in players.items())


def _charts(
    name: str, title: str, panels: Sequence[Chart], caption: str = "", *, wide: bool = False
) -> Iterator[Charts]:
    if panels:
        yield Charts(name, title, [*panels], caption, wide)


def _players(game: GameScores, evidence: Evidence) -> ReportTable:
    """Everyone in each role, over all others."""
    return ReportTable(
        f"{game.name}-players", "Players", _with_levels(_by_role(game), evidence.factors),
        (Header("player", "Player"), *_factor_headers(evidence.factors), *_role_header(game),
         *_scores(game, game.scores, evidence),
         *_bookkeeping(game, evidence)),
        notes=tuple(_remarks(game)),
        leads=partial(_lead, game), cells=partial(_lead, game), counts=COUNTS,
    )  # fmt: skip


def _factor_headers(factors: Mapping[str, Mapping[str, str]]) -> Iterator[Header]:
    """A column for each factor of players."""
    for name in dict.fromkeys(name for levels in factors.values() for name in levels):
        yield Header(f"factor.{name}", capital(plain(name)), "level")


def _with_levels(frame: pl.DataFrame, factors: Mapping[str, Mapping[str, str]]) -> pl.DataFrame:
    """Players with the level of each of their factors."""
    levels = [{"player": label, **_prefixed(of)} for label, of in factors.items()]
    if not levels:
        return frame
    named = pl.DataFrame(levels, infer_schema_length=None)
    return frame.join(named, on="player", how="left", validate="m:1", maintain_order="left")


def _prefixed(levels: Mapping[str, str]) -> dict[str, str]:
    return {f"factor.{name}": level for name, level in levels.items()}


def _remarks(game: GameScores) -> Iterator[str]:
    """That the game's bounds are wrong, and that some matches have payoffs alone."""
    yield from (f"{capital(said)}." for said in game.beyond)
    if game.other_rules:
        was, them = ("was", "it") if game.other_rules == 1 else ("were", "them")
        yield (
            f"{counted(game.other_rules, 'finished match')} of {plain(game.name)} {was} played "
            "under another version of its rules than the installed one "
            f"({game.rules.version}); of {them} only payoffs are reported."
        )


def _role_header(game: GameScores) -> tuple[Header, ...]:
    return (Header(ROLE_TITLE, "Role"),) if len(game.roles) > 1 else ()


def _pairings(game: GameScores, evidence: Evidence) -> ReportTable:
    """Everyone who sat together."""
    names = {place: capital(place) for place in game.places}
    headers = [Header(f"player.{place}", title) for place, title in names.items()]
    seated = pl.struct(f"player.{place}" for place in game.places)
    frame = game.pairings.with_columns(
        seated.map_elements(seated_text, return_dtype=pl.String).alias(PLAYERS)
    )
    if len(names) > FEW:
        headers = [Header(PLAYERS, "Players", "in the order of places")]
    return ReportTable(
        f"{game.name}-pairings", "Pairings", frame,
        (*headers, *_scores(game, game.pairing_scores, None), *_bookkeeping(game, evidence)),
        leads=partial(_lead, game), cells=partial(_lead, game), counts=COUNTS,
    )  # fmt: skip


def _scores(
    game: GameScores, scores: Sequence[Score], explained: Evidence | None
) -> Iterator[Header]:
    """The scores, gains first, explained where it is asked for."""
    gained = [game.gain(role).key for role in game.roles]
    for score in sorted(scores, key=lambda one: (one.key not in gained, one.is_payoff)):
        about = _meaning(score, as_published=explained.as_published) if explained else ""
        yield Header(score.key, score.title, score.unit, game.decimals[score.key], about)


def _meaning(score: Score, *, as_published: bool) -> str:
    if not score.published:
        return score.meaning
    used = "The published variant, used here" if as_published else (
        "A published variant, not used here"
    )  # fmt: skip
    return f"{score.meaning}\n\n{used}: {score.published}"


def _bookkeeping(game: GameScores, evidence: Evidence) -> Iterator[Header]:
    """How many matches there were, and how answers were given."""
    for status in game.statuses:
        yield Header(status.value, capital(status.value), "matches", 0)
    if not evidence.imported:
        yield Header(VALID, "Valid at first try", OF_ANSWERS, 1)
        if game.answers["ok"] < game.answers["all"]:
            yield Header(FAULTS, "Other answers", OF_ANSWERS)


def _by_role(game: GameScores, *added: pl.Expr) -> pl.DataFrame:
    """The players of all roles one below the other."""
    return pl.concat(
        [
            frame.with_columns(
                pl.col(f"player.{role}").alias("player"), pl.lit(role).alias(ROLE),
                pl.lit(capital(role)).alias(ROLE_TITLE), *added,
            ).select(pl.exclude(f"player.{role}"))
            for role, frame in game.players.items()
        ],
        how="diagonal_relaxed",
    )  # fmt: skip


def _lead(game: GameScores, row: Mapping[str, Any], key: str = "") -> Lead:
    """The matches behind a player or a pairing, or behind one of their numbers."""
    asked = {f"player.{row[ROLE]}": row["player"]} if ROLE in row else query(row)
    kind = key.removeprefix(SHARE)
    if key in set(Status):
        return Lead(game.name, ended(asked, key))
    if kind != key:
        return Lead(game.name, asked | {f"kind.{row[ROLE]}": kind})
    if key in (VALID, FAULTS, ANSWERS):
        return Lead(game.name, asked)
    return Lead(game.name, asked | {"status": Status.FINISHED.value})


def _answers(game: GameScores, evidence: Evidence) -> ReportTable:
    """How each player answered in each role, kind by kind."""
    unknown = (Kind.OK.value, Kind.REPAIRED.value) if evidence.imported else ()
    share = [
        (
            pl.lit(None, pl.Float64) if kind in unknown
            else 100 * pl.col(f"kind.{kind}") / pl.when(pl.col(ANSWERS) > 0).then(ANSWERS)
        ).alias(SHARE + kind)
        for kind in game.kinds
    ]  # fmt: skip
    others = [status for status in game.statuses if status not in (Status.FINISHED, Status.LIVE)]
    titles = {"forfeited": "matches, by the player"}
    return ReportTable(
        f"{game.name}-answers", "How questions were answered",
        _by_role(game, *share),
        (
            Header("player", "Player"), *_role_header(game), Header(ANSWERS, "Answers", "", 0),
            *(Header(SHARE + kind, capital(kind), OF_ANSWERS, 1, KINDS[Kind(kind)])
              for kind in game.kinds),
            *(Header(one.value, capital(one.value), titles.get(one.value, "matches"), 0)
              for one in others),
        ),
        notes=("At which try an imported answer was valid is not known.",) if unknown else (),
        leads=partial(_lead, game, key=ANSWERS), cells=partial(_lead, game),
    )  # fmt: skip


def _varied(game: GameScores, evidence: Evidence) -> ReportTable | Text:
    """The parameters that differ between matches, and those that are the same in all."""
    importer = IMPORTERS.get(evidence.imported or "")
    notes = importer.notes.get(game.name, {}) if importer else {}
    same = [
        f"{plain(one.name)} {readable(one.values[0][0]) or 'none'}"
        + (f" ({notes[one.name]})" if one.name in notes else "")
        for one in game.parameters if not one.varies
    ]  # fmt: skip
    fixed_text = f"The same in all matches: {'; '.join(same)}." if same else ""
    rows = [
        {
            "parameter": capital(one.name),
            "values": " · ".join(f"{readable(value)} ({count:,})" for value, count in one.values),
            "meaning": one.meaning + (
                f" Note: {notes[one.name]}." if one.name in notes else ""
            ),
        }
        for one in game.parameters if one.varies
    ]  # fmt: skip
    if not rows:
        return Text(
            "What was varied", f"Nothing: all matches have the same parameters. {fixed_text}"
        )
    return ReportTable(
        f"{game.name}-parameters", "What was varied", pl.DataFrame(rows),
        (
            Header("parameter", "Parameter"),
            Header("values", "Values", "and how many matches have each"),
            Header("meaning", "Meaning"),
        ),
        notes=tuple(filter(None, [fixed_text])),
    )  # fmt: skip
