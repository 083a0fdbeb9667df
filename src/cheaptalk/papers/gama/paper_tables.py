"""Tables of GAMA-Bench with the paper's layout: 1, 2, 4 to 8, and 10 to 21 for further models."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import parameters_in, varying
from cheaptalk.papers.gama.scores import OVERALL, entries, table
from cheaptalk.papers.printed import NOTHING, Columns, selected_labels
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import side_by_side
from cheaptalk.reports.recipes.tables import ERROR, Header, ReportTable
from cheaptalk.rules import get_game
from cheaptalk.statistics.columns import with_matching
from cheaptalk.text import fixed, plain, readable

GAMES = {
    "guess_the_average": "Guess 2/3 of the Average",
    "el_farol_bar": "El Farol Bar",
    "divide_the_dollar": "Divide the Dollar",
    "public_goods": "Public Goods Game",
    "diners_dilemma": "Diner's Dilemma",
    "sealed_bid_auction": "Sealed-Bid Auction",
    "battle_royale": "Battle Royale",
    "pirate_game": "Pirate Game",
    OVERALL: "Overall",
}
"""The paper's names of games, in the order of rows."""
FIRST_TABLES = {
    "voyage": 2,
    "runs": 4,
    "temperature": 5,
    "prompt version": 6,
    "reasoning strategy": 7,
}
"""The numbers of GPT-3.5's tables by content."""
ONLY_GPT = ("voyage", "reasoning strategy")
"""Contents of tables that the paper has only for GPT-3.5."""
RUNS = 5
"""The number of runs in the paper's Table 4."""


class PaperModel(NamedTuple):
    """A model of Table 1, with the two headings of its column.

    ``key`` is the label in the roster ``gama``; ``further`` is the offset of its table numbers from
    GPT-3.5's, or None if it has no other tables.
    """

    key: str
    family: str
    version: str
    further: int | None = None


MODELS = {
    start: PaperModel(*model)
    for start, *model in pl.read_csv(
        Path(__file__).with_name("models.csv"), schema_overrides={"version": pl.String}
    ).iter_rows()
}
"""The paper's models by the start of their short names, in lower-case letters and digits."""


def paper_model(name: str) -> PaperModel | None:
    """Return the paper's model with this name, or None for other models.

    >>> paper_model("openrouter/meta-llama/llama-3.1-70b-instruct").version
    '70B'
    >>> paper_model("gpt-4o-2024-11-20") is None
    True
    """
    short = re.sub(r"[^a-z0-9]", "", name.rpartition("/")[2].lower()).removeprefix("meta")
    return next((model for start, model in MODELS.items() if short.startswith(start)), None)


def by_default(entry: Mapping[str, Any]) -> bool:
    """Return whether a player's settings are the defaults of the paper's experiments."""
    defaults = {"temperature": 1, "style": "v1", "chain_of_thought": None, "persona": None}
    return all(entry.get(name) in (None, value) for name, value in defaults.items())


def shown(evidence: Evidence, labels: Sequence[str]) -> dict[str, PaperModel | None]:
    """Return the players in Tables 1, 4 and 8, each with the corresponding model of the paper.

    A treated player is omitted if the same model also plays without treatment. If two players have
    the same model, neither gets the paper's name.
    """
    players, selected = entries(evidence), selected_labels(evidence, evidence.labels)
    models = {label: str(players.get(label, {}).get("model") or label) for label in labels}
    untreated = {models[label] for label in labels if by_default(players.get(label, {}))}
    included = [
        label
        for label in labels
        if label in selected
        and (by_default(players.get(label, {})) or models[label] not in untreated)
    ]
    matching = [paper_model(models[label]) for label in included]
    return {
        label: model if matching.count(model) == 1 else None
        for label, model in zip(included, matching, strict=True)
    }


def leaderboard(
    evidence: Evidence, means: pl.DataFrame, order: Sequence[str]
) -> Iterator[ReportTable]:
    """Yield Table 1, with a row per game and a column per model, the paper's models first."""
    players = shown(evidence, order)
    if not players:
        return
    positions: list[PaperModel | None] = [*MODELS.values(), None]
    ordered = sorted(players.items(), key=lambda item: positions.index(item[1]))
    keys = {label: model.key if model else label for label, model in ordered}
    headers = []
    for label, model in ordered:
        named = (model.key, model.version, model.family) if model else (label, label, "")
        headers.append(Header(named[0], named[1], "", 1, group=named[2]))
    selected = means.filter(pl.col("player").is_in(list(keys))).select(
        "game",
        pl.col("player").replace_strict(keys),
        "score",
        pl.col("score.spread").alias(f"score{ERROR}"),
    )
    wide = _rows(side_by_side(selected, "score", "player"))
    yield table(evidence, "table-1", wide, columns={"models": headers})


