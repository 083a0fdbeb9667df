"""Persuasion: rules, strategies, metrics, and the interpretation of pitches."""

from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.games.persuasion import SPEC, rules
from cheaptalk.games.persuasion.metrics import recommends
from cheaptalk.games.persuasion.strategies import SENTENCES, pooling_probability
from cheaptalk.rules import Chance, Result, RulesError, Table, play
from tests.games.tables import events, table_after

YES: dict[str, Any] = {"decision": "yes"}
NO: dict[str, Any] = {"decision": "no"}


def binary(rounds: int = 20, **parameters: Any) -> rules.Persuasion:
    return rules.Persuasion(signal="binary", horizon=rounds, **parameters)


def say(message: str) -> dict[str, str]:
    return {"message": message}


def qualities(marks: str) -> rules.Qualities:
    """Return an instance from a string of qualities, ``h`` and ``l``."""
    return rules.Qualities(qualities=tuple(mark == "h" for mark in marks))


def replay(game: rules.Persuasion, marks: str, *moves: dict[str, Any]) -> Table:
    return table_after(game, *moves, instance=qualities(marks))


def match(
    game: rules.Persuasion,
    marks: str,
    seller: str,
    buyer: str,
    seed: str = "1",
    **settings: Any,
) -> rules.Trades:
    """Play a match between two strategies on given qualities; settings are the seller's."""
    players = {
        "alice": SPEC.strategies[seller].with_settings(**settings),
        "bob": SPEC.strategies[buyer].with_settings(),
    }
    trades: rules.Trades = play(game, qualities(marks), seed, players).result().outcome
    return trades


def marks(flags: tuple[bool, ...]) -> str:
    return "".join("+" if flag else "-" for flag in flags)


def test_qualities_depend_only_on_seed_and_round() -> None:
    short, long = rules.Persuasion(horizon=5), rules.Persuasion(horizon=50)
    assert (
        long.draw_instance(Chance("a")).qualities[:5] == short.draw_instance(Chance("a")).qualities
    )
    assert long.draw_instance(Chance("a")) != long.draw_instance(Chance("b"))
    drawn = rules.Persuasion(prior=0.8, horizon=2_000).draw_instance(Chance("a")).qualities
    assert sum(drawn) / 2_000 == pytest.approx(0.8, abs=0.03)


def test_instance_of_another_length_is_rejected() -> None:
    for drawn in ("h", "hhh"):
        with pytest.raises(RulesError, match="numbers of rounds"):
            replay(binary(2), drawn)


def test_payoffs_are_sales_and_buyer_surplus() -> None:
    game = binary(4, value=3, low_value=0.25)
    moves = [YES, YES, YES, YES, NO, NO, YES, YES]
    outcome = replay(game, "hlhl", *moves).result().outcome
    assert outcome == rules.Trades(
        high=(True, False, True, False),
        recommended=(True, True, False, True),
        bought=(True, True, False, True),
    )
    assert game.payoffs(outcome) == {"alice": 3, "bob": 200 - 75 - 75}


def test_myopic_buyers_are_paid_for_their_own_round() -> None:
    game = binary(3, value=3, myopic=True)
    outcome = replay(game, "hll", YES, YES, YES, YES, YES, NO).result().outcome
    paid = {"alice": 2, "bob_1": 200, "bob_2": -100, "bob_3": 0}
    assert game.payoffs(outcome) == paid
    assert game.seat_payoffs(outcome) == {"alice": 2, "bob": 100}


def test_buying_everything_reaches_payoff_bounds() -> None:
    for myopic in (True, False):
        for mark in ("h", "l"):
            game = binary(3, value=1.2, low_value=0.3, myopic=myopic)
            paid = game.seat_payoffs(replay(game, mark * 3, *[YES, YES] * 3).result().outcome)
            assert paid["alice"] == game.payoff_bounds()["alice"][1] == 3
            assert paid["bob"] == pytest.approx(game.payoff_bounds()["bob"][mark == "h"])


def test_myopic_buyer_observes_only_summary_of_past() -> None:
    game = binary(4, myopic=True)
    table = replay(game, "llhh", YES, YES, YES, NO, NO, YES, YES)
    assert events(table, "bob_1")[1] == rules.Record(0, None, None)
    assert events(table, "bob_2")[1] == rules.Record(1, bought=1, low_bought=1)
    assert events(table, "bob_3")[1] == rules.Record(2, bought=0.5, low_bought=0.5)
    assert events(table, "bob_4")[1] == rules.Record(3, bought=2 / 3, low_bought=1 / 3)
    assert [type(event) for event in events(table, "bob_3")] == [
        rules.Briefing,
        rules.Record,
        rules.ProductOffered,
        rules.QualityRevealed,
        rules.GameOver,
    ]


