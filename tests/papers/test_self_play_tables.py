"""Self-play's Table 2 in the paper's form, and the length of dialogues in GPT-2 tokens."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.games.deal_or_no_deal.rules import PLAYERS, DealOrNoDeal
from cheaptalk.games.deal_or_no_deal.strategies import honest, random
from cheaptalk.papers.self_play.language import part_count, read_merges, token_counts
from cheaptalk.papers.self_play.stages import ShownNumber, Stage, panels, stage_of
from cheaptalk.players import ImportedSeat
from cheaptalk.records import Store
from cheaptalk.records.imports.importing import GameCollection, ImportedGame, import_matches
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.charts.marks import Line
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT, ReportTable
from tests.papers.studies import PERSON, recorded_game, report

OBJECTIVES = {"semi-competitive": 0.0, "cooperative": 1.0, "strictly competitive": -1.0}


def trained_games(*, people: bool = True) -> Iterator[ImportedGame]:
    """Yield games of two iterations in self-play and with people, under each objective."""
    for number in range(72):
        game = DealOrNoDeal(objective=list(OBJECTIVES.values())[number % 3])
        skilled, self_play = number % 2 == 1, number % 4 > 1
        if not (people or self_play):
            continue
        decide = honest if skilled else random
        model = ImportedSeat(imported="mine", model=f"gpt-iteration-{10 * skilled}")
        partner = (decide, model) if self_play else (honest, PERSON)
        yield recorded_game(f"trained/{number}", game, (decide, model), partner)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("trained") / "trained.sqlite"
    with Store.open(path, create=True) as store:
        import_matches(GameCollection("mine", trained_games()), store, "trained")
        yield store


def compute_tables(store: Store, part: str, **options: str) -> dict[str, ReportTable]:
    return report(store, "self-play", part, options=options).tables


def test_table_2_has_paper_columns_and_computed_values(store: Store) -> None:
    tables = compute_tables(store, "Before and after", printed="beside", players="llms")
    table, computed = tables["table-2"], tables["before-after"].frame
    shown = [column for column in table.columns if not column.key.endswith(".printed")]
    assert [(column.group, column.title) for column in shown] == [
        ("", "Finetuning"),
        *(
            (rate, f"{objective} {play}")
            for rate in ("Agreement", "Pareto-Optimality")
            for objective in ("Semi-Competitive", "Cooperative")
            for play in ("Self-Play", "Human")
        ),
    ]
    before, after = table.rows
    assert (before["row"], after["row"]) == ("Before", "After")
    for column in shown[1:]:
        rate, objective, play = (
            column.key.removesuffix(" self-play").removesuffix(" with people").rsplit(" ", 1)[0],
            next(name for name in OBJECTIVES if f" {name} " in column.key),
            "self-play" if column.key.endswith("self-play") else "with people",
        )
        (row,) = computed.filter(rate=rate, objective=objective, series=play).iter_rows(named=True)
        assert (before[column.key], after[column.key]) == (row["before"], row["after"])
        assert before[f"{column.key}.bold"] == (row["before"] >= row["after"])
        assert after[f"{column.key}.bold"] == (row["after"] >= row["before"])
    key = "Pareto optimality cooperative with people.printed"
    assert (before[key], after[key]) == (16.3, 38.0)


def test_printed_columns_without_computed_values_keep_their_titles(tmp_path: Path) -> None:
    with Store.open(tmp_path / "alone.sqlite", create=True) as store:
        import_matches(GameCollection("mine", trained_games(people=False)), store, "trained")
        table = compute_tables(store, "Before and after", printed="beside")["table-2"]
    titles = {(column.group, column.title) for column in table.columns}
    assert ("Agreement", "Semi-Competitive Human, printed") in titles
    assert not any("with people" in title for _, title in titles)
    before, _ = table.rows
    assert before["Agreement semi-competitive with people"] is None
    assert before["Agreement semi-competitive with people.printed"] == 13.3


def test_charts_show_each_player_in_its_own_style() -> None:
    """Players that are no iterations have different dashes; without iterations, each has a row."""
    names = [f"player-{number}" for number in range(4)]
    bounds = {f"own{suffix}": [0.0] * 6 for suffix in (LOW, HIGH)}
    counts = {f"own{suffix}": [1] * 6 for suffix in (COUNT, CLUSTERS)}
    frame = pl.DataFrame({
        "objective": ["self"] * 6, "player": ["i-0", "i-1", *names],
        "series": ["self-play", "self-play", *names], "iteration": [0, 1, *[None] * 4],
        "own": [1.0] * 6, **bounds, **counts,
    })  # fmt: skip
    number = ShownNumber("own", "score")
    (chart,) = panels(frame, number, staged=True)
    lines = [layer for layer in chart.layers if isinstance(layer, Line) and layer.dash]
    assert len({line.dash for line in lines}) == len(names)
    (by_player,) = panels(frame.filter(pl.col("iteration").is_null()), number, staged=True)
    assert set(by_player.y.names) == {*names}


def test_table_2_excludes_unselected_lineages(store: Store) -> None:
    for players, shown in (("gpt-iteration-0,gpt-iteration-10", True), ("gpt-iteration-0", False)):
        tables = compute_tables(store, "Before and after", players=players)
        assert ("table-2" in tables) is shown


def test_dialogue_length_counts_tokens_of_turns(store: Store, tmp_path: Path) -> None:
    merges = tmp_path / "merges.txt"
    merges.write_text("#version: 0.2\nm e\nme s\ns a\nsa g\nsag e\nmes sage\n", encoding="utf-8")
    rules = read_merges(merges)
    texts: dict[str, list[str]] = {}
    for record in store.records("trained", bodies=True):
        if record.label(PLAYERS[0]) == record.label(PLAYERS[1]) == "gpt-iteration-0":
            texts[record.id] = [
                f"[message] {answer.action['message']}"
                if answer.action.get("message")
                else "[propose] ({books} books, {hats} hats, {balls} balls)".format(**answer.action)
                for answer in record.answers
                if answer.action
            ]
    for options, known, title in (
        ({}, None, "GPT-2 pieces"),
        ({"merges": str(merges)}, rules, "GPT-2 tokens"),
    ):
        table = compute_tables(store, "Length", **options)["lengths"]
        counts = token_counts(texts, known)
        rows = table.frame.filter(player="gpt-iteration-0")
        mean = np.average(rows["gpt2"], weights=rows["gpt2_n"])
        assert mean == pytest.approx(sum(counts.values()) / len(counts))
        assert [column.title for column in table.columns if column.key == "gpt2"] == [title]


def test_texts_are_split_as_by_gpt_2() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("I'll take 2 hats, ok?", ["I", "'ll", " take", " 2", " hats", ",", " ok", "?"]),
        ("[message] Hi", ["[", "message", "]", " Hi"]),
        ("a  b\n\nc_d", ["a", " ", " b", "\n", "\n", "c", "_", "d"]),
    ]
    for text, pieces in cases:
        assert token_counts({"match": [text]}, None) == {"match": len(pieces)}
        letters = {"match": sum(len(piece.encode()) for piece in pieces)}
        assert token_counts({"match": [text]}, {("no", "rule"): 0}) == letters


def test_pairs_are_merged_by_rank() -> None:
    rules = {("b", "c"): 0, ("a", "b"): 1, ("\u0120", "a"): 2, ("bc", "d"): 3}
    assert part_count("abcd", rules) == 2  # a, bcd
    assert part_count("abab", rules) == 2
    assert part_count(" a", rules) == 1
    assert part_count("é", rules) == 2


def test_invalid_merges_file_raises_error(store: Store, tmp_path: Path) -> None:
    cases: list[str] = ["", "one two three\n"]
    for text in cases:
        file = tmp_path / "file.txt"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ct.CheaptalkError, match=r"is not GPT-2's merges\.txt"):
            compute_tables(store, "Length", merges=str(file))
    with pytest.raises(ct.CheaptalkError, match="cannot read"):
        compute_tables(store, "Length", merges=str(tmp_path / "nowhere"))


def test_stage_is_parsed_from_label() -> None:
    assert stage_of("gpt-4") == Stage("gpt-4", None)
    assert stage_of("llama 3, iteration 12") == Stage("llama 3,", 12)
    assert stage_of("gpt.Iteration_07") == Stage("gpt", 7)
    assert stage_of("iterations-3") == Stage("iterations-3", None)
    preset = ct.studies.preset("self-play")
    assert preset is not None
    assert [stage_of(label).iteration for label in preset.players] == [*range(11), None]
