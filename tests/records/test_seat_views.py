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
from cheaptalk.rules import Game, GameBox, ReplayMismatch, Secret, Table, UnknownName, games, replay
from tests.conftest import Command
from tests.records.stored import SEED, record_of

CASES = [
    pytest.param(box, game, id=f"{box.name}-{label}")
    for box in games().values()
    for label, game in variants(box).items()
]
REVEALED = {"persuasion"}
"""Games in which every secret is out at the end."""


def written(record: MatchRecord, seat: str) -> str:
    return json.dumps(seat_view(record, seat).as_json())


def with_other_fact(table: Table, secret: Secret) -> MatchRecord | None:
    """The same moves where one private fact is another; None where it forbids one of them."""
    moves = [
        (one.request, one.seat, None if one.action is None else one.action.model_dump())
        for one in table.given
    ]
    try:
        other = replay(secret.game, secret.deal, SEED, moves)
    except ReplayMismatch:
        return None
    return record_of(other) if other.over else None


@pytest.mark.parametrize(("box", "game"), CASES)
def test_no_view_changes_with_what_another_seat_alone_knows(box: GameBox, game: Game) -> None:
    table = finished(box, new_table(game, SEED))
    record, compared = record_of(table), 0
    secrets = list(islice(game.secrets(table.deal), 4))
    for secret in secrets:
        other = with_other_fact(table, secret)
        for seat in table.heard.keys() - secret.owners if other else ():
            if not any(secret.revealed(one.event) for one in table.heard[seat]):
                assert other is not None
                assert written(other, seat) == written(record, seat)
                compared += 1
    assert compared or not secrets or box.name in REVEALED


@pytest.mark.parametrize("name", games())
def test_what_is_shown_of_a_seat_names_no_other(
    cheaptalk: Command, tmp_path: Path, name: str
) -> None:
    places = list(ct.game_box(name).rules().places)
    seeds = {place: 770_000 + number for number, place in enumerate(places)}
    players = {
        f"label of {place}": {"model": "script/legal", "seed": seed}
        for place, seed in seeds.items()
    }
    made = {"name": "s", "games": [{"game": name}], "players": players, "pairing": [[*players]]}
    with Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(ct.studies.parse_study(made, "s"), store)
        (record,) = store.records("s", bodies=True)
    seat, *_, rival = record.rules.seats
    shown = cheaptalk("show", record.id, "--seat", seat.name, "--calls").out
    data = json.loads(cheaptalk("show", record.id, "--seat", seat.name, "--json").out)
    assert list(data) == [*SeatView._fields, "open_calls"]
    assert {line["seat"] for line in data["lines"]} == {seat.name}
    for text in (shown, json.dumps(data)):
        assert f"label of {seat.place}" in text
        assert str(seeds[seat.place]) in text
        assert f"label of {rival.place}" not in text
        assert str(seeds[rival.place]) not in text
    payoff = record.rules.payoffs(record.result().outcome)[seat.name]
    assert data["payoff"] == payoff
    assert shown.splitlines()[-1] == f"payoff {payoff:,.10g}"


def test_a_seat_that_is_not_there_has_no_view() -> None:
    game: Any = ct.game_box("bargaining").rules()
    record = record_of(finished(ct.game_box("bargaining"), new_table(game, SEED)))
    with pytest.raises(UnknownName, match=r'unknown seat "bub" \(did you mean "bob"\?\)'):
        seat_view(record, "bub")
