"""Battle royale: rules, prompts, metrics, scripted players and theory."""

import statistics
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cheaptalk.games.battle_royale import SPEC
from cheaptalk.games.battle_royale.rules import Battle, BattleRoyale, Fired, Hits, Over, Shot
from cheaptalk.games.battle_royale.strategies import MAX_SHOOTERS, Solution, solve
from cheaptalk.rules import Horizon, IllegalAction, Table, play
from cheaptalk.styles import style_in
from tests.games.tables import events

TRUEL = BattleRoyale(hit_rates=(0.3, 0.5, 1))


def new_table(game: BattleRoyale = TRUEL, *hits: bool | None) -> Table:
    return Table(game, Hits(hits=hits), "test")


def shoot(table: Table, *targets: str | None) -> None:
    """Fire shots at these targets, one turn each; None misses on purpose."""
    for target in targets:
        (ask,) = table.pending.values()
        table.answer(ask.actor, Shot(action="shoot" if target else "miss", target=target))


def shooter(table: Table) -> str:
    (ask,) = table.pending.values()
    return ask.actor


def metric(name: str, table: Table, published: bool = False) -> float:
    value = SPEC.metrics[name].variant(published)(table.result())
    assert value is not None
    return value


def play_match(
    strategy: str, seed: str = "1", game: BattleRoyale | None = None, **settings: Any
) -> Table:
    decide = SPEC.strategies[strategy].with_settings(**settings)
    return play(game or BattleRoyale(), Hits(), seed, {"player": decide})


def test_survivors_take_turns_until_one_remains() -> None:
    table = new_table(TRUEL, False, True, False, True)
    order = [shooter(table)]
    for target in ("player_3", "player_3", "player_2"):
        shoot(table, target)
        order.append(shooter(table))
    shoot(table, "player_1")
    assert order == ["player_1", "player_2", "player_1", "player_2"]
    shots = [(1, 3, False), (2, 3, True), (1, 2, False), (2, 1, True)]
    assert table.outcome == Battle(
        shots=tuple(
            Fired(shooter=f"player_{shooter}", target=f"player_{target}", hit=hit)
            for shooter, target, hit in shots
        ),
        living=("player_2",),
    )
    assert TRUEL.payoffs(table.outcome) == {"player_1": 0, "player_2": 1, "player_3": 0}


def test_predetermined_hits_override_chance() -> None:
    for hit in (True, False):
        table = new_table(BattleRoyale(hit_rates=(0.01, 0.99)), hit, None, hit)
        shoot(table, "player_2")
        assert table.over == hit


def test_horizon_ends_game_without_winner() -> None:
    for hidden in (False, True):
        game = TRUEL.model_copy(update={"horizon": Horizon(rounds=2, hidden=hidden)})
        table = new_table(game, False, False)
        shoot(table, "player_2", "player_3")
        assert events(table, "player_1")[-1] == Over(
            None, ("player_1", "player_2", "player_3"), 2, False
        )
        assert [*game.payoffs(table.result().outcome).values()] == [0, 0, 0]
        text = style_in(SPEC, "v1").tell(events(table, "player_1")[0], game, "player_1")
        assert ("2 rounds" in text) != hidden


def test_idle_rounds_end_game() -> None:
    game = TRUEL.model_copy(update={"idle_rounds": 3})
    table = new_table(game, *[False] * 9)
    shoot(table, None, None, "player_1", None, None)
    assert not table.over
    shoot(table, None)
    assert table.over


def test_illegal_shots_are_rejected() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"action": "shoot", "target": "player_1"}, "yourself"),
        ({"action": "shoot", "target": "player_2"}, "player_2 is out; you can shoot at player_3"),
        ({"action": "shoot", "target": "player_9"}, 'no player "player_9"'),
        ({"action": "shoot", "target": None}, "who shoots must name a target"),
        ({"action": "miss", "target": "player_3"}, "name no target"),
    ]
    for shot, reason in cases:
        game = BattleRoyale(hit_rates=(0.1, 0.2, 0.3))
        table = new_table(game, True, False)
        shoot(table, "player_2", "player_1")
        with pytest.raises(IllegalAction, match=reason):
            table.answer("player_1", Shot.model_validate(shot))


