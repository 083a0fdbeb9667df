"""What there is to play, who can play it, and the studies that come with the package."""

import json
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

import cheaptalk as ct
from cheaptalk.cli.commands import COMMANDS, GROUPS
from cheaptalk.rules import games as known_games
from cheaptalk.rules import strategies
from cheaptalk.yaml_files import as_yaml
from tests.conftest import Command


def test_help_lists_the_commands_in_groups_in_the_order_in_which_one_needs_them(
    cheaptalk: Command,
) -> None:
    done = cheaptalk("--help")
    expected = [one for heading, names in GROUPS.items() for one in (f"{heading}:", *names)]
    found = [line.split("  ")[0] for line in done.out.replace("\n  ", "\n").splitlines()]
    assert done.status == 0
    assert [one for one in found if one in expected] == expected


@pytest.mark.parametrize("name", [*COMMANDS, "cache stats", "import glee"])
def test_every_command_explains_itself_in_whole_words_of_80_columns(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    wide = cheaptalk(*name.split(), "-h").out
    monkeypatch.setenv("COLUMNS", "80")
    done = cheaptalk(*name.split(), "-h")
    assert done.status == 0
    assert f"Usage: cheaptalk {name}" in done.out
    assert done.out.split() == wide.split()
    assert max(map(len, done.out.splitlines())) < 80
    if name in COMMANDS:
        assert COMMANDS[name].does in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        ((), "Look around: games List"),
        (("plam",), "No such command 'plam'. Did you mean"),
        (("games", "bargaining", "more"), "unexpected extra argument"),
        (("run", "quickstart", "--workers", "0"), "should be greater than or equal to 1"),
        (("run", "quickstart", "--wrkers", "2"), "No such option: --wrkers"),
    ],
)
def test_wrong_usage_ends_with_2(
    cheaptalk: Command, arguments: tuple[str, ...], saying: str
) -> None:
    done = cheaptalk(*arguments)
    assert done.status == 2
    assert saying in done.out + done.said


def test_games_are_listed_with_their_roles_and_how_many_places_they_have(
    cheaptalk: Command,
) -> None:
    done = cheaptalk("games")
    for name, box in known_games().items():
        (line,) = (line for line in done.out.splitlines() if line.startswith(f"{name} "))
        assert f" {', '.join(box.rules.roles)}  " in line
        assert f" {len(box.rules().places)}  " in line
    assert list(json.loads(cheaptalk("games", "--json").out)) == list(known_games())


@pytest.mark.parametrize("name", known_games())
def test_a_game_is_shown_with_parameters_that_can_be_copied_to_a_study(
    cheaptalk: Command, name: str
) -> None:
    box = known_games()[name]
    done = cheaptalk("games", name)
    assert done.status == 0
    assert "Undefined" not in done.out
    written = {
        key: yaml.safe_load(as_yaml(field.get_default(call_default_factory=True)))
        for key, field in box.rules.model_fields.items()
    }
    assert box.rules.model_validate(written) == box.rules()
    for key, measure in [*written.items(), *box.measures.items()]:
        assert any(line.startswith(f"{key} ") for line in done.out.splitlines()), measure
    places = box.rules().places
    assert f"Places, with the defaults: {', '.join(places)}" in done.out.splitlines()
    data = json.loads(cheaptalk("games", name, "--json").out)
    assert data["places"] == places
    assert list(data["parameters"]["properties"]) == list(box.rules.model_fields)
    assert data["strategies"] == list(strategies(name))
    assert data["payoffs"]["units"] == box.rules.payoff_units()
    assert data["payoffs"]["bounds"] == {
        role: list(pair) for role, pair in box.rules().payoff_bounds().items()
    }


def test_a_game_is_shown_with_what_parameters_may_be_and_what_it_pays(cheaptalk: Command) -> None:
    shown = " ".join(cheaptalk("games", "bargaining").out.split())
    assert " 2 times number > 0 " in shown
    assert "true or false" in shown
    assert "Payoffs of a place, with the defaults role from to in alice 0 10,000 dollars" in shown
    assert "0 and 0 without one." in shown


def test_a_parameter_stands_as_one_writes_it(cheaptalk: Command) -> None:
    lines = cheaptalk("games", "bargaining").out.splitlines()
    defaults = {line.split("  ")[0]: line for line in lines}
    assert " 12 " in defaults["horizon"]
    assert " [0.9, 0.9] " in defaults["discounts"]
    assert " true " in defaults["messages"]
    assert " {} " in defaults["names"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ct.Horizon(rounds=5, hidden=True), "{rounds: 5, hidden: true}"),
        (1_000_000, "1000000"),
        (None, "null"),
        ("yes", "'yes'"),
        (list(range(60)), str(list(range(60)))),
    ],
)
def test_values_are_written_in_one_line_that_reads_as_the_same(value: object, text: str) -> None:
    assert as_yaml(value) == text
    plain = TypeAdapter[object](object).dump_python(value, mode="json", exclude_defaults=True)
    assert yaml.safe_load(text) == plain


def test_strategies_are_listed_with_settings_that_can_be_copied(cheaptalk: Command) -> None:
    out = cheaptalk("players", "negotiation").out
    assert set(strategies("negotiation")) <= {line.split(" ")[0] for line in out.splitlines()}
    assert "bargaining" not in out.splitlines()
    everything = json.loads(cheaptalk("players", "--json").out)
    assert {game: set(found) for game, found in everything.items()} == {
        game: set(strategies(game)) for game in known_games()
    }
    assert everything["bargaining"]["fixed_demand"]["settings"]["share"]["default"] == 0.6
    assert "Providers: openai" in cheaptalk("players").out


@pytest.mark.parametrize("command", ["games", "players"])
def test_an_unknown_game_is_told_the_nearest(cheaptalk: Command, command: str) -> None:
    done = cheaptalk(command, "bargening")
    assert done.status == 2
    assert done.said == 'error: unknown game "bargening" (did you mean "bargaining"?)'


def test_presets_are_listed_and_printed_to_start_from(cheaptalk: Command, tmp_path: Path) -> None:
    about = json.loads(cheaptalk("preset", "--json").out)
    assert list(about) == ct.studies.preset_names()
    assert all(about.values())
    listed = cheaptalk("preset").out
    assert all(f"{name} " in listed for name in about)
    for name in about:
        file = tmp_path / f"{name}.yaml"
        file.write_text(cheaptalk("preset", name).out)
        assert ct.load_study(file) == ct.preset(name)
        data = json.loads(cheaptalk("preset", name, "--json").out)
        assert ct.studies.parse_study(data, name) == ct.preset(name)


def test_an_unknown_preset_is_told_the_nearest(cheaptalk: Command) -> None:
    done = cheaptalk("preset", "quikstart")
    assert (done.status, done.said) == (
        2,
        'error: unknown preset "quikstart" (did you mean "quickstart"?)',
    )