def test_simple_players_follow_their_rules() -> None:
    honest, naive = (
        match(binary(4), "hllh", seller, "trusting") for seller in ("honest", "always_recommend")
    )
    assert (marks(honest.recommended or ()), marks(honest.bought)) == ("+--+", "+--+")
    assert (marks(naive.recommended or ()), marks(naive.bought)) == ("++++", "++++")
    for recommended, decision in ((True, "yes"), (False, "no")):
        table = replay(rules.Persuasion(horizon=1), "h", say(SENTENCES[recommended]))
        decided = SPEC.strategies["trusting"](table.request("bob"))
        assert decided == rules.Purchase.model_validate({"decision": decision})


def test_pooling_follows_glee_formula() -> None:
    cases = [
        (1 / 3, 1.2, 0.1),
        (0.5, 1.25, 0.25),
        (0.5, 4, 1),
        (0.8, 1.2, 0.8),
        (0, 3, 0),
        (1, 2, 1),
    ]
    for prior, value, q in cases:
        assert pooling_probability(prior, 1, value, 0) == pytest.approx(q)


def lemon_recommendation_rate(game: rules.Persuasion, **settings: Any) -> float:
    rounds = game.horizon.rounds
    lemons = match(game, "l" * rounds, "kamenica_gentzkow", "sceptical", **settings)
    return sum(lemons.recommended or ()) / rounds


def test_persuader_pools_lemons_at_optimal_rate() -> None:
    assert lemon_recommendation_rate(binary(2_000)) == pytest.approx(0.25, abs=0.03)
    assert lemon_recommendation_rate(binary(50, value=2)) == 1
    assert marks(match(binary(3), "hhh", "kamenica_gentzkow", "sceptical").recommended or ()) == (
        "+++"
    )


def test_persuader_guesses_unknown_value() -> None:
    game = binary(2_000, value=4, low_value=0.9, prior=0.25, seller_knows_values=False)
    assert lemon_recommendation_rate(game) == pytest.approx(1 / 3, abs=0.03)
    assert lemon_recommendation_rate(game, guess=1) == 0


def test_sceptical_buyer_considers_only_prior() -> None:
    cases: list[tuple[Any, bool]] = [
        ({"prior": 0.5, "value": 1.99}, False),
        ({"prior": 0.5, "value": 2}, True),
        ({"prior": 0.333333333, "value": 3}, True),
        ({"prior": 0.5, "value": 1.5, "low_value": 0.5}, True),
        ({"prior": 0.9, "value": 1.5, "buyer_knows_prior": False}, False),
    ]
    for parameters, buys in cases:
        game = binary(2, **parameters)
        for seller in ("honest", "always_recommend"):
            assert set(match(game, "hl", seller, "sceptical").bought) == {buys}


def test_bayesian_buyer_learns_credibility_of_seller() -> None:
    signals: tuple[rules.Signal, ...] = ("binary", "text")
    for signal in signals:
        game = rules.Persuasion(horizon=12, signal=signal)
        fooled = match(game, "hlllhhllhlhl", "always_recommend", "bayesian").bought
        assert marks(fooled) == "++----------"
        assert marks(match(game, "hlllhhllhlhl", "honest", "bayesian").bought) == "+---++--+-+-"
    bought = match(binary(9), "lhhhhhhhh", "always_recommend", "bayesian").bought
    # After the lemon and n good ones (3.6 + n) / (5 + n) reaches 1 / 1.25 at n = 2.
    assert marks(bought) == "+--++++++"


def test_myopic_bayesian_buyer_uses_record() -> None:
    cases = [
        (rules.Record(0, None, None), True),
        (rules.Record(10, 0.5, 0.0), True),
        (rules.Record(10, 0.5, 0.1), True),
        (rules.Record(10, 0.5, 0.2), False),
        (rules.Record(10, 0.0, 0.0), True),
    ]
    for record, buys in cases:
        game = binary(1, myopic=True)
        table = replay(game, "h", YES)
        table.heard["bob_1"][1] = table.heard["bob_1"][1]._replace(event=record)
        decided = SPEC.strategies["bayesian"](table.request("bob_1"))
        # (4 * 0.9 + bought and high) / (4 + bought) is compared with 1 / 1.25.
        assert decided == rules.Purchase(decision="yes" if buys else "no")


def test_unknown_sentences_carry_no_information() -> None:
    for buyer in ("trusting", "sceptical", "bayesian"):
        for words in ("", "I recommend that you buy this product", "Best quality!"):
            cases: list[tuple[float, Any]] = [(1.9, "no"), (2, "yes")]
            for value, decision in cases:
                table = replay(rules.Persuasion(horizon=1, value=value), "h", say(words))
                decided = SPEC.strategies[buyer](table.request("bob"))
                assert decided == rules.Purchase(decision=decision)


def metrics(
    game: rules.Persuasion, outcome: rules.Trades, as_published: bool = False
) -> dict[str, float | None]:
    result = Result(game, rules.Qualities(qualities=outcome.high), outcome)
    return {name: metric.variant(as_published)(result) for name, metric in SPEC.metrics.items()}


