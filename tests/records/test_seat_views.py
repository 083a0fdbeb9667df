"""The view of a seat contains only its own observations and answers."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.conformance.matches import finished, new_table
from cheaptalk.players.seats import SEATS
from cheaptalk.records import MatchRecord, SeatView, Store, seat_view
from cheaptalk.records.store.migration import PLAYER_KINDS
from cheaptalk.rules import (
    ReplayMismatch,
    Secret,
    Table,
    UnknownName,
    games,
    replay,
)
from tests.conftest import Command
from tests.games.tables import small
from tests.records.stored import SEED, record_of

REVEALED = {"persuasion"}
"""Games that reveal all secrets at the end."""


def view_json(record: MatchRecord, seat: str) -> str:
    return json.dumps(seat_view(record, seat).as_json())


def change_secret(table: Table, secret: Secret) -> MatchRecord | None:
    """Replay the moves with one private fact changed; None if a move becomes illegal."""
    moves = [
        (move.request, move.actor, None if move.action is None else move.action.model_dump())
        for move in table.given
    ]
    try:
        other = replay(secret.game, secret.instance, SEED, moves)
    except ReplayMismatch:
        return None
    return record_of(other) if other.over else None


def test_views_do_not_depend_on_secrets_of_other_seats() -> None:
    for game_spec in games().values():
        game = small(game_spec.rules())
        table = finished(game_spec, new_table(game, SEED))
        record, compared = record_of(table), 0
        secrets = list(islice(game.secrets(table.instance), 4))
        for secret in secrets:
            other = change_secret(table, secret)
            for seat in table.heard.keys() - secret.owners if other else ():
                if not any(secret.revealed(moment.event) for moment in table.heard[seat]):
                    assert other is not None
                    assert view_json(other, seat) == view_json(record, seat)
                    compared += 1
        assert compared or not secrets or game_spec.name in REVEALED, game


def test_seat_view_reveals_no_other_player(cheaptalk: Command, tmp_path: Path) -> None:
    for name, parameters in {"persuasion": {"horizon": 3}, "divide_the_dollar": {}}.items():
        check_seat_view(cheaptalk, tmp_path / "cheaptalk.sqlite", name, parameters)


def check_seat_view(cheaptalk: Command, path: Path, name: str, parameters: dict[str, int]) -> None:
    seeds = {seat: 770_000 + n for n, seat in enumerate(ct.get_game(name).rules().seats)}
    players = {
        f"label of {seat}": {"model": "script/legal", "seed": seed} for seat, seed in seeds.items()
    }
    games = [{"game": name, "fixed": parameters}]
    made = {"name": name, "games": games, "players": players, "pairing": [[*players]]}
    with Store.open(path, create=True) as store:
        ct.run(ct.studies.parse_study(made, name), store)
        (record,) = store.records(name, bodies=True)
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


def test_unknown_seat_raises_error() -> None:
    game: Any = ct.get_game("bargaining").rules()
    record = record_of(finished(ct.get_game("bargaining"), new_table(game, SEED)))
    with pytest.raises(UnknownName, match=r'unknown actor "bub" \(did you mean "bob"\?\)'):
        seat_view(record, "bub")


def test_views_name_all_built_in_kinds_of_players() -> None:
    built_in = {name for name, kind in SEATS.items() if kind.__module__.startswith("cheaptalk.")}
    assert built_in == set(PLAYER_KINDS)
