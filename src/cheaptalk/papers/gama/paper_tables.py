"""Tables 1, 2 and 4 to 8 in the paper's form: by its names of games and models, with its spread.

Tables 10 to 21 are Tables 4, 5, 6 and 8 for three more models, and come with them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import parameters_in, varying
from cheaptalk.papers.gama.scores import OVERALL, entries
from cheaptalk.papers.printed import as_printed, chosen
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import side_by_side
from cheaptalk.reports.recipes.tables import ERROR, Header, ReportTable
from cheaptalk.rules import game_box
from cheaptalk.text import fixed, plain, readable

PAPER = "gama"
GAMES = {
    "guess_the_average": "Guess 2/3 of the Average", "el_farol_bar": "El Farol Bar",
    "divide_the_dollar": "Divide the Dollar", "public_goods": "Public Goods Game",
    "diners_dilemma": "Diner's Dilemma", "sealed_bid_auction": "Sealed-Bid Auction",
    "battle_royale": "Battle Royale", "pirate_game": "Pirate Game", OVERALL: "Overall",
}  # fmt: skip
"""What the paper's tables call the rows, in their order."""
SPREAD = "In parentheses, the sample standard deviation over {}. Scores from 0 to 100."
FIRST_TABLES = {
    "voyage": 2, "runs": 4, "temperature": 5, "prompt version": 6, "reasoning strategy": 7,
}  # fmt: skip
"""The numbers of GPT-3.5's tables, by what each shows."""
FOR_GPT_ALONE = ("voyage", "reasoning strategy")
"""What the paper shows of no other model."""
RUNS = 5
"""Runs in the paper's Table 4."""


class PaperModel(NamedTuple):
    """A model of Table 1.

    Attributes:
        key: what its column and rows are called, as in the roster ``gama``.
        family, version: what stands over its column.
        further: by how much the numbers of its own tables exceed GPT-3.5's; None if it has none.
    """

    key: str
    family: str
    version: str
    further: int | None = None


MODELS = {
    "gpt35turbo0613": PaperModel("gpt-3.5-0613", "GPT-3.5", "0613"),
    "gpt35turbo1106": PaperModel("gpt-3.5-1106", "GPT-3.5", "1106"),
    "gpt35turbo0125": PaperModel("gpt-3.5-0125", "GPT-3.5", "0125", 0),
    "gpt40125": PaperModel("gpt-4-turbo-0125", "GPT-4", "t-0125"),
    "gpt4o20240806": PaperModel("gpt-4o-0806", "GPT-4", "o-0806", 14),
    "gemini10pro": PaperModel("gemini-1.0-pro", "Gemini-Pro", "1.0"),
    "gemini15pro": PaperModel("gemini-1.5-pro", "Gemini-Pro", "1.5", 10),
    "llama318b": PaperModel("llama-3.1-8b", "LLaMA-3.1", "8B"),
    "llama3170b": PaperModel("llama-3.1-70b", "LLaMA-3.1", "70B", 6),
    "llama31405b": PaperModel("llama-3.1-405b", "LLaMA-3.1", "405B"),
    "mixtral8x7b": PaperModel("mixtral-8x7b", "Mixtral", "8x7B"),
    "mixtral8x22b": PaperModel("mixtral-8x22b", "Mixtral", "8x22B"),
    "qwen272b": PaperModel("qwen-2-72b", "Qwen-2", "72B"),
}
"""By what models' short names begin with, small letters and digits alone."""


def paper_model(name: str) -> PaperModel | None:
    """The paper's model of a name, if it is one of the 13.

    >>> paper_model("openrouter/meta-llama/llama-3.1-70b-instruct").version
    '70B'
    >>> paper_model("gpt-4o-2024-11-20") is None
    True
    """
    short = re.sub(r"[^a-z0-9]", "", name.rpartition("/")[2].lower()).removeprefix("meta")
    return next((one for start, one in MODELS.items() if short.startswith(start)), None)


def by_default(entry: Mapping[str, Any]) -> bool:
    """Whether a player's settings are those that the paper's experiments start from."""
    usual = {"temperature": 1, "style": "v1", "chain_of_thought": None, "persona": None}
    return all(entry.get(name) in (None, value) for name, value in usual.items())


