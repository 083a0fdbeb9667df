"""Pitches: only plain statements about a product are interpreted."""

import cheaptalk as ct
from cheaptalk.games.persuasion.metrics import recommends
from cheaptalk.games.persuasion.rules import Pitch, Purchase


def test_plain_praise_is_interpreted_as_recommendation() -> None:
    cases = [
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
    for message in cases:
        assert recommends(message) is True


def test_plain_advice_against_buying_is_detected() -> None:
    cases = [
        "I do not recommend that you buy this product.",
        "I don\u2019t recommend it.",
        "I advise against buying it.",
        "This product is of low quality. Don't buy it.",
        "It is not of high quality.",
        "It is not good.",
        "The quality is poor.",
        "You should not buy this product!",
    ]
    for message in cases:
        assert recommends(message) is False


def test_ambiguous_messages_are_not_interpreted() -> None:
    cases = [
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
    for message in cases:
        assert recommends(message) is None


def test_honesty_check_covers_text_messages() -> None:
    """A seller that praised every bad product used to score "true statements: 1.00"."""
    game = ct.get_game("persuasion")
    rules = game.rules.model_validate({"horizon": 6, "prior": 0.5, "signal": "text"})
    messages = iter(["This product is excellent.", "Hello.", "I do not recommend it."] * 2)
    players = {
        "alice": lambda _: Pitch(message=next(messages)),
        "bob": lambda _: Purchase(decision="no"),
    }
    result = ct.play(rules, rules.draw_instance(ct.Chance("1")), "1", players).result()
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
