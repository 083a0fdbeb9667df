"""One seat's view of a match holds what the rules told that seat, and nothing of another's."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.conformance import variants
from cheaptalk.conformance.matches import finished, new_table
from cheaptalk.records import MatchRecord, SeatView, Store, seat_view
from cheaptalk.rules import (
    Game,
    GameSpec,
    ReplayMismatch,
    Secret,
    Table,
    UnknownName,
    games,
    replay,
)
from tests.conftest import Command
from tests.records.stored import SEED, record_of

CASES = [
    pytest.param(game_spec, game, id=f"{game_spec.name}-{label}")
    for game_spec in games().values()
    for label, game in variants(game_spec).items()
]
REVEALED = {"persuasion"}
"""Games in which every secret is out at the end."""


def written(record: MatchRecord, seat: str) -> str:
    return json.dumps(seat_view(record, seat).as_json())


def with_other_fact(table: Table, secret: Secret) -> MatchRecord | None:
    """The same moves where one private fact is another; None where it forbids one of them."""
    moves = [
        (one.request, one.actor, None if one.action is None else one.action.model_dump())
        for one in table.given
    ]
    try:
        other = replay(secret.game, secret.instance, SEED, moves)
    except ReplayMismatch:
        return None
    return record_of(other) if other.over else None


@pytest.mark.parametrize(("game_spec", "game"), CASES)
def test_no_view_changes_with_what_another_seat_alone_knows(
    game_spec: GameSpec, game: Game
) -> None:
    table = finished(game_spec, new_table(game, SEED))
    record, compared = record_of(table), 0
    secrets = list(islice(game.secrets(table.instance), 4))
    for secret in secrets:
        other = with_other_fact(table, secret)
        for seat in table.heard.keys() - secret.owners if other else ():
            if not any(secret.revealed(one.event) for one in table.heard[seat]):
                assert other is not None
                assert written(other, seat) == written(record, seat)
                compared += 1
    assert compared or not secrets or game_spec.name in REVEALED


@pytest.mark.parametrize("name", games())
def test_what_is_shown_of_a_seat_names_no_other(
    cheaptalk: Command, tmp_path: Path, name: str
) -> None:
    places = list(ct.get_game(name).rules().seats)
    seeds = {place: 770_000 + number for number, place in enumerate(places)}
    players = {
        f"label of {place}": {"model": "script/legal", "seed": seed}
        for place, seed in seeds.items()
    }
    made = {"name": "s", "games": [{"game": name}], "players": players, "pairing": [[*players]]}
    with Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(ct.studies.parse_study(made, "s"), store)
        (record,) = store.records("s", bodies=True)
    seat, *_, rival = record.rules.actors
    shown = cheaptalk("match", "show", record.id, "--actor", seat.name, "--calls").out
    data = json.loads(cheaptalk("match", "show", record.id, "--actor", seat.name, "--json").out)
    assert list(data) == [*SeatView._fields, "open_calls"]
    assert {line["actor"] for line in data["lines"]} == {seat.name}
    for text in (shown, json.dumps(data)):
        assert f"label of {seat.seat}" in text
        assert str(seeds[seat.seat]) in text
        assert f"label of {rival.seat}" not in text
        assert str(seeds[rival.seat]) not in text
    payoff = record.rules.payoffs(record.result().outcome)[seat.name]
    assert data["payoff"] == payoff
    assert shown.splitlines()[-1] == f"payoff {payoff:,.10g}"


def test_a_seat_that_is_not_there_has_no_view() -> None:
    game: Any = ct.get_game("bargaining").rules()
    record = record_of(finished(ct.get_game("bargaining"), new_table(game, SEED)))
    with pytest.raises(UnknownName, match=r'unknown actor "bub" \(did you mean "bob"\?\)'):
        seat_view(record, "bub")
