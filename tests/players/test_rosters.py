"""Rosters can play their games, be written and read, and are up to date."""

import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from cheaptalk.models import PROVIDERS, ModelName, Provider, load_prices, retirement
from cheaptalk.models.prices import PACKAGE
from cheaptalk.models.retirements import RETIREMENTS
from cheaptalk.players import ModelSeat, RosterEntry
from cheaptalk.players.rosters import Roster, chosen, roster, roster_names
from cheaptalk.rules import UnknownName, games, get_game

GAMA = (
    "guess_the_average",
    "el_farol_bar",
    "divide_the_dollar",
    "public_goods",
    "diners_dilemma",
    "sealed_bid_auction",
    "battle_royale",
    "pirate_game",
)
ROSTERS = {
    "current": (23, tuple(games())),
    "glee": (13, ("bargaining", "negotiation", "persuasion")),
    "gama": (13, GAMA),
    "gama-treatments": (14, GAMA),
    "self-play": (2, ("deal_or_no_deal",)),
    "item-bargaining": (9, ("item_bargaining",)),
    "item-bargaining-circles": (28, ("item_bargaining",)),
    "chip-trading": (4, ("chip_trading",)),
    "chip-trading-small": (4, ("chip_trading",)),
}
"""The number of players and the games of each roster.

Sources of papers' rosters: Tables 5 (GLEE) and 1 (GAMA-Bench), sections 4.1 (item bargaining) and
5.2 (chips).
"""


def test_every_paper_has_a_roster() -> None:
    sizes = {name: size for name, (size, _) in ROSTERS.items()}
    assert {name: len(roster(name).players) for name in roster_names()} == sizes
    assert {game for _, played in ROSTERS.values() for game in played} == set(games())


def test_every_player_can_play_its_games() -> None:
    for name, (_, games_played) in ROSTERS.items():
        entries = map(RosterEntry.model_validate, players_of(name).values())
        for entry, game in product(entries, [get_game(game).rules() for game in games_played]):
            seat = entry.seat(game, next(iter(game.seats)))
            assert isinstance(seat, ModelSeat)
            assert seat.player(game).model == seat.model
            provider = ModelName.parse(seat.model)
            assert name == "current" or provider.entry.maker or provider.provider == "openrouter"


players_of = cache(chosen)


def seat(name: str, label: str) -> ModelSeat:
    spec = RosterEntry.model_validate(players_of(name)[label]).form
    assert isinstance(spec, ModelSeat)
    return spec


def test_rosters_use_the_papers_settings() -> None:
    glee = seat("glee", "gpt-4o")
    assert (glee.temperature, glee.tries, glee.reask) == (None, 7, "afresh")
    gama = seat("gama", "gpt-3.5-0125")
    assert (gama.temperature, gama.max_tokens, gama.style) == (1, 1024, "v1")
    play = seat("self-play", "gpt-3.5")
    assert (play.temperature, play.max_tokens, play.tries, play.style) == (1, 200, 5, "tagged")
    sonnet = seat("item-bargaining", "sonnet-3.7-r-c-0")
    assert (sonnet.style, sonnet.reasoning is None, sonnet.tries) == ("circle_0", False, 1)
    refined = seat("chip-trading", "gpt-4o-refined")
    assert refined.temperature == 0.5
    assert refined.refine is not None
    assert not refined.refine.apart
    assert seat("gama-treatments", "t-0.2").temperature == 0.2
    assert seat("gama-treatments", "v3").style == "v3"
    assert seat("gama-treatments", "cot").chain_of_thought == "step_by_step"
    assert seat("gama-treatments", "selfish").persona == "selfish"
    for circle in range(7):
        assert seat("item-bargaining-circles", f"4o-c-{circle}").style == f"circle_{circle}"


def write_roster(folder: Path, text: str) -> str:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_roster_can_be_read_from_a_file_without_notes(tmp_path: Path) -> None:
    file = write_roster(
        tmp_path,
        "settings: {temperature: 1}\nplayers: {a: {model: vllm/x, note: shut down}, "
        "b: {model: vllm/y, temperature: 0}, c: {strategy: random, note: no model}}\n",
    )
    assert chosen(f"{file}:a,b") == {
        "a": {"model": "vllm/x", "temperature": 1},
        "b": {"model": "vllm/y", "temperature": 0},
    }


def test_rosters_can_be_read_from_their_text(tmp_path: Path) -> None:
    odd = {
        "4": {"model": "vllm/x", "note": 'a: "#1"', "persona": "First line.\n\nSecond line." * 9},
        "null": {"temperature": 1},
        "a # b": {},
    }
    rosters = [*map(roster, roster_names()), Roster(settings={"model": "vllm/y"}, players=odd)]
    for item in rosters:
        text = item.as_yaml(dict.fromkeys(item.players, "$1, {2}: # 3"))
        assert roster(write_roster(tmp_path, text)) == item
        assert text.count("  # $1, {2}: # 3") == len(item.players)


def test_current_models_have_a_dated_price_and_no_retirement() -> None:
    prices = load_prices().lists[PACKAGE]
    patterns = {pattern for price in prices for pattern in price.models}
    for entry in roster("current").players.values():
        assert {entry["model"], f"{entry['model']}*"} & patterns
        assert retirement(entry["model"]) is None


def test_retirements_are_days_or_months_of_model_strings() -> None:
    for model, day in RETIREMENTS.items():
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])(-\d\d)?", day)
        assert ModelName.parse(model).short == model
        assert retirement(model) == day


def test_retirement_concerns_only_the_servers_of_the_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for model in ("openai/gpt-4@https://proxy.example/v1", "azure-openai/gpt-4", "vllm/gpt-4"):
        assert retirement(model) is None
    assert retirement("openai/gpt-4@https://api.openai.com:443/v1") == "2026-10-23"
    proxy = Provider("https://proxy.example/v1")
    monkeypatch.setitem(PROVIDERS._all(), "openai", proxy)
    assert retirement("openai/gpt-4") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "expected a mapping with players: LABEL: {model: NAME}"),
        ("players: 5", "expected a mapping with players"),
        ("players: {}", "should have at least 1 item"),
        ("players: {a: {model: vllm/x}}\nplyers: 3", 'unknown key "plyers"'),
        ("players: {a: {modl: vllm/x}}", 'players.a: unknown key "modl"'),
        ("players: {a: {model: x}}", '"x" is not a model string'),
        ("players: {a: {model: vllm/x}, a: {model: vllm/y}}", 'duplicate key "a"'),
        ("settings: {temperature: 9}\nplayers: {a: {model: vllm/x}}", "less than or equal to 2"),
    ],
)
def test_invalid_roster_raises_one_line_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"mine\.yaml") as caught:
        chosen(write_roster(tmp_path, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_roster_or_label_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r'unknown roster "gle" \(did you mean "glee"'):
        chosen("gle")
    with pytest.raises(ValueError, match=r'glee: unknown player "gpt4o" \(did you mean "gpt-4o"'):
        chosen("glee:gpt4o")
