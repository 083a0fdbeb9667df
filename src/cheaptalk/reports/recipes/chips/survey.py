"""The people behind the players: who they are, in which order they played, what they answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cheaptalk.reports.recipes.chips.gathered import GAME, Games, games
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Lacking
from cheaptalk.rules import CheaptalkError

OPTION = "survey"
ABOUT = (
    "a CSV file of people's answers, a row for each game of each: participant, match, place; "
    "further columns of numbers are scales, theme.NAME says yes or no, texts are free answers"
)
KEYS = ("participant", "match", "place")
THEME = "theme."
YES = ("1", "true", "yes")
NO = ("0", "false", "no")


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of the people who played.

    Attributes:
        games: one row a game of a participant, each participant's in the order in which they ended:
            ``participant``, ``stage`` (1 for the first), ``match``, ``variant``, ``ratio`` (of the
            table's surplus), ``gain`` (what the participant was paid, in dollars), ``share`` (the
            gain over the table's bound; null where that is 0).
        people: one row a participant with the answers: ``participant``, ``match`` and ``variant``
            of the first game, ``share`` (mean over all games), scales and themes.
        scales, themes: columns of ``people``; themes are 1 or 0.
    """

    games: pl.DataFrame
    people: pl.DataFrame
    scales: tuple[str, ...]
    themes: tuple[str, ...]


def survey(evidence: Evidence) -> Survey:
    """The survey that the recipe is told of, read once.

    Raises:
        Lacking: it is told of none.
        CheaptalkError: the file cannot be read, or does not fit the study.
    """
    return evidence.once(_read)


def _read(evidence: Evidence) -> Survey:
    path = evidence.options.get(OPTION)
    if path is None:
        raise Lacking(
            "the study holds no survey, nor which person played which game; give both with "
            "--set survey=FILE.csv, a row for each game of a person: participant, match, place and "
            "the answers"
        )
    found = games(evidence)
    answers = _answers(Path(path))
    _check(answers, found, path)
    own = _games(answers, found, _paid(evidence))
    texts = answers.select(pl.exclude("match", "place"))
    kinds = {name: _numbers(texts[name], path) for name in texts.columns if name != "participant"}
    numbers = {name: values for name, values in kinds.items() if values is not None}
    firsts = own.filter(stage=1).select("participant", "match", "variant")
    shares = own.group_by("participant").agg(pl.col("share").mean())
    told = texts.select("participant").with_columns(**numbers).unique(
        "participant", keep="first", maintain_order=True
    )  # fmt: skip
    people = firsts.join(shares, on="participant", maintain_order="left").join(
        told, on="participant", maintain_order="left"
    )
    themes = tuple(name for name in numbers if name.startswith(THEME))
    return Survey(own, people, tuple(name for name in numbers if name not in themes), themes)


def _answers(path: Path) -> pl.DataFrame:
    try:
        read = pl.read_csv(path, infer_schema=False)
    except OSError as error:
        raise CheaptalkError(f"{path} cannot be read: {error.strerror or error}") from error
    except pl.exceptions.PolarsError as error:
        raise CheaptalkError(f"{path} is no table of comma-separated values: {error}") from error
    absent = [name for name in KEYS if name not in read.columns]
    if absent:
        raise CheaptalkError(f"{path} has no column {', '.join(absent)}")
    return read.with_columns(pl.col(pl.String).str.strip_chars().replace("", None))


def _check(answers: pl.DataFrame, found: Games, path: str) -> None:
    """Refuse rows of games that there are not, and a seat that is taken twice."""
    sizes = dict(found.matches.select("match", "players").iter_rows())
    rows = answers.select(KEYS).iter_rows()
    for line, (participant, match, place) in enumerate(rows, 2):
        if participant is None or match not in sizes:
            raise CheaptalkError(
                f"{path}, line {line}: "
                + ("it names no participant" if participant is None else
                   f'"{match}" is no finished game of chip_trading in this study')
            )  # fmt: skip
        if place not in {f"player_{number}" for number in range(1, sizes[match] + 1)}:
            raise CheaptalkError(
                f'{path}, line {line}: match {match} has no place "{place}"; they are player_1 to '
                f"player_{sizes[match]}"
            )
    for key in (["match", "place"], ["participant", "match"]):
        twice = answers.filter(pl.struct(key).is_duplicated())
        if twice.height:
            named = " and ".join(f"{name} {twice[name][0]}" for name in key)
            raise CheaptalkError(f"{path}: {named} stand together in more than one row")


def _paid(evidence: Evidence) -> pl.DataFrame:
    """What every seat was paid, and when its game ended."""
    scored = evidence.scored(GAME)
    return scored.select("match", "finished", pl.col("^payoff\\..*$")).unpivot(
        index=["match", "finished"], variable_name="place", value_name="gain"
    ).with_columns(pl.col("place").str.strip_prefix("payoff."))  # fmt: skip


def _games(answers: pl.DataFrame, found: Games, paid: pl.DataFrame) -> pl.DataFrame:
    return (
        answers.select(KEYS)
        .join(found.matches.select("match", "variant", "bound", "ratio"), on="match")
        .join(paid, on=["match", "place"])
        .with_columns(share=pl.when(pl.col("bound") > 0).then(pl.col("gain") / pl.col("bound")))
        .sort("participant", "finished", "match")
        .with_columns(stage=pl.int_range(1, pl.len() + 1).over("participant"))
    )


def _numbers(answers: pl.Series, path: str) -> pl.Series | None:
    """A scale or a theme as numbers; None for free answers, and where nobody answered.

    Raises:
        CheaptalkError: a theme is neither yes nor no.
    """
    if answers.null_count() == len(answers):
        return None
    if answers.name.startswith(THEME):
        said = answers.str.to_lowercase()
        strange = answers.filter(~said.is_in([*YES, *NO]).fill_null(True))
        if len(strange):
            raise CheaptalkError(
                f'{path}: {answers.name} holds "{strange[0]}"; a theme is {" or ".join(YES)}, or '
                f"{' or '.join(NO)}"
            )
        return said.is_in(YES).cast(pl.Float64)
    numbers = answers.cast(pl.Float64, strict=False)
    is_scale = numbers.null_count() == answers.null_count()
    return numbers if is_scale and numbers.drop_nulls().is_finite().all() else None


def title(name: str) -> str:
    """A scale or a theme as people read it.

    >>> title("theme.profit_maximisation")
    'Profit maximisation'
    """
    return name.removeprefix(THEME).replace("_", " ").capitalize()


def some_of(names: Sequence[str], what: str, path: str) -> Sequence[str]:
    """The columns of one kind.

    Raises:
        Lacking: there is none.
    """
    if not names:
        raise Lacking(f"{path} has no {what}")
    return names
