"""Self-play's Table 2 in the paper's form, and the length of dialogues in tokens of GPT-2."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import cheaptalk as ct
from cheaptalk.games.deal_or_no_deal.rules import PLAYERS, DealOrNoDeal
from cheaptalk.games.deal_or_no_deal.strategies import honest, random
from cheaptalk.papers.self_play.tokens import part_count, read_merges, token_counts
from cheaptalk.players import ImportedSeat
from cheaptalk.records import Store
from cheaptalk.records.imports.importing import Collection, ForeignGame, import_matches
from cheaptalk.reports.recipes.findings import findings
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.rules import Chance, play

OBJECTIVES = {"semi-competitive": 0.0, "cooperative": 1.0, "strictly competitive": -1.0}


def trained() -> Iterator[ForeignGame]:
    """Games of two iterations with themselves and with people, under each objective."""
    for number in range(72):
        game = DealOrNoDeal(objective=list(OBJECTIVES.values())[number % 3])
        chance = Chance(f"trained/{number}")
        skilled, alone = number % 2 == 1, number % 4 > 1
        decide = honest if skilled else random
        table = play(
            game, game.draw_instance(chance), f"trained/{number}",
            dict(zip(PLAYERS, [decide, decide if alone else honest], strict=True)),
        )  # fmt: skip
        model = ImportedSeat(imported="mine", model=f"gpt-iteration-{10 * skilled}")
        partner = model if alone else ImportedSeat(imported="mine", person=True)
        seats: dict[str, ImportedSeat] = dict(zip(PLAYERS, [model, partner], strict=True))
        yield ForeignGame(str(number), str(number), table, seats, {"id": str(number)})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("trained") / "trained.sqlite"
    with Store.open(path, create=True) as store:
        import_matches(Collection("mine", "here", trained()), store, "trained")
        yield store


def tables(store: Store, **options: str) -> dict[str, ReportTable]:
    return findings(store, "trained", "self-play", draws=100, options=options).tables


def test_table_2_is_as_wide_as_the_papers_and_has_our_numbers(store: Store) -> None:
    found = tables(store, printed="beside", players="llms")
    table, ours = found["table-2"], found["before-after"].frame
    shown = [one for one in table.columns if not one.key.endswith(".printed")]
    assert [(one.group, one.title) for one in shown] == [
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
    for one in shown[1:]:
        rate, objective, play = (
            one.key.removesuffix(" self-play").removesuffix(" with people").rsplit(" ", 1)[0],
            next(name for name in OBJECTIVES if f" {name} " in one.key),
            "self-play" if one.key.endswith("self-play") else "with people",
        )
        (own,) = ours.filter(rate=rate, objective=objective, series=play).iter_rows(named=True)
        assert (before[one.key], after[one.key]) == (own["before"], own["after"])
        assert before[f"{one.key}.bold"] == (own["before"] >= own["after"])
        assert after[f"{one.key}.bold"] == (own["after"] >= own["before"])
    key = "Pareto optimality cooperative with people.printed"
    assert (before[key], after[key]) == (16.3, 38.0)


def test_table_2_leaves_out_lineages_of_players_who_are_not_asked_for(store: Store) -> None:
    assert "table-2" in tables(store, players="gpt-iteration-0,gpt-iteration-10")
    assert "table-2" not in tables(store, players="gpt-iteration-0")


def test_dialogues_are_as_long_as_the_texts_of_their_turns(store: Store, tmp_path: Path) -> None:
    merges = tmp_path / "merges.txt"
    merges.write_text("#version: 0.2\nm e\nme s\ns a\nsa g\nsag e\nmes sage\n", encoding="utf-8")
    rules = read_merges(merges)
    texts: dict[str, list[str]] = {}
    for record in store.records("trained", bodies=True):
        if record.label(PLAYERS[0]) == record.label(PLAYERS[1]) == "gpt-iteration-0":
            texts[record.id] = [
                f"[message] {answer.action['message']}" if answer.action.get("message")
                else "[propose] ({books} books, {hats} hats, {balls} balls)".format(**answer.action)
                for answer in record.answers if answer.action
            ]  # fmt: skip
    for told, known, title in (
        ({}, None, "GPT-2 pieces"), ({"merges": str(merges)}, rules, "GPT-2 tokens")
    ):  # fmt: skip
        table = tables(store, **told)["lengths"]
        counts = token_counts(texts, known)
        rows = table.frame.filter(player="gpt-iteration-0")
        mean = np.average(rows["gpt2"], weights=rows["gpt2.n"])
        assert mean == pytest.approx(sum(counts.values()) / len(counts))
        assert [one.title for one in table.columns if one.key == "gpt2"] == [title]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("I'll take 2 hats, ok?", ["I", "'ll", " take", " 2", " hats", ",", " ok", "?"]),
        ("[message] Hi", ["[", "message", "]", " Hi"]),
        ("a  b\n\nc_d", ["a", " ", " b", "\n", "\n", "c", "_", "d"]),
    ],
)
def test_texts_are_cut_as_by_gpt_2(text: str, pieces: list[str]) -> None:
    assert token_counts({"match": [text]}, None) == {"match": len(pieces)}
    letters = {"match": sum(len(piece.encode()) for piece in pieces)}
    assert token_counts({"match": [text]}, {("no", "rule"): 0}) == letters


def test_pairs_are_joined_in_the_order_of_their_rank() -> None:
    rules = {("b", "c"): 0, ("a", "b"): 1, ("\u0120", "a"): 2, ("bc", "d"): 3}
    assert part_count("abcd", rules) == 2  # a, bcd
    assert part_count("abab", rules) == 2
    assert part_count(" a", rules) == 1
    assert part_count("é", rules) == 2


@pytest.mark.parametrize("text", ["", "one two three\n"])
def test_another_file_is_no_merges(store: Store, tmp_path: Path, text: str) -> None:
    file = tmp_path / "file.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ct.CheaptalkError, match=r"is not GPT-2's merges\.txt"):
        tables(store, merges=str(file))
    with pytest.raises(ct.CheaptalkError, match="cannot read"):
        tables(store, merges=str(tmp_path / "nowhere"))
