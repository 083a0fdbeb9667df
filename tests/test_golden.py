"""Golden transcripts: the texts and answers of every seat in one fixed match of every game.

The transcripts also contain the other texts of variants of the game, with one parameter changed.
Changes of rules, templates or chance appear as a difference here. If a change is intended, rewrite
the transcripts, review the difference and commit it::

    CHEAPTALK_GOLDEN=write pytest tests/test_golden.py
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.conformance import variants
from cheaptalk.rules import Chance, GameSpec, Table, games, get_game, play, strategy_named
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
    "public_goods_punishment": Match(
        {"group_size": 3, "rounds": 1, "punishment_rounds": 1}, {"player": "random"}
    ),
    "sealed_bid_auction": Match({"players": 3, "rounds": 2}, {"player": "equilibrium"}),
    "trust_game": Match({}, {"investor": "reciprocal", "trustee": "fair"}),
    "ultimatum_game": Match({}, {"proposer": "fair", "responder": "fixed"}),
}


HIDDEN = {"horizon": {"rounds": 2, "hidden": True}}
TWO_NAMES = {"names": {"alice": "Ann", "bob": "Ben"}}
VARIANTS = {
    "bargaining": [Match({"discounts": (1, 1)}), Match(TWO_NAMES), Match(HIDDEN)],
    "battle_royale": [
        Match({"idle_rounds": 2}, {"player": "fixed"}),
        Match({"horizon": 2}),
        Match(HIDDEN | {"names": {"player_2": "Ann"}}),
    ],
    "chip_trading": [
        Match({"players": 2, "colours": ("white", "black"), "values": (10, 30)}),
        Match({"colours": ("amber", "ash", "blue"), "values": (50,)}, {"player": "greedy"}),
        Match({"rounds": 2, "chips": 1}, {"player": "zero_intelligence"}),
    ],
    "deal_or_no_deal": [
        *(Match({"objective": objective}) for objective in ("coop", "comp", 0.25, -0.5)),
        *(Match({"turns": turns}, {"player": "greedy"}) for turns in (3, 4, 5)),
    ],
    "diners_dilemma": [Match({"rounds": 1}), Match({"costly_utility": 26})],
    "divide_the_dollar": [Match({"rounds": 1}), Match({}, {"player": "equilibrium"})],
    "el_farol_bar": [
        Match({"rounds": 1}),
        *(Match({"capacity": share, "feedback": "explicit"}) for share in (0, 1, 1 / 3)),
    ],
    "guess_the_average": [
        Match({"rounds": 1}, {"player": "equilibrium"}),
        *(Match({"ratio": ratio}) for ratio in (0, 1, 0.6666667, "4/3")),
        Match({"told": "equilibrium", "ratio": "4/3"}),
        *(Match({"told": told, "players": 2}) for told in ("equilibrium", "smart", "random")),
    ],
    "item_bargaining": [
        Match({"discount": 1}),
        Match({"rounds": 1}, {"player": "tough"}),
        Match({"highest_value": 1, "quantities": (2, 1)}),
        Match({"quantities": (0, 1, 1), "least_outside": 0, "names": {"player_2": "Bo"}}),
    ],
    "negotiation": [
        Match(TWO_NAMES),
        Match(HIDDEN),
        Match({}, {"alice": "linear", "bob": "random"}),
    ],
    "persuasion": [
        Match(TWO_NAMES),
        Match({"myopic": True, "buyer_messages": True}),
        Match({"myopic": True, "horizon": 1}),
        Match({"value": 3, "low_value": 0.5, "signal": "binary"}),
    ],
    "pirate_game": [
        Match({"players": 2}),
        Match({"names": {"player_2": "Anne Bonny"}}, {"player": "fixed"}),
        Match({"players": 3}, {"player": "equal_split"}),
    ],
    "public_goods": [Match({"rounds": 1}), Match({"factor": 1}, {"player": "fixed"})],
    "sealed_bid_auction": [
        Match({"rounds": 1}),
        Match({"common_prior": True, "distinct": False}, {"player": "truthful"}),
        Match({"step": 200, "distinct": False}, {"player": "truthful"}),
    ],
}
"""Matches whose texts are compared in addition to those of variants with one changed parameter."""


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
    table = table_of(game_spec, match)
    game = table.game
    players = {role: match.players.get(role, "random") for role in game.roles}
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
        for style in styles_of(game_spec)
        for seat in table.heard
        for section in seat_lines(style, table, seat)
    ]
    texts = "\n".join([*head, *seats, *variant_lines(game_spec, match, table)])
    return f"{texts}\n"


def styles_of(game_spec: GameSpec) -> list[Style]:
    """Return the styles of a game for models, and the English one for people."""
    return [style_in(game_spec, name) for name in game_spec.written_styles]


def variant_lines(game_spec: GameSpec, match: Match, table: Table) -> Iterator[str]:
    """Yield the sentences of variants that differ from all earlier ones by more than numbers.

    "without:" marks sentences of the main match's briefings that a variant's briefings lack.
    """
    others = [Match(game.model_dump(exclude_unset=True)) for game in variants(game_spec).values()]
    matches = [
        Match(match.parameters | other.parameters, match.players | other.players)
        for other in [*others, *VARIANTS.get(game_spec.name, ())]
    ]
    tables = [table_of(game_spec, other, seed) for other in matches for seed in "12"]
    for style in styles_of(game_spec):
        seen = set(map(skeleton, sentences(style, table)))
        usual = {skeleton(sentence): sentence for sentence in briefings(style, table)}
        for played in tables:
            texts = {skeleton(text): text for text in sentences(style, played)}
            known = set(map(skeleton, briefings(style, played)))
            lines = [texts[key] for key in texts if key not in seen]
            if played.chance.seed == "1":
                lines += [f"without: {usual[key]}" for key in usual if key not in known]
            seen |= texts.keys()
            if lines:
                changed = played.game.model_dump(mode="json", exclude_unset=True)
                yield "\n".join(["", f'=== Style "{style.name}" with {changed}', "", *lines])


def skeleton(sentence: str) -> str:
    """Replace numbers, quotations, lists and kinds of items in a sentence."""
    return re.sub(r'".*?"|\[.*?\]|[\d.,]+|[hb]a[lt]+s?|books?', "#", sentence)


def table_of(game_spec: GameSpec, match: Match, seed: str = SEED) -> Table:
    """Play a match; roles without a strategy play at random."""
    game = game_spec.rules.model_validate(match.parameters)
    decide = {
        role: strategy_named(game.name, match.players.get(role, "random")) for role in game.roles
    }
    return play(game, game.draw_instance(Chance(seed).apart("deal")), seed, decide)


def sentences(style: Style, table: Table) -> Iterator[str]:
    """Yield all sentences and lines that the seats of a match read."""
    for seat, heard in table.heard.items():
        kinds = dict.fromkeys(type(moment.action) for moment in heard if moment.action is not None)
        hows = (style.how(kind, table.game, seat) for kind in kinds)
        for text in (*style.story(heard, table.game, seat), *hows):
            yield from split(text)


def briefings(style: Style, table: Table) -> Iterator[str]:
    """Yield the sentences of all briefings."""
    for seat, heard in table.heard.items():
        yield from split(style.tell(heard[0].event, table.game, seat))


def split(text: str) -> Iterator[str]:
    return filter(None, re.split(r"(?<=[.?!:]) +|\n", text))


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