def shown(evidence: Evidence, labels: Sequence[str]) -> dict[str, PaperModel | None]:
    """Those of some players who stand in Tables 1, 4 and 8, with the paper's model that each is.

    A model under a treatment is left out where it is there without. Of two players who are the
    same model neither has the paper's name.
    """
    known, wanted = entries(evidence), chosen(evidence, evidence.labels)
    models = {one: str(known.get(one, {}).get("model") or one) for one in labels}
    plainly = {models[one] for one in labels if by_default(known.get(one, {}))}
    kept = [
        one for one in labels
        if one in wanted and (by_default(known.get(one, {})) or models[one] not in plainly)
    ]  # fmt: skip
    found = [paper_model(models[one]) for one in kept]
    return {
        one: model if found.count(model) == 1 else None
        for one, model in zip(kept, found, strict=True)
    }


def leaderboard(
    evidence: Evidence, means: pl.DataFrame, order: Sequence[str]
) -> Iterator[ReportTable]:
    """Table 1: a row a game, a column a model, those of the paper first and in its order.

    Args:
        evidence: says who stands in it.
        means: as :func:`.scores` makes them.
        order: the players, the best first.
    """
    columns = _in_paper_order(shown(evidence, order))
    if not columns:
        return
    keys = {label: model.key if model else label for label, model in columns.items()}
    headers = (
        Header(keys[label], model.version, "", 1, group=model.family)
        if model else Header(keys[label], label, "", 1)
        for label, model in columns.items()
    )  # fmt: skip
    frame = _rows(_with_spread(means, keys))
    yield as_printed(evidence, PAPER, ReportTable(
        "table-1", "Scores of models", frame, (Header("title", "Game"), *headers),
        SPREAD.format("runs"), printed="Table 1",
    ))  # fmt: skip


def _in_paper_order(players: Mapping[str, PaperModel | None]) -> dict[str, PaperModel | None]:
    places: list[PaperModel | None] = [*MODELS.values(), None]
    order = sorted(players, key=lambda label: places.index(players[label]))
    return {label: players[label] for label in order}


def _with_spread(means: pl.DataFrame, keys: Mapping[str, str]) -> pl.DataFrame:
    """Scores by game with players in columns, each with its spread in place of an error."""
    own = means.filter(pl.col("player").is_in(list(keys))).select(
        "game", pl.col("player").replace_strict(keys), "score",
        pl.col("score.spread").alias(f"score{ERROR}"),
    )  # fmt: skip
    return side_by_side(own, "score", "player")


