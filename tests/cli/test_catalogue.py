"""Games, players and presets listed on the command line."""

import re

import pytest
import yaml
from pydantic import TypeAdapter

import cheaptalk as ct
from cheaptalk.cli.commands import COMMANDS, RENAMED, full_names
from cheaptalk.rules import games as known_games
from cheaptalk.rules import strategies
from cheaptalk.yaml_files import as_yaml
from tests.conftest import Command


def test_help_lists_all_commands_within_24_lines(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = cheaptalk("--help")
    lines = done.out.splitlines()
    assert done.status == 0
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert listed == list(COMMANDS)


def test_help_of_groups_lists_their_commands(cheaptalk: Command) -> None:
    top = " ".join(cheaptalk("--help-all").out.split())
    assert "--install-completion" in top
    for name, entry in full_names().items():
        assert len(name.split()) > 2 or f"{name.split()[-1]} {entry.summary}" in top
    for group in [name for name, entry in COMMANDS.items() if entry.commands]:
        commands = COMMANDS[group].commands
        for option, listed in (("--help", commands), ("--help-all", full_names(commands))):
            out = " ".join(cheaptalk(group, option).out.split())
            for name, entry in listed.items():
                assert f" {name.split()[-1]} {entry.summary}" in out


def test_renamed_command_error_gives_the_new_name(cheaptalk: Command) -> None:
    for old in RENAMED:
        done = cheaptalk(old, "quickstart")
        assert f'cheaptalk {RENAMED[old]}"' in done.rejection
        assert any(f"{name} ".startswith(f"{RENAMED[old]} ") for name in full_names())


def test_expert_options_are_only_in_the_full_help(cheaptalk: Command) -> None:
    for command in ["run", "profile"]:
        short, full = (
            set(re.findall(r"^  (--[\w-]+)", cheaptalk(command, option).out, re.MULTILINE))
            for option in ("--help", "--help-all")
        )
        assert short < full
        assert "--help-all" in short
        assert "--telemetry" in full - short


def test_command_help_fits_80_columns_without_splitting_words(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*full_names(), "model cache stats", "store import glee"]:
        monkeypatch.setenv("COLUMNS", "400")
        wide = cheaptalk(*name.split(), "-h").out
        monkeypatch.setenv("COLUMNS", "80")
        done = cheaptalk(*name.split(), "-h")
        assert done.status == 0
        assert f"Usage: cheaptalk {name}" in done.out
        assert done.out.split() == wide.split()
        assert max(map(len, done.out.splitlines())) < 80
        if name in full_names():
            assert full_names()[name].summary in " ".join(done.out.split())


def test_games_are_listed_with_roles_and_seat_counts(cheaptalk: Command) -> None:
    done = cheaptalk("game list")
    for name, game_spec in known_games().items():
        (line,) = (line for line in done.out.splitlines() if line.startswith(f"{name} "))
        assert f" {', '.join(game_spec.rules.roles)}  " in line
        assert f" {len(game_spec.rules().seats)}  " in line
    assert list(cheaptalk("game list --json").json) == list(known_games())


def test_game_parameters_can_be_copied_to_a_study(cheaptalk: Command) -> None:
    for name in known_games():
        game_spec = known_games()[name]
        done = cheaptalk("game list", name)
        assert done.status == 0
        assert "Undefined" not in done.out
        defaults = {
            key: yaml.safe_load(as_yaml(field.get_default(call_default_factory=True)))
            for key, field in game_spec.rules.model_fields.items()
        }
        assert game_spec.rules.model_validate(defaults) == game_spec.rules()
        for key, metric in [*defaults.items(), *game_spec.metrics.items()]:
            assert any(line.startswith(f"{key} ") for line in done.out.splitlines()), metric
        seats = game_spec.rules().seats
        assert f"Seats (default parameters): {', '.join(seats)}" in done.out.splitlines()
        data = cheaptalk("game list", name, "--json").json
        assert data["seats"] == seats
        assert list(data["parameters"]["properties"]) == list(game_spec.rules.model_fields)
        assert data["strategies"] == list(strategies(name))
        assert data["payoffs"]["units"] == game_spec.rules.payoff_units()
        assert data["payoffs"]["bounds"] == {
            role: list(pair) for role, pair in game_spec.rules().payoff_bounds().items()
        }


def test_game_shows_parameter_ranges_and_payoff_bounds(cheaptalk: Command) -> None:
    shown = " ".join(cheaptalk("game list bargaining").out.split())
    defaults = (" horizon 12 ", " discounts [0.9, 0.9] ", " messages true ", " names {} ")
    bounds = "Payoffs per seat (default parameters) role min max unit alice 0 10,000 dollars"
    ranges = (" 2 times number > 0 ", "true or false", "0 without an agreement.")
    assert all(text in shown for text in (*ranges, bounds, *defaults)), shown


def test_values_round_trip_as_single_line_yaml() -> None:
    for value, text in [
        (ct.rules.Horizon(rounds=5, hidden=True), "{rounds: 5, hidden: true}"),
        (1_000_000, "1000000"),
        (None, "null"),
        ("yes", "'yes'"),
        (list(range(60)), str(list(range(60)))),
    ]:
        assert as_yaml(value) == text
        plain = TypeAdapter[object](object).dump_python(value, mode="json", exclude_defaults=True)
        assert yaml.safe_load(text) == plain


def test_strategies_are_listed_with_settings(cheaptalk: Command) -> None:
    out = cheaptalk("game strategies negotiation").out
    assert set(strategies("negotiation")) <= {line.split(" ")[0] for line in out.splitlines()}
    assert "bargaining" not in out.splitlines()
    everything = cheaptalk("game strategies --json").json
    assert {game: set(names) for game, names in everything.items()} == {
        game: set(strategies(game)) for game in known_games()
    }
    assert everything["bargaining"]["fixed_demand"]["settings"]["share"]["default"] == 0.6
    assert "Model providers: openai" in cheaptalk("game strategies").out


def test_presets_are_listed_and_printed_as_studies(cheaptalk: Command) -> None:
    about = cheaptalk("study presets --json").json
    assert list(about) == ct.studies.preset_names()
    assert all(about.values())
    listed = cheaptalk("study presets").out
    assert all(f"{name} " in listed for name in about)
    assert cheaptalk("study presets quickstart").out == ct.studies.preset_text("quickstart")
    data = cheaptalk("study presets quickstart --json").json
    assert ct.studies.parse_study(data, "quickstart") == ct.preset("quickstart")
