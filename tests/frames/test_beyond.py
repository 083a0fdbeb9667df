"""Values that leave what their game says they can be."""

import polars as pl

from cheaptalk.frames.bounds import beyond


def test_the_first_match_that_breaks_a_bound_is_named() -> None:
    frame = pl.DataFrame(
        {
            "match": ["b", "a", "c"], "share": [0.5, 1.0 + 1e-12, None], "pot": [4.0, 11.0, 12.0],
            "pot.least": [0.0, 0.0, 0.0], "pot.most": [10.0, 10.0, 20.0],
        }
    )  # fmt: skip
    (said,) = beyond(frame, {"share": (0.0, 1.0), "pot": ("pot.least", "pot.most")})
    assert said == (
        "pot is 11 in match a, and by the game's own bounds it can be 0 to 10: the bounds are "
        "wrong, and no interval keeps to them"
    )
    assert list(beyond(frame, {"absent": (0.0, 1.0), "pot": (float("-inf"), 12.0)})) == []
