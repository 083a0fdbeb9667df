"""Policies in files and in matches."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cheaptalk as ct
from cheaptalk.arrays.games import array_game
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.learning.policy import (
    BUILT_IN,
    NETWORKS,
    Policy,
    PolicyError,
    PolicyNetwork,
    PolicySeat,
    read_policy,
    write_policy,
)
from cheaptalk.rules import Chance, Game, Table

FIXED = {"quantities": [1, 1], "highest_value": 2}
RULES = ItemBargaining(quantities=(1, 1), highest_value=2, rounds=2)


def untrained(rules: Game = RULES, seed: int = 0) -> Policy:
    """Return a policy with random weights."""
    game, luck = array_game(rules), np.random.default_rng(seed)
    widths = {"first": (game.observed, 8), "second": (8, 8), "head": (8, game.actions)}
    weights = {}
    for name, (rows, columns) in widths.items():
        weights[f"{name}.kernel"] = luck.normal(size=(rows, columns)).astype(np.float32)
        weights[f"{name}.bias"] = luck.normal(size=columns).astype(np.float32)
    return Policy(game, weights, {"made": "here"})


@contextmanager
def registered(registry: Any, name: str, thing: Any) -> Iterator[None]:
    """Register an object for the duration of the block."""
    registry.add(name, thing)
    try:
        yield
    finally:
        registry.remove(name)


def test_loaded_policy_plays_with_its_probabilities(tmp_path: Path) -> None:
    policy, file = untrained(), tmp_path / "p.safetensors"
    write_policy(policy, file)
    loaded = read_policy(file)
    assert loaded.about == {"made": "here"}
    game = loaded.game
    instance = RULES.draw_instance(Chance("an instance"))
    state = game.from_instances([instance])
    (wanted,) = policy.probabilities(game.observe(state, 0), game.legal(state))
    counts = np.zeros(game.actions)
    for number in range(3_000):
        request = Table(RULES, instance, f"luck {number}").request("player_1")
        counts[game.number(request, loaded.decide(request))] += 1
    assert not counts[~game.legal(state)[0]].any()
    error = np.sqrt(wanted * (1 - wanted) / 3_000)
    assert (np.abs(counts / 3_000 - wanted) <= 4.5 * error + 1e-9).all()


def test_policies_of_one_player_play_the_games_they_were_trained_for(tmp_path: Path) -> None:
    files = []
    for rounds in (1, 2):
        rules = RULES.model_copy(update={"rounds": rounds})
        files.append(str(tmp_path / f"{rounds}.safetensors"))
        write_policy(untrained(rules, rounds), Path(files[-1]))
    study: dict[str, Any] = {
        "name": "several",
        "instances": 2,
        "games": [{"game": "item_bargaining", "fixed": FIXED, "grid": {"rounds": [1, 2]}}],
        "players": {"learned": {"policies": files}, "random": "random"},
        "pairing": "all",
    }
    planned = ct.plan(ct.Study.model_validate(study))
    seats = {
        (match.configuration.game.model_dump()["rounds"], seat.spec.written()["policy"])
        for match in planned.matches
        for seat in match.seating
        if seat.label == "learned"
    }
    assert seats == {(1, files[0]), (2, files[1])}
    study["games"][0]["grid"] = {"rounds": [1, 3]}
    with pytest.raises(ct.CheaptalkError, match="rounds"):
        ct.plan(ct.Study.model_validate(study))


def test_policy_plays_only_its_own_game(tmp_path: Path) -> None:
    file = tmp_path / "p.safetensors"
    write_policy(untrained(), file)
    study: dict[str, Any] = {
        "name": "learned",
        "instances": 3,
        "games": [{"game": "item_bargaining", "fixed": FIXED | {"rounds": 2}}],
        "players": {"learned": {"policy": str(file)}, "soft": "soft"},
    }
    assert len(ct.plan(ct.studies.parse_study(study, "x")).matches) == 12
    ct.run(ct.studies.parse_study(study, "x"), tmp_path / "s.sqlite")
    with ct.Store.open(tmp_path / "s.sqlite") as store:
        assert {record.status.value for record in store.records("learned")} == {"finished"}
    study["games"][0]["fixed"]["rounds"] = 3
    with pytest.raises(ct.CheaptalkError, match="was trained for rounds 2, not 3"):
        ct.plan(ct.studies.parse_study(study, "x"))
    entry = study["games"][0]
    others = {**entry, "pairing": [["soft", "soft"]]}
    study["games"] = [{**entry, "fixed": {**entry["fixed"], "rounds": 2}}, others]
    assert len(ct.plan(ct.studies.parse_study(study, "x")).matches) == 12 + 3
    seat = PolicySeat.model_validate({"policy": str(file)})
    write_policy(untrained(seed=1), file)
    with pytest.raises(PolicyError, match="has changed since it joined the study"):
        seat.check()


def test_shipped_policies_play_their_games() -> None:
    shipped = sorted(BUILT_IN.glob("*.safetensors"))
    assert shipped
    for file in shipped:
        policy = read_policy(file)
        assert {"command", "hardware", "settings", "could_be_gained"} <= policy.about.keys()
        assert file.stat().st_size < 2_000_000
        rules = policy.game.rules
        seat = PolicySeat.model_validate({"policy": file.stem})
        role = next(iter(rules.seats))
        assert seat.seat(rules, role) == seat
        table = Table(rules, rules.draw_instance(Chance("shipped")), "shipped")
        for _ in range(policy.game.longest):
            for request in [table.request(actor) for actor in table.pending]:
                table.answer(request.actor, seat.decide()(request))
        assert table.over


def test_policy_with_a_custom_network_requires_its_registration(tmp_path: Path) -> None:
    game, file = array_game(RULES), tmp_path / "p.safetensors"
    weights = {"kernel": np.ones((game.observed, game.actions), np.float32)}
    network = PolicyNetwork(lambda weights, seen: seen @ weights["kernel"])
    with registered(NETWORKS, "linear", network):
        write_policy(Policy(game, weights, {}, network="linear"), file)
        loaded = read_policy(file)
        assert loaded.network == "linear"
        seated = dict.fromkeys(RULES.seats, loaded.decide)
        table = ct.play(RULES, RULES.draw_instance(Chance("x")), "x", seated)
        assert table.outcome is not None
    with pytest.raises(PolicyError, match=r'registers the network "linear".*install the package'):
        read_policy(file)


def test_invalid_weights_are_rejected_on_construction() -> None:
    policy = untrained()
    changes: list[tuple[dict[str, Any], str]] = [
        ({"first.kernel": np.full((2, 8), np.nan)}, "not finite: first.kernel"),
        ({"head.bias": np.full(8, np.inf)}, "not finite: head.bias"),
        ({"second.bias": None}, "'second.bias' is missing"),
        ({"first.kernel": np.ones((2, 8))}, "do not fit"),
        ({"head.kernel": np.ones((8, 3))}, "do not fit"),
    ]
    for change, problem in changes:
        changed = {**policy.weights, **change}
        weights = {name: array for name, array in changed.items() if array is not None}
        with pytest.raises(PolicyError, match=problem):
            Policy(policy.game, weights, {})
    overflowing = {name: array * np.float32(1e30) for name, array in policy.weights.items()}
    request = Table(RULES, RULES.draw_instance(Chance("x")), "x").request("player_1")
    with pytest.raises(PolicyError, match="probabilities are not finite;"):
        Policy(policy.game, overflowing, {}).decide(request)


def test_malformed_or_truncated_file_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "p.safetensors"
    write_policy(untrained(), file)
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    head, body = data[8 : 8 + length], data[8 + length :]
    for old, new in (
        (b'"first.bias":{', b'"first.bias":[{'),
        (b'"F32"', b'"Q32"'),
        (b'{"__metadata__":{', b'["__metadata__",{'),
        (b'\\"about\\":{', b'\\"about\\":[{'),
        (b'\\"bins\\":0', b'\\"bins\\":-1'),
        (b'"data_offsets":[0,', b'"data_offsets":[-4,'),
        (b'"shape":[', b'"shape":[2,'),
    ):
        assert old in head
        changed = head.replace(old, new, 1)
        file.write_bytes(len(changed).to_bytes(8, "little") + changed + body)
        with pytest.raises(PolicyError, match="is not a policy, or is truncated"):
            read_policy(file)
    for size in (0, 7, 40, 400):
        file.write_bytes(data[:size])
        with pytest.raises(PolicyError, match="truncated"):
            read_policy(file)
    with pytest.raises(PolicyError, match="cannot be read"):
        read_policy(tmp_path / "none")