def test_published_rules_consider_only_target() -> None:
    game = BattleRoyale(hit_rates=(0.1, 0.2, 0.3, 0.4), strict_targets=False)
    table = new_table(game, True, True, True, True)
    shoot(table, "player_2")  # hits
    shoot(table, "player_2")  # is wasted: player_2 is out
    table.answer("player_4", Shot(action="miss", target="player_1"))  # hits
    shoot(table, "player_3")  # hits player_3 itself
    battle = table.result().outcome
    assert [shot.hit for shot in battle.shots] == [True, False, True, True]
    assert battle.living == ("player_4",)


def test_null_target_means_no_target() -> None:
    for target in (None, "null", "None", " NULL "):
        assert Shot.model_validate({"action": "miss"}).target is None
        assert Shot.model_validate({"action": "miss", "target": target}).target is None


def test_targets_can_be_display_names() -> None:
    game = BattleRoyale(hit_rates=(0.1, 0.2, 0.3), names={"player_3": "Ann"})
    table = new_table(game, True, True)
    table.answer("player_1", Shot(action="shoot", target="player 2"))
    table.answer("player_3", Shot(action="shoot", target="Player 1"))
    assert [shot.target for shot in table.result().outcome.shots] == ["player_2", "player_1"]
    assert new_table(game).pending["player_1"].refuse(Shot(action="shoot", target="ANN")) is None
    twins = BattleRoyale(hit_rates=(0.1, 0.2, 0.3), names={"player_2": "ann", "player_3": "Ann"})
    reason = new_table(twins).pending["player_1"].refuse(Shot(action="shoot", target="Ann"))
    assert reason == 'there is no player "Ann"; you can shoot at player_2, player_3'


def test_score_counts_shots_at_strongest_opponent() -> None:
    table = new_table(TRUEL, False, False, False, True, True)
    shoot(table, "player_3", "player_1", "player_2", "player_2", "player_1")
    assert metric("rounds_played", table) == 5
    assert metric("score", table, published=True) == pytest.approx(100 * 3 / 5)
    assert metric("score", table) == pytest.approx(100 * 3 / (3 * 5))
    missing = new_table(TRUEL, None, True, True)
    shoot(missing, None, "player_3", "player_2")
    assert metric("score", missing, published=True) == pytest.approx(100 * 2 / 3)
    assert metric("misses_on_purpose", missing) == pytest.approx(1 / 3)
    assert metric("survivors", missing) == 1
    tied = new_table(BattleRoyale(hit_rates=(0.5, 0.6, 0.6)), True, True)
    shoot(tied, "player_2", "player_1")
    assert metric("score", tied, published=True) == 100


def test_mean_published_scores_of_strategies() -> None:
    assert metric("score", play_match("strongest"), published=True) == 100
    matches = (play_match("random", str(seed), misses=0) for seed in range(300))
    scores = [metric("score", match, published=True) for match in matches]
    assert statistics.mean(scores) == pytest.approx(30.2, abs=2)


def test_strategies_choose_their_targets() -> None:
    """GAMA-Bench section 3.3: of players 7, 8 and 10, player 7 misses; then 8 shoots at 10."""
    three = new_table(BattleRoyale(hit_rates=(0.65, 0.7, 0.8)))
    missed = new_table(BattleRoyale(hit_rates=(0.65, 0.7, 0.8)))
    shoot(missed, None)
    hit = new_table(TRUEL, True)
    shoot(hit, "player_2")
    cases: list[tuple[str, Table, dict[str, Any], str | None]] = [
        ("equilibrium", three, {}, None),
        ("equilibrium", missed, {}, "player_3"),
        ("equilibrium", new_table(BattleRoyale()), {}, "player_10"),  # too many to solve
        ("strongest", new_table(), {}, "player_3"),
        ("weakest", new_table(), {}, "player_2"),
        ("fixed", new_table(), {"target": "player_2"}, "player_2"),
        ("fixed", hit, {"target": "player_2"}, None),
    ]
    for name, table, settings, target in cases:
        action = SPEC.strategies[name](table.request(shooter(table)), **settings)
        assert action == Shot(action="shoot" if target else "miss", target=target)
    with pytest.raises(ValueError, match='no player "player_9"'):
        SPEC.strategies["fixed"](hit.request("player_3"), target="player_9")