# Ten rounds: four of six good products are bought, and one of four bad ones.
MIXED = rules.Trades(
    high=(True,) * 6 + (False,) * 4,
    recommended=(True,) * 7 + (False,) * 3,
    bought=(True,) * 4 + (False,) * 2 + (True,) + (False,) * 3,
)


def test_metrics_match_hand_calculation() -> None:
    for myopic in (True, False):
        game = binary(10, value=3, price=10_000, myopic=myopic)
        assert metrics(game, MIXED) == pytest.approx(
            {
                "sales": 5,
                "self_gain_alice": 0.5,
                "self_gain_bob": (4 * 2 - 1) / 10,
                "efficiency": 4 / 6,
                "fairness": 3 / 4,
                "honesty": 0.9,
            }
        )


def test_published_self_gain_charges_refused_lemons() -> None:
    game = binary(10, value=3, low_value=0.5)
    assert metrics(game, MIXED)["self_gain_bob"] == pytest.approx((4 * 2 - 0.5) / 10)
    assert metrics(game, MIXED, as_published=True)["self_gain_bob"] == pytest.approx(
        (4 * 2 - 3) / 10
    )
    for high, recommended, expected in (
        (False, (False, True), {"efficiency": None, "fairness": 0.5, "honesty": 0.5}),
        (True, None, {"efficiency": 0.5, "fairness": None, "honesty": None}),
    ):
        outcome = rules.Trades(high=(high, high), recommended=recommended, bought=(False, True))
        assert metrics(binary(2), outcome).items() >= expected.items()


PRAISE = [
    "I recommend that you buy this product.",
    "This product is of high quality, I recommend it.",
    "Trust me, it is an excellent, high-quality product. Buy it!",
    "I strongly recommend buying it.",
    "It's a truly great-quality product!",
    "You should definitely buy this one.",
    "This one is excellent.",
    "This is a great product.",
    "The quality is excellent.",
    "Highly recommended!",
    "High quality, buy it now.",
    "It is good.",
    "The product has excellent quality, so buy it.",
]
ADVICE_AGAINST = [
    "I do not recommend that you buy this product.",
    "I don\u2019t recommend it.",
    "I advise against buying it.",
    "This product is of low quality. Don't buy it.",
    "It is not of high quality.",
    "It is not good.",
    "The quality is poor.",
    "You should not buy this product!",
]
UNCLEAR = [
    "",
    "Hello, nice to meet you.",
    "Would you like to buy this product?",
    "If it is of high quality, you should buy it.",
    "Last time it was an excellent product.",
    "I might recommend it.",
    "It could be of high quality.",
    "The price is $100.",
    "I can't say that it is of high quality.",
    "I never recommend it lightly; buy it.",
    "It is excellent, but I do not recommend it.",
    'You said "buy it".',
    "Nobody can say this product is of low quality.",
    "This is not a joke. Buy it!",
    "I recommend that you decide for yourself.",
    "There is a high chance that it is excellent.",
    "I think it is excellent.",
    "The next one is excellent.",
    "It pays to be careful.",
    "High-quality products are worth $120 to you.",
    "I recommend caution.",
    "It is outstanding how low the quality is.",
    "It is excellent that you ask.",
    "It is superb weather today.",
    "This product is top-quality rubbish.",
    "Had it been better, I would recommend it.",
    "I recommend this attitude to everyone.",
    "I cannot recommend it highly enough.",
]


@pytest.mark.parametrize(
    ("messages", "recommended"), [(PRAISE, True), (ADVICE_AGAINST, False), (UNCLEAR, None)]
)
def test_only_plain_statements_are_interpreted(
    messages: list[str], recommended: bool | None
) -> None:
    for message in messages:
        assert recommends(message) is recommended, message


def test_honesty_check_covers_text_messages() -> None:
    """A seller that praised every bad product used to score "true statements: 1.00"."""
    game = ct.get_game("persuasion")
    talking = game.rules.model_validate({"horizon": 6, "prior": 0.5, "signal": "text"})
    messages = iter(["This product is excellent.", "Hello.", "I do not recommend it."] * 2)
    players = {
        "alice": lambda _: rules.Pitch(message=next(messages)),
        "bob": lambda _: rules.Purchase(decision="no"),
    }
    result = ct.play(talking, talking.draw_instance(ct.Chance("1")), "1", players).result()
    verdicts = [*game.checks["honesty"](result).values()]
    interpreted = [
        (high, number % 3 == 0)
        for number, high in enumerate(result.instance.qualities)
        if number % 3 != 1
    ]
    assert len({high for high, _ in interpreted}) == 2
    assert verdicts == [
        "honest" if high == praised else "overstates" if praised else "understates"
        for high, praised in interpreted
    ]
