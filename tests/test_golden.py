"""Golden transcripts: the texts and answers of every seat in one fixed match of every game.

Changes of rules, templates or chance appear as a difference here. If a change is intended, rewrite
the transcripts, review the difference and commit it::

    CHEAPTALK_GOLDEN=write pytest tests/test_golden.py
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.rules import Chance, Table, games, get_game, play, strategy_named
from cheaptalk.styles import Style, style_in

GOLDEN = Path(__file__).parent / "golden"
SEED = "golden"
WRITING = os.environ.get("CHEAPTALK_GOLDEN") == "write"


@dataclass(frozen=True)
class Match:
    """A match to record: parameters, and a strategy for each role (default ``random``)."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    players: Mapping[str, str] = field(default_factory=dict)


MATCHES = {
    "bargaining": Match({"horizon": 4}, {"alice": "boulware", "bob": "linear"}),
    "battle_royale": Match({"hit_rates": (0.3, 0.5, 1)}),
    "chip_trading": Match({"rounds": 1}, {"player": "bayesian"}),
    "deal_or_no_deal": Match({}, {"player": "honest"}),
    "diners_dilemma": Match({"players": 3, "rounds": 2}),
    "divide_the_dollar": Match({"players": 3, "rounds": 2}),
    "el_farol_bar": Match({"players": 3, "rounds": 2}, {"player": "capacity"}),
    "guess_the_average": Match({"players": 3, "rounds": 2, "told": "smart"}),
    "item_bargaining": Match({"quantities": (4, 2, 1, 1)}, {"player": "aspire"}),
    "negotiation": Match({"horizon": 4}, {"alice": "boulware", "bob": "linear"}),
    "persuasion": Match({"horizon": 4}, {"alice": "kamenica_gentzkow", "bob": "bayesian"}),
    "pirate_game": Match({"players": 4, "majority": "strict"}, {"player": "textbook"}),
    "public_goods": Match({"players": 3, "rounds": 2}),
    "sealed_bid_auction": Match({"players": 3, "rounds": 2}, {"player": "equilibrium"}),
}


@pytest.mark.parametrize("name", games())
def test_transcript_is_unchanged(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    text = transcript(name)
    if WRITING:
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no golden transcript of {name}: see {Path(__file__).name}"
    assert text == path.read_text(encoding="utf-8")


def test_every_transcript_belongs_to_a_game() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} <= set(games())


def transcript(name: str) -> str:
    """Return the match of a game in every style, seat by seat."""
    game_spec, match = get_game(name), MATCHES.get(name, Match())
    game = game_spec.rules.model_validate(match.parameters)
    players = {role: match.players.get(role, "random") for role in game.roles}
    decide = {role: strategy_named(name, player) for role, player in players.items()}
    table = play(game, game.draw_instance(Chance(SEED).apart("deal")), SEED, decide)
    payoffs = game.seat_payoffs(table.outcome)
    head = [
        f"{name}, rules version {game.version}, seed {SEED}",
        f"parameters: {game.model_dump_json()}",
        f"instance: {table.instance.model_dump_json()}",
        f"players: {', '.join(f'{role} {player}' for role, player in players.items())}",
        f"outcome: {table.outcome!r}",
        f"payoffs: {', '.join(f'{role} {pay:.6g}' for role, pay in payoffs.items())}",
    ]
    seats = [
        section
        for style in (style_in(game_spec, style) for style in game_spec.styles)
        for seat in table.heard
        for section in seat_lines(style, table, seat)
    ]
    return "\n".join([*head, *seats]) + "\n"


def seat_lines(style: Style, table: Table, seat: str) -> list[str]:
    """Return the texts that a seat reads, and its answers."""
    lines = ["", f'=== What "{seat}" reads in style "{style.name}"']
    texts = style.story(table.heard[seat], table.game, seat)
    for text, (_, action) in zip(texts, table.heard[seat], strict=True):
        lines += ["", text]
        if action is not None:
            how = style.how(type(action), table.game, seat)
            lines += ["", how, "", f">>> {style.codec.write(action)}"]
    return lines
