"""Rosters and prompts can be inspected before any call is paid for."""

import re
from pathlib import Path

import pytest

from cheaptalk.players.rosters import Roster, roster, roster_names
from cheaptalk.styles import style
from tests.conftest import Command


def test_rosters_are_listed_with_numbers_of_players(cheaptalk: Command) -> None:
    listed = cheaptalk("model rosters").out
    for name in roster_names():
        assert re.search(rf"^{name} +{len(roster(name).players)} ", listed, re.MULTILINE)
    numbers = cheaptalk("model rosters --json").json
    assert list(numbers) == roster_names()
    assert (numbers["chip-trading"]["players"], numbers["chip-trading"]["retired"]) == (4, 4)


@pytest.mark.parametrize("name", roster_names())
def test_printed_roster_can_be_read(cheaptalk: Command, tmp_path: Path, name: str) -> None:
    file = tmp_path / "printed.yaml"
    file.write_text(cheaptalk("model", "rosters", name).out, encoding="utf-8")
    assert roster(str(file)) == roster(name)
    printed = cheaptalk("model", "rosters", name, "--json").json
    assert Roster.model_validate(printed["roster"]) == roster(name)


def test_roster_shows_prices_and_retirements(cheaptalk: Command) -> None:
    (line,) = (
        line
        for line in cheaptalk("model rosters chip-trading").out.splitlines()
        if "gpt-4o:" in line
    )
    assert line.endswith("  # $5.00, $15.00 (2025-06-15); retirement: 2026-10-23")
    facts = cheaptalk("model rosters chip-trading --json").json["models"]
    assert facts["openai/gpt-4o-2024-05-13"] == {
        "input": 5,
        "output": 15,
        "as_of": "2025-06-15",
        "retirement": "2026-10-23",
    }


def test_roster_option_adds_players_to_a_study(cheaptalk: Command) -> None:
    plain = cheaptalk("plan chip-trading --no-estimate --json").json["matches"]
    done = cheaptalk("plan chip-trading --no-estimate --json --roster chip-trading:gpt-4o,gemini")
    assert done.json["matches"] == plain // 4 * 6


def test_prompt_prints_the_messages_of_the_first_request(cheaptalk: Command) -> None:
    done = cheaptalk("model prompt bargaining --set money=500 --seat bob")
    assert done.status == 0
    assert done.out.startswith("--- system\nYou are Bob. You and Alice have $500 to divide")
    assert "\n--- user\nRound 1." in done.out
    template = style("bargaining")
    assert done.out.rstrip().endswith(f"--- prompt style {template.name}, digest {template.digest}")


def test_prompt_shows_the_settings_of_the_model(cheaptalk: Command) -> None:
    entry = "{model: openai/o3, reasoning: low, max_tokens: 500, history: {last: 3}, tries: 5}"
    *_, model, sent, treatment, _ = cheaptalk(
        "model prompt bargaining", "--model", entry
    ).out.splitlines()
    assert model == "--- model openai/o3, output format schema, else tool, else text"
    assert sent == "--- settings sent: {max_completion_tokens: 500, reasoning_effort: low}"
    assert treatment.startswith(
        "--- tries 5, reask reason, refusals again, history {last: 3}, past_answers canonical"
    )
    shown = cheaptalk("model prompt bargaining", "--model", entry, "--json").json
    assert shown["sent"] == {"max_completion_tokens": 500, "reasoning_effort": "low"}
    assert shown["routes"] == ["schema", "tool", "text"]
    assert (shown["history"], shown["tries"]) == ({"last": 3}, 5)

    tagged = cheaptalk("model prompt deal_or_no_deal --prompt-style tagged --json").json
    assert tagged["routes"] == ["text"], "the style has no JSON"
    rejection = cheaptalk("model prompt bargaining --model gpt-4o").rejection
    assert "for the model write openai/gpt-4o" in rejection


def test_prompt_is_reproducible_and_complete_in_json(cheaptalk: Command) -> None:
    command = "model prompt chip_trading --model chip-trading:gpt-4o-refined --turn 3 --json"
    shown = cheaptalk(command).json
    assert cheaptalk(command).json == shown
    assert (shown["seat"], shown["turn"], shown["style"]) == ("player_1", 3, "plain")
    assert {call["model"] for call in shown["calls"]} == {"openai/gpt-4o-2024-05-13"}
    assert shown["calls"][0]["settings"] == {"temperature": 0.5}


def test_every_call_of_a_turn_is_shown(cheaptalk: Command) -> None:
    refined = cheaptalk("model prompt chip_trading", "--model", "{refine: {candidates: 4}}").out
    assert "call 1 of 2" in refined
    assert "First write down 4 different candidates" in refined
    assert "call 2 of 2" in refined
    summarized = cheaptalk(
        "model prompt bargaining", "--model", "{history: summary}", "--turn", "2"
    ).out
    assert summarized.index("sum up for yourself") < summarized.index("call 2 of 2")


def test_slots_are_listed_by_block(cheaptalk: Command) -> None:
    listed = cheaptalk("model prompt item_bargaining --slots").out
    assert "\nopening\nA request to move when no offer is on the table.\n" in listed
    assert re.search(
        r"^quantities +tuple\[int, \.\.\.\] +the items of each kind", listed, re.MULTILINE
    )
    blocks = cheaptalk("model prompt chip_trading --slots --json").json
    assert blocks["offered"]["own"]["worth"][0] == "int"
    assert "form" in blocks["response"]["shared"]


def test_diff_compares_sentences_of_the_same_request(cheaptalk: Command, tmp_path: Path) -> None:
    template = '{% extends "plain.jinja" %}{% block turn %}Round {{ stage }}. Go!{% endblock %}'
    (tmp_path / "own.jinja").write_text(template)
    command = "model prompt bargaining --prompt-style own.jinja"
    lines = cheaptalk(f"{command} --diff plain").out.splitlines()
    assert lines[:2] == ["--- plain", "+++ own.jinja (this prompt)"]
    changed = [line for line in lines[2:] if line[0] in "+-"]
    assert changed == ["-It is your turn to propose how to divide $10,000.", "+Go!"]
    assert cheaptalk(f"{command} --diff own.jinja --turn 2").out == (
        "The prompt equals that of own.jinja.\n"
    )
    assert 'unknown style of bargaining "plan"' in cheaptalk(f"{command} --diff plan").rejection


def test_diff_with_a_text_file_ignores_line_breaks(cheaptalk: Command, tmp_path: Path) -> None:
    shown = cheaptalk("model prompt bargaining --json").json
    text = "\n\n".join(message["content"] for message in shown["calls"][0]["messages"])
    (tmp_path / "paper.txt").write_text(text.replace(" and ", "\nand "))
    command = "model prompt bargaining --diff paper.txt"
    assert cheaptalk(command).out == "The prompt equals that of paper.txt.\n"
    (tmp_path / "paper.txt").write_text(text.replace("12 rounds", "6 rounds"))
    diff = cheaptalk(f"{command} --json").json["diff"]
    assert [line for line in diff[2:] if line[0] in "+-"] == [
        "-There are at most 6 rounds.",
        "+There are at most 12 rounds.",
    ]
    assert "no.txt cannot be read" in cheaptalk("model prompt bargaining --diff no.txt").rejection
