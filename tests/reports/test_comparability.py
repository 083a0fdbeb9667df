"""Players who met the same opponents in the same configurations."""

import polars as pl

from cheaptalk.reports.study.comparability import (
    Encounter,
    comparable_sets,
    encounters,
    head_to_head,
    largest_comparable_set,
    with_opponents,
)


def met(**opponents: str) -> dict[str, set[Encounter]]:
    """Return encounters in one configuration; each opponent is a letter."""
    return {label: {Encounter(("c",), (rival,)) for rival in of} for label, of in opponents.items()}


def test_comparable_players_met_the_same_opponents() -> None:
    assert comparable_sets(met(a="abc", b="abc", c="abc")) == [["a", "b", "c"]]
    assert comparable_sets(met(a="bc", b="ac", c="ab")) == [["a", "b", "c"]]
    assert comparable_sets(met(a="bc", b="abc")) == [["a"], ["b"]]

    assert head_to_head(met(a="abc", b="abc", c="abc")) == ""
    assert head_to_head(met(a="a", b="b", c="c")) == ""
    assert "No player met a copy of itself" in head_to_head(met(a="bc", b="ac", c="ab"))

    split = {"a": {Encounter(("c",), ("x",))}, "b": {Encounter(("d",), ("x",))}}
    assert comparable_sets(split) == [["a"], ["b"]]

    assert largest_comparable_set(met(a="xy", b="xy")) == (["a", "b"], [])

    ranked = ["a", "b", "c"]
    assert largest_comparable_set(met(a="abcd", b="abc", c="abc", d="a")) == (ranked, ["d"])


def test_opponents_fill_the_seats_of_other_roles() -> None:
    frame = pl.DataFrame(
        {
            "player_seller": ["s", "t"],
            "player_bidder_1": ["x", "x"],
            "player_bidder_2": ["y", None],
            "gain": [1.0, 0.0],
        }
    )
    roles = {"seller": ["seller"], "bidder": ["bidder_1", "bidder_2"]}
    rows = with_opponents(frame, "seller", roles)
    assert encounters(rows, "player_seller", [], "gain") == {
        "s": {Encounter((), ("x", "y"))},
        "t": {Encounter((), ("x", ""))},
    }
    alone = with_opponents(frame, "bidder", {"bidder": ["bidder_1", "bidder_2"]})
    assert encounters(alone, "player_bidder_1", [], "gain") == {"x": {Encounter((), ())}}

    frame = pl.DataFrame(
        {
            "player_alice": ["a", "b", "a", "a", "b"],
            "player_bob": ["x", "x", "down", "y", "y"],
            "gain": [1.0, 0.0, None, None, 0.5],
        }
    )
    rows = with_opponents(frame, "alice", {"alice": ["alice"], "bob": ["bob"]})
    both = {Encounter((), ("x",)), Encounter((), ("y",))}
    assert encounters(rows, "player_alice", [], "gain") == {"a": both, "b": both}
