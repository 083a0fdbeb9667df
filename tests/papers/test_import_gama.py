"""Import of GAMA's recorded games as matches; others are skipped with file, field and reason."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.papers.gama.importer.files import FileName
from cheaptalk.papers.gama.importer.importer import read_gama
from cheaptalk.papers.gama.scores import GAMES
from cheaptalk.players import ImportedSeat
from cheaptalk.records import Store, transcript
from cheaptalk.records.imports import ImportedGame, Skipped, import_matches
from cheaptalk.rules import CheaptalkError, get_game
from tests.conftest import Command
from tests.papers.faults import put, read_faults
from tests.papers.gama_folders import (
    KINDS,
    Data,
    auction,
    bar,
    battle,
    diners,
    dollar,
    guess,
    pirates,
    write,
    write_all,
)


def read_game(folder: Path, data: Data, name: str = "game") -> ImportedGame:
    """Read the game of a file, which must be valid."""
    write(folder, name, data)
    (game,) = read_gama(folder).games
    assert isinstance(game, ImportedGame), game
    return game


def reason(folder: Path, data: Data) -> str:
    """Return why the game of a file is skipped."""
    write(folder, "game", data)
    (game,) = read_gama(folder).games
    assert isinstance(game, Skipped), game
    return game.reason


def payoffs(game: ImportedGame) -> dict[str, float]:
    assert game.table.outcome is not None
    return game.table.game.seat_payoffs(game.table.outcome)


def parameters(game: ImportedGame) -> dict[str, Any]:
    return game.table.game.model_dump(mode="json")


# Valid games


def test_every_game_kind_is_imported(games: Path, store: Store) -> None:
    importing = import_matches(read_gama(write_all(games)), store, "gama-import")
    assert (importing.imported, importing.present, importing.skipped) == (8, 0, [])
    records = {record.instance_key: record for record in store.records("gama-import", bodies=True)}
    assert {id_: record.game for id_, record in records.items()} == {
        f"{kind}/{kind}_1": game for kind, game in zip(KINDS, GAMES, strict=True)
    }
    for record in records.values():
        assert record.replay().over
        assert transcript(record)
        assert {kind for kinds in record.kinds.values() for kind in kinds} == {"ok"}
        assert record.body["source"]["meta"]["version"] == "v1"
        assert record.body["source"]["opening"] == "You are playing a game."
        for metric in get_game(record.game).metrics.values():
            assert metric.variant(as_published=True)(record.result()) is not None
    again = import_matches(read_gama(games), store, "gama-import")
    assert (again.imported, again.present) == (0, 8)


PAYOFFS = {
    # Only 30, then only 10, is at distance 10 from 20; half a win would pay 0.5 / 2.
    "guess": (0, 0.5, 0.5),
    "bar": (0 + 10, 0 + 5, 5 + 5),
    "dollar": (100, 0, 0),
    # 2 * 30 / 3 = 20 for all, then 2 * 25 / 3; a contribution of 25 exceeds the 20 tokens.
    "goods": (30 + 20 + 50 / 3, 20 - 5 + 50 / 3, 40 + 20 + 50 / 3),
    "diners": (15 - 50 / 3, 20 - 50 / 3, 20 - 50 / 3),
    "auction": (0, -10, 20),
    "battle": (1, 0, 0),
    "pirates": (0, 99, 1),
}
"""Payoffs of the three players by kind of game."""


def test_payoffs_follow_recorded_choices_and_draws(games: Path) -> None:
    for kind, expected in PAYOFFS.items():
        game = read_game(games, KINDS[kind]())
        assert list(payoffs(game).values()) == pytest.approx(expected), kind
    assert parameters(read_game(games, guess()))["players"] == 3
    assert parameters(read_game(games, bar()))["feedback"] == "implicit"


def test_unknown_order_counts_as_costly(games: Path) -> None:
    game = read_game(games, diners())
    moves = [given.action.model_dump() for given in game.table.given if given.action]
    assert [move["chosen_dish"] for move in moves] == ["cheap", *["costly"] * 5]
    assert game.source["unused"] == {
        "counted_as_costly": [
            {"request": 1, "seat": "player_1", "chosen_dish": "costly_dish"},
            {"request": 1, "seat": "player_2", "chosen_dish": "cheap_dish"},
            {"request": 1, "seat": "player_3", "chosen_dish": "costly_or_cheap"},
        ]
    }


def test_second_price_auction_pays_second_bid(games: Path) -> None:
    data = auction()
    data["meta"]["mode"] = "second highest bid"
    data["round_records"][1]["bid_winner_payment"] = 80
    assert payoffs(read_game(games, data)) == {"player_1": 0, "player_2": 0, "player_3": 20}


def test_shots_at_self_and_eliminated_players_are_imported(games: Path) -> None:
    game = read_game(games, battle())
    moves = [given.action.model_dump() for given in game.table.given if given.action]
    targets = [None, "player_3", "player_1", "player_3", "player_2"]
    assert [move["target"] for move in moves] == targets
    assert parameters(game)["hit_rates"] == [0.35, 0.4, 0.45]
    assert game.source["unused"] == {}


def test_battle_rounds_override_player_records(games: Path) -> None:
    data = battle()
    data["player_data"][0]["records"] = ["2"]
    game = read_game(games, data)
    assert payoffs(game)["player_1"] == 1
    assert game.source["unused"]["player_records"]["player_1"] == ["2"]


def test_battle_ends_after_last_round(games: Path) -> None:
    data = battle()
    opening = [data["round_records"][0] | {"player_shooting": str(turn % 3)} for turn in range(20)]
    data["round_records"] = opening
    game = read_game(games, data)
    assert payoffs(game) == {"player_1": 0, "player_2": 0, "player_3": 0}
    data["round_records"] = opening[:19]
    assert reason(games, data) == '"round_records": the game has not ended after the last round'


def test_proposer_does_not_vote(games: Path) -> None:
    voters = [given.actor for given in read_game(games, pirates()).table.given]
    assert voters == [f"player_{number}" for number in (1, 2, 3, 2, 3)]


def test_choices_come_from_player_records(games: Path) -> None:
    """GAMA shuffles the choices of a round in place."""
    game, data = read_game(games, guess()), guess()
    data["round_records"][0]["responses"].reverse()
    assert read_game(games, data).table.given == game.table.given


def test_unknown_dishes_are_counted_in_notes(cheaptalk: Command, games: Path) -> None:
    data = diners()
    data["player_data"][2]["records"][0] = data["round_records"][0]["responses"][2] = "Cheap"
    data["player_data"][0]["records"][1] = data["round_records"][1]["responses"][0] = "Cheap"
    write(games, "game", data)
    done = cheaptalk("store", "import", "gama", str(games))
    assert done.status == 0, done.err
    assert done.out.splitlines()[1:-1] == [
        "changes made by the import:",
        '  "Cheap" counted as the costly dish: 2 times',
        '  "cheap_dish" counted as the costly dish: 1 time',
        '  "costly_or_cheap" counted as the costly dish: 1 time',
    ]
    output = json.loads(
        cheaptalk("store", "import", "gama", str(games), "--study", "b", "--json").out
    )
    assert output["notes"]['"Cheap" counted as the costly dish'] == 2


MODELS = {
    # file name, name_exp, meta.models, the players' model, expected version
    "named": ("gpt-3.5-turbo-0613_bar_game_implicit_v1_1", None, None, "gpt-3.5-turbo", "0613"),
    "in the settings": ("game", "gpt-3.5-turbo-0613_bar_game_v1", None, "gpt-3.5-turbo", "0613"),
    "nowhere": ("bar_game_implicit_v1_1", None, None, "gpt-3.5-turbo", "0125"),
    "contradicted": (
        "gpt-3.5-turbo-0613_bar_game_v1_1",
        None,
        "gpt-3.5-turbo-0125",
        "gpt-3.5-turbo",
        "0613",
    ),
    "by the players": ("bar_game_v1_1", None, "gpt-3.5-turbo", "gpt-3.5-turbo-0613", "0613"),
    "not at all": ("gpt-3.5-turbo-1106_bar_game_v1_1", None, None, ..., "1106"),
    "in short": ("gpt_bar_game_v1_1", None, None, "openai/gpt-3.5-turbo-0613", "0613"),
}


def test_model_version_comes_from_file_name(games: Path) -> None:
    for case in MODELS:
        name, called, models, model, expected = MODELS[case]
        data = bar()
        put("meta", "name_exp")(data, called or "bar_game_implicit_v1_1")
        if models:
            put("meta", "models")(data, models)
        for player in data["player_data"]:
            put("model")(player, model)
        (label,) = {seat.label for seat in read_game(games / case, data, name).seats.values()}
        assert label == f"gpt-3.5-turbo-{expected}"


def test_conflicting_model_names_are_noted(games: Path) -> None:
    cases: list[tuple[str, str]] = [
        ("gpt-4o", 'model "gpt-4o" from the settings used for a player recorded as "claude-3"'),
        ("maker/claude-3", ""),
        ("claude-3-20240229", ""),
    ]
    for models, expected in cases:
        data = bar()
        put("meta", "models")(data, models)
        for player in data["player_data"]:
            put("model")(player, "claude-3")
        put("model")(data["player_data"][0], "specified=go")  # a fixed answer
        notes = read_game(games, data, "bar_game_implicit_v1_1").notes
        relevant = {note: count for note, count in notes.items() if "from the settings" in note}
        assert relevant == ({expected: len(data["player_data"]) - 1} if expected else {})


def test_unknown_dish_is_named_in_count_error(games: Path) -> None:
    data = diners()
    data["player_data"][0]["records"][0] = data["round_records"][0]["responses"][0] = "soup"
    message = reason(games, data)
    assert message.startswith(
        '"round_records.0.cheap_player": is 1; expected 0 from the rest of the file; or'
    )
    assert '"soup"' in message


def test_people_and_fixed_answers_are_not_models(games: Path) -> None:
    data = bar()
    put("meta", "models")(data, "gpt-4o")
    put(*PLAYER, "model")(data, "user")
    put("player_data", 1, "model")(data, "specified=go/stay")
    labels = [seat.label for seat in read_game(games, data, "gpt-4o_bar_game_v1_t1").seats.values()]
    assert labels == ["human", "specified=go/stay", "gpt-4o-2024-08-06 (temperature 0.2)"]


def test_aliases_map_names_to_one_player(cheaptalk: Command, games: Path) -> None:
    data = bar()
    for player, model in zip(
        data["player_data"], ("gpt-4o", "gpt-4o-2024-08-06", "x/A"), strict=True
    ):
        player["model"] = model
    labels = [seat.label for seat in read_game(games, data).seats.values()]
    assert labels == ["gpt-4o-2024-08-06", "gpt-4o-2024-08-06", "A"]
    (game,) = read_gama(games, {"A": "B", "gpt-4o": "gpt-4o"}).games
    assert isinstance(game, ImportedGame)
    assert [seat.label for seat in game.seats.values()] == ["gpt-4o", "gpt-4o-2024-08-06", "B"]
    done = cheaptalk(
        "store", "import", "gama", str(games), "--alias", "A=gpt-4o-2024-08-06", "--json"
    )
    assert json.loads(done.out)["notes"] == {
        'model "gpt-4o": read as gpt-4o-2024-08-06': 1,
        'model "x/A": read as gpt-4o-2024-08-06': 1,
    }
    wrong = cheaptalk("store", "import", "gama", str(games), "--alias", "A")
    assert wrong.status == 2
    assert '--alias: expected ALIAS=NAME, got "A"' in wrong.said


def test_misspelt_game_falls_back_to_file_name(games: Path) -> None:
    data = dollar()
    data["meta"]["name_exp"] = "gemini-1.5-pro_divide_dillar_v1_t1"
    game = read_game(games, data, "gemini-1.5-pro_divide_dollar_v1_t1")
    assert game.table.game.name == "divide_the_dollar"
    assert game.notes == {'game "gemini-1.5-pro_divide_dillar": read as divide_dollar': 1}
    assert '"gemini-1.5-pro_divide_dillar_v1_t1" contains none of' in reason(games / "b", data)


def test_missing_mode_is_inferred_from_name_or_folder(games: Path) -> None:
    cases: list[tuple[str, str]] = [
        ("explicit/game", "bar_game"),
        ("bar_game_explicit_v1_1", "bar_game"),
    ]
    for name, called in cases:
        data = bar()
        put("meta", "mode")(data, ...)
        data["meta"]["name_exp"] = called
        game = read_game(games / str(len(name)), data, name)
        assert parameters(game)["feedback"] == "explicit"
        assert game.notes == {'"meta.mode" is missing, assumed to be explicit': 1}
        assert "mode" not in game.source["meta"]
        assert reason(games / "b", data) == '"meta.mode": is missing'


def test_missing_price_rule_is_inferred_from_payments(games: Path) -> None:
    data = auction()
    put("meta", "mode")(data, ...)
    assert parameters(read_game(games, data))["price"] == "first"
    data["round_records"][1]["bid_winner_payment"] = 80
    assert parameters(read_game(games, data))["price"] == "second"
    data["round_records"][1]["bid_winner_payment"] = 50
    assert '"round_records.1.bid_winner_payment": is 50' in reason(games, data)


TREATMENTS: dict[str, dict[str, str | float]] = {
    "bar_game_implicit_v1_3": {},
    "public_goods": {},
    "gpt-4o_public_goods_v1": {"style": "v1"},
    "gpt-4o_public_goods_v1_t0": {"temperature": 0.0},
    "battle_royale_t1": {"temperature": 0.2},
    "battle_royale_v1_t5": {"temperature": 1.0},
    "bar_game_explicit_v1_cot1": {"chain_of_thought": "step_by_step"},
    "pirate_game_v1_cot4": {"chain_of_thought": "phrase_4"},
    "divide_dollar_v1_role2": {"persona": "selfish"},
    "guessing_game_v1_r12": {"experiment": "settings"},
    "llama-3.1-70b_sealed_bid_auction_v1_vr0": {"experiment": "settings"},
    "diner_dilemma_v1_p6": {"experiment": "settings"},
    "guessing_game_v1_p1": {"experiment": "p1"},
    "gpt-4o_diner_dilemma_v1_jailbreak3": {"experiment": "jailbreak"},
    "divide_dollar_v1_savept1_0": {"experiment": "savept1_0"},
    "battle_royale_v1_t7": {"experiment": "t7"},
}


def test_treatment_is_parsed_from_file_name() -> None:
    for name in TREATMENTS:
        assert FileName.of(name).treatment("v1") == TREATMENTS[name]


def test_prompt_version_comes_from_settings(games: Path) -> None:
    data = dollar()
    data["meta"]["version"] = "v3"
    labels = {seat.label for seat in read_game(games, data, "divide_dollar_v3").seats.values()}
    assert labels == {"Talker-7B (style v3)"}
    other = read_game(games / "b", data, "divide_dollar_v3_t0")
    labels = {seat.label for seat in other.seats.values()}
    assert labels == {"Talker-7B (style v3, temperature 0.0)"}


def test_model_labels_are_short_and_versioned(games: Path) -> None:
    data = bar()
    data["player_data"][1]["model"] = "gpt-3.5-turbo"
    seats = read_game(games, data).seats
    assert seats["player_1"] == ImportedSeat(imported="gama", model="Talker-7B")
    assert seats["player_2"].label == "gpt-3.5-turbo-0125"
    data["meta"]["models"] = "maker/Exact-1"
    game = read_game(games, data)
    assert {seat.label for seat in game.seats.values()} == {"Exact-1"}
    assert game.source["models"] == ["gpt-3.5-turbo", "lab/Talker-7B"]


def test_multipart_prompts_are_read(games: Path) -> None:
    data = bar()
    data["player_data"][0]["prompt"] = [{"role": "user", "parts": ["One, ", "two."]}]
    assert read_game(games, data).source["opening"] == "One, two."
    data["player_data"][0]["prompt"] = []
    assert read_game(games, data).source["opening"] is None


def test_folders_distinguish_games_with_same_name(games: Path) -> None:
    write(games, "first_price/auction_1", auction())
    write(games, "second_price/auction_1", auction())
    ids = [game.id for game in read_gama(games).games if isinstance(game, ImportedGame)]
    assert ids == ["first_price/auction_1", "second_price/auction_1"]
    (game,) = read_gama(games / "first_price").games
    assert isinstance(game, ImportedGame)
    assert game.id == "first_price/auction_1"


# Invalid files


def one_player(data: Data, _: Any) -> None:
    data["meta"]["player_num"] = 1
    del data["player_data"][1:]


def extra_player(data: Data, _: Any) -> None:
    data["player_data"].append(data["player_data"][0] | {"id": "player_3"})


def taxed_rounds(data: Data, _: Any) -> None:
    for round_ in data["round_records"]:
        round_["tax"] = 3


PLAYER = ("player_data", 0)
CHANGES = {"one_player": one_player, "extra_player": extra_player, "taxed_rounds": taxed_rounds}


def test_invalid_file_error_names_field(games: Path) -> None:
    """Without a value, the path of a fault is deleted."""
    for name, fault in read_faults("gama").items():
        data = KINDS[fault["kind"]]()
        change = CHANGES[fault["change"]] if "change" in fault else put(*fault["path"])
        change(data, fault.get("value", ...))
        assert fault["error"] in reason(games, data), name


def test_damaged_file_is_skipped(games: Path) -> None:
    for content, expected in (
        (b'{"meta": {"name_', "is not JSON"),
        (b"7", '"meta.name_exp": null contains none of'),
        (b'{"meta": "caf\xe9"}', "is not UTF-8 text (byte 13)"),
    ):
        write(games, "game", bar()).write_bytes(content)
        (game,) = read_gama(games).games
        assert isinstance(game, Skipped)
        assert game.game == "game.json"
        assert expected in game.reason


def test_file_with_missing_key_is_skipped(games: Path) -> None:
    for kind in KINDS:
        for part, inner in KINDS[kind]().items():
            held = inner if isinstance(inner, dict) else inner[0]
            for name in held:
                if name in ("removed_player_info", "gold", "mode"):
                    continue
                data = KINDS[kind]()
                del (data[part] if isinstance(inner, dict) else data[part][0])[name]
                assert f'{name}": ' in reason(games, data)


ODD: tuple[Any, ...] = (None, True, -1, 10**30, 1.5, float("inf"), float("nan"))
ODD += ("", "null", "9", "²", [], [1], {})


def steps(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield all paths in a file."""
    yield path
    if isinstance(data, dict | list):
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from steps(value, (*path, step))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_arbitrary_values_never_raise(kind: str, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([*steps(KINDS[kind]())][1:]))
    with TemporaryDirectory() as folder:
        changed = KINDS[kind]()
        put(*path)(changed, data.draw(st.sampled_from(ODD)))
        write(Path(folder), "game", changed)
        (game,) = read_gama(Path(folder)).games
    assert isinstance(game, ImportedGame) or game.reason


def test_folder_without_files_raises_error(games: Path) -> None:
    with pytest.raises(CheaptalkError, match=r"contains no \.json files"):
        read_gama(games)
    with pytest.raises(CheaptalkError, match="folder does not exist"):
        read_gama(games / "missing")