def test_equilibrium_win_rate_matches_solution() -> None:
    wins = [play_match("equilibrium", str(seed), TRUEL).outcome for seed in range(600)]
    first = sum(isinstance(end, Battle) and end.living == ("player_1",) for end in wins)
    assert first / 600 == pytest.approx(0.3808, abs=0.04)


rates = st.lists(st.floats(0.01, 1), min_size=2, max_size=5).map(sorted).map(tuple)


def solve_or_reject(shooters: tuple[float, ...]) -> Solution:
    try:
        return solve(shooters)
    except ValueError:
        assume(False)
        raise


def chances_after_hit(shooters: tuple[float, ...], shooter: int, target: int) -> list[float]:
    """Return all winning chances after a hit, from the solution of the smaller game."""
    survivors = [player for player in range(len(shooters)) if player != target]
    turn = (survivors.index(shooter) + 1) % len(survivors)
    smaller = solve(tuple(shooters[player] for player in survivors)).wins[turn]
    chances = [0.0] * len(shooters)
    for player, chance in zip(survivors, smaller, strict=True):
        chances[player] = chance
    return chances


@given(rates)
def test_winning_chances_satisfy_recursion(shooters: tuple[float, ...]) -> None:
    targets, aims, wins = solve_or_reject(shooters)
    for turn, rate in enumerate(shooters):
        hit = aims[turn] * rate
        following = wins[(turn + 1) % len(shooters)]
        stake = chances_after_hit(shooters, turn, targets[turn])
        assert sum(wins[turn]) == pytest.approx(1)
        assert wins[turn] == pytest.approx(
            [hit * a + (1 - hit) * b for a, b in zip(stake, following, strict=True)], abs=1e-9
        )


@given(rates)
def test_no_deviation_improves_winning_chance(shooters: tuple[float, ...]) -> None:
    _, _, wins = solve_or_reject(shooters)
    for turn, rate in enumerate(shooters):
        waiting = wins[(turn + 1) % len(shooters)][turn]
        others = [player for player in range(len(shooters)) if player != turn]
        best = max(chances_after_hit(shooters, turn, target)[turn] for target in others)
        assert wins[turn][turn] >= waiting - 1e-9
        assert wins[turn][turn] >= rate * best + (1 - rate) * waiting - 1e-9


def test_truel_of_30_50_and_100_percent() -> None:
    """The weakest misses on purpose; then B shoots at C, and A shoots first at the survivor.

    A wins if B hits C and A wins the duel, or if B misses, C hits B and A hits immediately.
    """
    solution = solve((0.3, 0.5, 1.0))
    assert solution.aims[0] == 0
    assert solution.targets[1:] == (2, 1)
    assert solution.wins[0] == pytest.approx(
        (0.5 * 6 / 13 + 0.5 * 0.3, 0.5 * 7 / 13, 0.5 * 0.7), abs=1e-12
    )
    for shooters in ((1 / 3, 2 / 3, 1.0), (0.65, 0.7, 0.8), (0.5, 0.5, 0.5)):
        assert solve(shooters).aims == (0, 1, 1)
    assert solve((1.0, 1.0, 1.0)).wins[0] == (1, 0, 0)


def test_some_groups_of_five_mix_actions() -> None:
    for shooters, mixing in (((0.45, 0.5, 0.55, 0.6, 0.65), 2), ((0.51, 0.54, 0.55, 0.56, 0.6), 3)):
        assert sum(0 < aim < 1 for aim in solve(shooters).aims) == mixing
        test_no_deviation_improves_winning_chance.hypothesis.inner_test(shooters)  # type: ignore[attr-defined]


def test_gama_bench_groups_are_solved() -> None:
    for low, step in ((51, 1), (35, 5), (10, 10)):
        group = tuple((low + step * player) / 100 for player in range(10))
        for first in range(10 - MAX_SHOOTERS + 1):
            assert len(solve(group[first : first + MAX_SHOOTERS]).wins) == MAX_SHOOTERS


def test_too_many_shooters_raise_error() -> None:
    with pytest.raises(ValueError, match=f"expected 1 to {MAX_SHOOTERS} shooters"):
        solve((0.5,) * (MAX_SHOOTERS + 1))
