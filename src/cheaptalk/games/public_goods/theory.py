"""What theory says about contributions: pure functions that strategies and tests rest on.

R is the factor, N the number of players: a token given brings its giver R / N, and all together R.
"""


def dominant_contribution(players: int, factor: float, tokens: int) -> int | None:
    """The contribution that pays most whatever the others do; None where all pay the same.

    Nothing where R < N, since the giver keeps only R / N of a token, and everything where R > N
    (Samuelson 1954; GAMA-Bench section 2.2). Known rounds change nothing: by backward induction
    it is the equilibrium of every round.

    >>> dominant_contribution(10, 2, 20), dominant_contribution(3, 4, 20)
    (0, 20)
    """
    if factor == players:
        return None
    return 0 if factor < players else tokens


def efficient_contribution(factor: float, tokens: int) -> int:
    """The contribution by all that makes the sum of payoffs greatest: everything where R > 1.

    >>> efficient_contribution(2, 20), efficient_contribution(0.5, 20)
    (20, 0)
    """
    return tokens if factor > 1 else 0