def _rows(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in the paper's order, with its titles first."""
    place = pl.col("game").replace_strict(list(GAMES), range(len(GAMES)))
    return frame.sort(place).select(pl.col("game").replace_strict(GAMES).alias("title"), pl.all())


def voyages(evidence: Evidence, ballots: pl.DataFrame) -> Iterator[ReportTable]:
    """Table 2 for each player: a row a ballot, a column a pirate, with a dash for who is overboard.

    A voyage is one of many, so that the printed one is no match for its cells.

    Args:
        evidence: says for whom.
        ballots: one row a ballot of a player ``who``: its number, a text for each ``pirate`` that
            still sails, ``plan_distance`` in coins and ``vote_accuracy``, a share.
    """
    pirates = [name for name in ballots.columns if name.startswith("pirate ")]
    columns = (
        Header("ballot", "Pirate rank"),
        *(Header(name, name.removeprefix("pirate ")) for name in pirates),
        Header("plan_distance", "S8P", "", 0, "The distance of the plan from the best one."),
        Header("vote_accuracy", "S8V", "", 2, "The share of right votes."),
    )
    for label, model in shown(
        evidence, ballots["who"].unique(maintain_order=True).to_list()
    ).items():
        frame = ballots.filter(who=label).select(
            pl.format("Round {}", "ballot").alias("ballot"),
            pl.col(pirates).str.replace("\u00a0", "").fill_null("-"),
            "plan_distance", "vote_accuracy",
        )  # fmt: skip
        name, printed = _of_model("voyage", model, label)
        yield ReportTable(
            name, f"A voyage of {label}", frame, columns,
            "S8P: how far the plan is from the best one, in coins. S8V: the share of right votes.",
            printed=printed,
        )  # fmt: skip


def runs(evidence: Evidence, means: pl.DataFrame, by_run: pl.DataFrame) -> Iterator[ReportTable]:
    """Tables 4, 10, 14 and 18: a column a run, then the mean of all runs with their spread.

    A table for each player who has played all games here.

    Args:
        evidence: says for whom.
        means: as :func:`.scores` makes them.
        by_run: one row a player, game and ``run``.
    """
    ranked = means.filter(game=OVERALL)["player"].to_list()
    for label, model in shown(evidence, ranked).items():
        own = by_run.filter(player=label)
        numbers = sorted(own["run"].unique())[:RUNS]
        wide = own.filter(pl.col("run").is_in(numbers)).select(
            "game", pl.format("run {}", "run").alias("run"), "score"
        )  # fmt: skip
        wide = side_by_side(wide, "score", "run").join(
            means.filter(player=label).select(
                "game", average="score", **{f"average{ERROR}": pl.col("score.spread")}
            ),
            on="game", how="left", validate="1:1", maintain_order="left",
        )  # fmt: skip
        titles = [f"T{number}" + " (Default)" * (number == 1) for number in numbers]
        headers = [
            Header(f"run {number}", title, "", 1)
            for number, title in zip(numbers, titles, strict=True)
        ]
        name, printed = _of_model("runs", model, label)
        yield as_printed(evidence, PAPER, ReportTable(
            name, f"Scores by run: {label}", _rows(wide),
            (Header("title", "Game"), *headers, Header("average", "Average", "", 1)),
            SPREAD.format("runs"), printed=printed,
        ))  # fmt: skip


def treatments(
    evidence: Evidence, setting: str, name: str, frame: pl.DataFrame, values: Mapping[str, str]
) -> ReportTable:
    """Tables 5 to 7 and their like for three more models: a column a value, then mean and spread.

    As in the paper, there is no overall score of prompt versions, and no mean of ways to reason.

    Args:
        evidence: may ask for the printed values.
        setting: what players differ in.
        name: the model that they have in common.
        frame: one row a game, with a column for each value, ``mean`` and ``spread``.
        values: what is shown over each of these columns, by column.
    """
    reasoning, versions = setting == "reasoning strategy", setting == "prompt version"
    rows = frame.filter(pl.col("game") != OVERALL) if versions else frame
    headers = [Header(key, _treatment_title(setting, value), "", 1, spread=False)
               for key, value in values.items()]  # fmt: skip
    if not reasoning:
        headers.append(Header("average", "Average", "", 1))
    rows = _rows(rows.drop("title").rename({"mean": "average", "spread": f"average{ERROR}"}))
    caption = "Scores from 0 to 100." if reasoning else SPREAD.format("the columns")
    own, printed = _of_model(setting, paper_model(name), name)
    return as_printed(evidence, PAPER, ReportTable(
        own, f"Scores by {setting}: {name}", rows, (Header("title", "Game"), *headers), caption,
        printed=printed,
    ))  # fmt: skip


def _treatment_title(setting: str, value: str) -> str:
    """What the paper calls a value.

    >>> [_treatment_title("temperature", "0"), _treatment_title("prompt version", "v1")]
    ['0.0', 'V1 (Default)']
    >>> _treatment_title("reasoning strategy", "CoT step by step")
    'CoT'
    """
    if setting == "temperature" and re.fullmatch(r"[\d.]+", value):
        return fixed(float(value), 1)
    if setting == "prompt version" and re.fullmatch(r"v\d+", value):
        return value.upper() + " (Default)" * (value == "v1")
    return "CoT" if value == "CoT step by step" else value[:1].upper() + value[1:]


def _of_model(kind: str, model: PaperModel | None, name: str) -> tuple[str, str]:
    """A table's name, and what of the paper it is: the model's own table, else GPT-3.5's.

    >>> _of_model("runs", paper_model("gemini-1.5-pro"), "mine")
    ('table-14', 'Table 14')
    >>> _of_model("voyage", paper_model("gemini-1.5-pro"), "mine")
    ('table-2-mine', 'Table 2')
    """
    number = FIRST_TABLES[kind]
    further = model.further if model else None
    if further is None or (further and kind in FOR_GPT_ALONE):
        return f"table-{number}-{anchor(name)}".lower(), f"Table {number}"
    return f"table-{number + further}", f"Table {number + further}"


def _percent(value: Any) -> str:
    return f"{100 * value:.0f}%"


def _rates(values: Sequence[float]) -> str:
    return f"[{100 * values[0]:.0f},{100 * values[-1]:.0f}]"


class PaperSetting(NamedTuple):
    """What Table 8 varies of a game.

    Attributes:
        symbol: what stands over its columns.
        parameters: those that vary.
        title: what stands over a column, from its values of the parameters.
    """

    symbol: str
    parameters: tuple[str, ...]
    title: Callable[..., str]


DISHES = ("cheap_price", "cheap_utility", "costly_price", "costly_utility")
SETTINGS = {
    "guess_the_average": PaperSetting("R", ("ratio",), str),
    "el_farol_bar": PaperSetting("R", ("capacity",), _percent),
    "divide_the_dollar": PaperSetting("G", ("golds",), readable),
    "public_goods": PaperSetting("R", ("factor",), lambda value: fixed(value, 1)),
    "diners_dilemma": PaperSetting(
        "(Pl, Ul, Ph, Uh)", DISHES, lambda *values: f"({','.join(map(readable, values))})"
    ),
    "sealed_bid_auction": PaperSetting("Range", ("high",), lambda value: f"(0,{value}]"),
    "battle_royale": PaperSetting("Range", ("hit_rates",), _rates),
    "pirate_game": PaperSetting("G", ("gold",), readable),
}
"""Table 8's parameters by game."""


def settings(evidence: Evidence, game: str, means: pl.DataFrame) -> Iterator[ReportTable]:
    """Tables 8, 13, 17 and 21, of one game: a column a setting and the mean of all, a row a model.

    Only what the paper varies tells columns apart; all else is at its default. There is no table of
    fewer than two such settings.

    Args:
        evidence: says who stands in it.
        game: which.
        means: one row a player and ``configuration``, in the order of settings.
    """
    of = SETTINGS[game]
    titles = _setting_titles(evidence, game)
    players = shown(evidence, means["player"].unique(maintain_order=True).to_list())
    own = means.filter(
        pl.col("configuration").is_in(list(titles)), pl.col("player").is_in(list(players))
    )
    columns = {titles[key]: f"{plain(of.parameters[0])} {titles[key]}"
               for key in own["configuration"].unique(maintain_order=True)}  # fmt: skip
    if len(columns) < 2:
        return
    wide = side_by_side(
        own.select(
            pl.col("player").replace_strict(
                {one: model.key if model else one for one, model in players.items()}
            ),
            pl.col("configuration").replace_strict(titles).replace_strict(columns).alias("key"),
            "score",
        ),
        "score", "key",
    )  # fmt: skip
    every = pl.concat_list(list(columns.values())).list
    whole = pl.all_horizontal(pl.col(key).is_not_null() for key in columns.values())
    frame = wide.with_columns(
        pl.when(whole).then(every.mean()).alias("average"),
        pl.when(whole).then(every.std()).alias(f"average{ERROR}"),
    )
    headers = (Header(key, title, "", 1, group=of.symbol) for title, key in columns.items())
    yield as_printed(evidence, PAPER, ReportTable(
        f"table-8-{anchor(game.replace('_', '-'))}", f"Scores by setting: {GAMES[game]}", frame,
        (Header("player", "Player"), *headers, Header("average", "Average", "", 1)),
        SPREAD.format("settings"), printed="Table 8",
    ))  # fmt: skip


def _setting_titles(evidence: Evidence, game: str) -> dict[str, str]:
    """What Table 8 calls the settings, by configuration; none where something else differs."""
    of, defaults = SETTINGS[game], game_box(game).rules().model_dump(mode="json")
    known = parameters_in(evidence.scored(game))
    others = [name for name in varying(known) if name not in of.parameters]
    return {
        key: of.title(*(values[name] for name in of.parameters))
        for key, values in known.items()
        if all(values[name] == defaults.get(name) for name in others)
    }