def _rows(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in the paper's order, with the paper's titles."""
    position = pl.col("game").replace_strict(list(GAMES), range(len(GAMES)))
    return frame.sort(position).select(
        pl.col("game").replace_strict(GAMES).alias("title"), pl.all()
    )


def voyages(evidence: Evidence, ballots: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Table 2 for each player ``who``: a row per ballot and a column per pirate.

    Pirates who have been thrown overboard have a dash. Voyages are random, so cells can't be
    compared with the printed values.
    """
    pirates = {
        name: name.removeprefix("pirate ") for name in ballots.columns if name.startswith("pirate ")
    }
    players = ballots["who"].unique(maintain_order=True).to_list()
    for label, model in shown(evidence, players).items():
        frame = ballots.filter(who=label).select(
            pl.format("Round {}", "ballot").alias("ballot"),
            pl.col(list(pirates)).str.replace("\u00a0", "").fill_null("-"),
            "plan_distance",
            "vote_accuracy",
        )
        yield _numbered(evidence, "voyage", model, label, frame, columns={"pirates": pirates})


def runs(evidence: Evidence, means: pl.DataFrame, by_run: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Tables 4, 10, 14 and 18: each player's scores by game and run, with mean and spread."""
    ranked = means.filter(game=OVERALL)["player"].to_list()
    for label, model in shown(evidence, ranked).items():
        scores = by_run.filter(player=label)
        numbers = sorted(scores["run"].unique())[:RUNS]
        wide = scores.filter(pl.col("run").is_in(numbers)).select(
            "game", pl.format("run {}", "run").alias("run"), "score"
        )
        average = {"average": "score", f"average{ERROR}": "score.spread"}
        frame = with_matching(
            side_by_side(wide, "score", "run"),
            means.filter(player=label).select("game", **average),
            "game",
        )
        titles = {
            f"run {number}": f"T{number}" + " (Default)" * (number == 1) for number in numbers
        }
        columns = {"runs": titles}
        yield _numbered(evidence, "runs", model, label, _rows(frame), columns=columns)


def treatments(
    evidence: Evidence, setting: str, name: str, frame: pl.DataFrame, values: Mapping[str, str]
) -> ReportTable:
    """Return one of Tables 5 to 7: a column per value of a setting, then mean and spread.

    As in the paper, prompt versions have no overall score, and reasoning strategies have no mean.
    All players have the model ``name``; ``values`` are headings by column.
    """
    reasoning = setting == "reasoning strategy"
    rows = frame if setting != "prompt version" else frame.filter(pl.col("game") != OVERALL)
    rows = _rows(rows.drop("title").rename({"mean": "average", "spread": f"average{ERROR}"}))
    titles = {key: _treatment_title(setting, value) for key, value in values.items()}
    columns: dict[str, Columns] = {"values": titles}
    if reasoning:
        columns["average"] = ()
    spread = "" if reasoning else "In parentheses, the sample standard deviation over the columns. "
    facts = {"setting": setting, "spread": spread}
    return _numbered(evidence, setting, paper_model(name), name, rows, columns=columns, facts=facts)


def _treatment_title(setting: str, value: str) -> str:
    """Return the paper's name for a setting's value.

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


def _numbered(
    evidence: Evidence,
    kind: str,
    model: PaperModel | None,
    player: str,
    frame: pl.DataFrame,
    *,
    columns: Mapping[str, Columns],
    facts: Mapping[str, object] = NOTHING,
) -> ReportTable:
    """A model's table, with GPT-3.5's number if the paper has none of this model."""
    number, further = FIRST_TABLES[kind], model.further if model else None
    if further is None or (further and kind in ONLY_GPT):
        name = f"table-{number}-{anchor(player)}".lower()
    else:
        number += further
        name = f"table-{number}"
    layout = kind if kind in ("runs", "voyage") else "treatments"
    facts = {**facts, "number": number, "player": player}
    return table(evidence, layout, frame, name=name, columns=columns, facts=facts)


def _percent(value: Any) -> str:
    return f"{100 * value:.0f}%"


def _rates(values: Sequence[float]) -> str:
    return f"[{100 * values[0]:.0f},{100 * values[-1]:.0f}]"


class PaperSetting(NamedTuple):
    """The parameters that Table 8 varies in a game, and the headings of their values' columns."""

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
    """Yield a game's panel of Tables 8, 13, 17 and 21: scores by model and setting, with means.

    Only configurations that differ in the parameters of the paper count. There is no table with
    fewer than two settings.
    """
    setting = SETTINGS[game]
    titles = _setting_titles(evidence, game)
    players = shown(evidence, means["player"].unique(maintain_order=True).to_list())
    selected = means.filter(
        pl.col("configuration").is_in(list(titles)), pl.col("player").is_in(list(players))
    )
    columns = {
        titles[key]: f"{plain(setting.parameters[0])} {titles[key]}"
        for key in selected["configuration"].unique(maintain_order=True)
    }
    if len(columns) < 2:
        return
    names = {label: model.key if model else label for label, model in players.items()}
    cells = selected.select(
        pl.col("player").replace_strict(names),
        pl.col("configuration").replace_strict(titles).replace_strict(columns).alias("key"),
        "score",
    )
    wide = side_by_side(cells, "score", "key")
    values = pl.concat_list(list(columns.values())).list
    complete = pl.all_horizontal(pl.col(key).is_not_null() for key in columns.values())
    frame = wide.with_columns(
        pl.when(complete).then(values.mean()).alias("average"),
        pl.when(complete).then(values.std()).alias(f"average{ERROR}"),
    )
    yield table(
        evidence,
        "table-8",
        frame,
        name=f"table-8-{anchor(game.replace('_', '-'))}",
        columns={"settings": {key: title for title, key in columns.items()}},
        facts={"game": GAMES[game], "symbol": setting.symbol},
    )


def _setting_titles(evidence: Evidence, game: str) -> dict[str, str]:
    """Titles of the configurations that have defaults except for the varied setting."""
    setting, defaults = SETTINGS[game], get_game(game).rules().model_dump(mode="json")
    configurations = parameters_in(evidence.scored(game))
    fixed_names = [name for name in varying(configurations) if name not in setting.parameters]
    return {
        key: setting.title(*(values[name] for name in setting.parameters))
        for key, values in configurations.items()
        if all(values[name] == defaults.get(name) for name in fixed_names)
    }
