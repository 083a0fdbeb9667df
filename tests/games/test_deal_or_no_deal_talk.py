"""Deal or No Deal: offers, agreements and inconsistencies in free talk."""

from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.deal_or_no_deal import dialogue
from cheaptalk.games.deal_or_no_deal.contexts import Context, all_contexts, bundles
from cheaptalk.games.deal_or_no_deal.rules import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.talk import (
    accepts,
    kind_of,
    read_offer,
    say_offer,
    say_values,
    speaks_of_items,
)
from cheaptalk.rules import MESSAGE_LIMIT

COUNTS = (2, 3, 1)
CONTEXT = Context(counts=COUNTS, values=((1, 2, 2), (2, 0, 6)))


def messages(*texts: str) -> list[dialogue.Move]:
    """Return messages of the two players in turn, starting with player 1."""
    return [
        dialogue.Move(f"player_{1 + number % 2}", MessageOrProposal(message=text))
        for number, text in enumerate(texts)
    ]


def proposal(player: str, *claim: int) -> dialogue.Move:
    books, hats, balls = claim
    return dialogue.Move(player, Proposal(books=books, hats=hats, balls=balls))


@given(st.data())
def test_offers_round_trip_through_text(data: st.DataObject) -> None:
    counts = data.draw(st.sampled_from(all_contexts())).counts
    claim = data.draw(st.sampled_from(list(bundles(counts))))
    assert read_offer(say_offer(counts, claim), counts) == claim


def test_only_plain_offers_are_parsed() -> None:
    cases = [
        ("I take 2 books and 1 hat.", (2, 1, 0)),
        ("i'd like the books and a hat , please", (2, 1, 0)),
        ("How about I get both books and you keep the rest?", (2, 0, 0)),
        ("You can have all the hats and everything else is mine", None),
        ("you can have the hats", (2, 0, 1)),
        ("if i can have the ball and the hats you can have the books", (0, 3, 1)),
        ("I'll give you two hats, and I keep everything else.", (2, 1, 1)),
        ("Hats and the ball for me, everything else to you!", (0, 3, 1)),
        ("Give me 1 book; you take 1 book, 3 hats and 1 ball.", (1, 0, 0)),
        ("Ok, deal. I take no books, 3 hats and zero balls.", (0, 3, 0)),
        ("i just want the ball", (0, 0, 1)),
        ("I\N{RIGHT SINGLE QUOTATION MARK}d like 1 basketball", (0, 0, 1)),
        ("A hat is worth 2 to me. I take the hats.", (0, 3, 0)),
        ("Hello! What do you need? I want 2 books.", (2, 0, 0)),
    ]
    ambiguous = [
        "Hello.",
        "I need both books or all the hats.",
        "I don't want the hats.",
        "I want the book.",
        "I want at least 1 hat.",
        "I want both hats.",
        "The ball and a book.",
        "I take the hats, you take the ball.",
        "I take 2 books and you take 1 book.",
        "I want 3 books.",
        "I want 2 hats and 1 hat.",
        "I will take the rest.",
        "I take the rest and you take everything else.",
        "I want 1 hat. I want 2 hats.",
        "I want 1 hat. Hats suit me, and the ball too.",
        "I want 2 or 3 hats.",
        "Do you want the hats?",
    ]
    for text, claim in [*cases, *((text, None) for text in ambiguous)]:
        assert read_offer(text, COUNTS) == claim, text


def test_longest_messages_are_parsed() -> None:
    for part in ("the rest and ", "i take 1 hat, ", "ok ", "a ", "1", ".", " "):
        text = (part * MESSAGE_LIMIT)[:MESSAGE_LIMIT]
        assert read_offer(text, COUNTS) is None
        assert not dialogue.names_too_many(text, COUNTS)


def test_only_plain_acceptance_is_detected() -> None:
    plain = [
        "Deal!",
        "ok , deal",
        "Okay, sounds good to me.",
        "Agreed.",
        "yes",
        "I accept.",
        "It's a deal, thanks.",
        "Deal. I take 2 books.",
        "Great! I take the books.",
    ]
    unclear = [
        "No deal.",
        "Deal?",
        "Deal if I get a hat.",
        "ok but I need the ball",
        "I can't accept.",
        "Deal. I take 1 book.",
        "Great! I take whatever books you leave.",
        "Hello.",
        "Ideal!",
        "What a deal.",
    ]
    for text in (*plain, *unclear):
        assert accepts(text, COUNTS, (2, 0, 0)) == (text in plain), text


def test_agreement_lasts_until_contradicted() -> None:
    cases = [
        ([], None, False),
        (["Hello.", "I take the books."], (0, 3, 1), False),
        (["I take the books.", "Deal."], (2, 0, 0), True),
        (["I take the books.", "Hm.", "So?", "Deal."], (2, 0, 0), True),
        (["I take the books.", "Hm.", "Deal."], (2, 0, 0), False),
        (["I take the books.", "Deal. You take 2 books, I take the rest."], (2, 0, 0), True),
        (["I take the books.", "Deal.", "So I take 2 books."], (2, 0, 0), True),
        (["I take the books.", "Deal.", "I take the ball."], (0, 0, 1), False),
        (["I take the books.", "Deal.", "Or the hats?"], None, False),
        (["I take the books.", "Perhaps a hat as well."], None, False),
        (["I take the books.", "A book is worth 2 to me.", "Please.", "Deal."], (2, 0, 0), True),
    ]
    for texts, division, agreed in cases:
        state = dialogue.standing(COUNTS, messages(*texts))
        assert (state.division, state.agreed) == (division, agreed)


def test_only_plain_statements_about_current_match_are_counts() -> None:
    cases = [
        # true statements and requests
        ("There are 2 books and 3 hats on the table.", [2, 3]),
        (
            "I take 2 books, 3 hats and 0 balls, and you take 0 books, 0 hats and 1 ball.",
            [2, 3, 0, 0, 0, 1],
        ),
        ("We have 2 books, 3 hats, and 1 ball to share.", [2, 3, 1]),
        ("I would like 2 hats, please.", [2]),
        ("You can have the books and 1 hat.", [1]),
        ("In this game there are 3 hats.", [3]),
        # false statements and requests
        ("I want 3 books.", [3]),
        ("There are 4 hats on the table.", [4]),
        ("I'd like to have 5 of the hats.", [5]),
        ("Okay, give me two balls and the books!", [2]),
        ("I propose that you take 4 hats.", [4]),
        ("I'll leave you 1 book and 3 balls.", [1, 3]),
        ("3 books and 2 hats for me, the rest for you.", [3, 2]),
        ("I need the ball, and you get 9 hats in return.", [9]),
        ("I value hats, so I take 4 hats.", [4]),
        ("It is simple: we split 7 balls.", [7]),
        # neither
        ("If I had 9 hats I would give you one.", []),
        ("If there were 9 hats, each of us could have an equal part.", []),
        ("Unless there are 9 hats, I take the books.", []),
        ("Suppose there are 9 hats.", []),
        ("I would take 9 hats any day.", []),
        ("I'd give you 9 hats in a fairer world.", []),
        ("I could use 9 hats.", []),
        ("I have no use for 9 hats, you know.", []),
        ("There aren't 9 hats here.", []),
        ("I do not want 9 hats.", []),
        ("There are not 9 hats on the table.", []),
        ("I never take 9 hats.", []),
        ("My last partner had 9 hats and 8 balls to share.", []),
        ("In my last game we had 9 hats.", []),
        ("In other games there are 9 hats.", []),
        ("Yesterday I took 9 hats, and nobody minded.", []),
        ("At the market, I get 9 hats.", []),
        ("My neighbour owns 9 hats.", []),
        ("They have 9 hats.", []),
        ("Can I have 9 hats?", []),
        ("Did you want 9 hats?", []),
        ("Are there 9 hats? I see fewer.", []),
        ("You said that there are 9 hats.", []),
        ('You wrote "I take 9 hats. There are 8 balls. Deal." and I wonder why.', []),
        ("You wrote 'there are 9 hats'.", []),
        ("You want 9 hats, it seems.", []),
        ("I prefer one ball to 9 hats.", []),
        ("A ball is better than 9 hats.", []),
        ("One ball is as good as 9 hats for me.", []),
        ("Even 9 hats are no match for a good book.", []),
        ("I think there are 9 hats.", []),
        ("I read 9 books a year.", []),
        ("I have 9 hats at home.", []),
        ("I take 9 hats to every party.", []),
        ("Collectors pay well for 9 hats.", []),
        ("9 hats", []),
        ("I have 9 book clubs.", []),
    ]
    for text, stated in cases:
        assert [number for _, number in dialogue.stated_counts(text)] == stated
        assert dialogue.names_too_many(text, COUNTS) == any(
            number > COUNTS[kind_of(noun)] for noun, number in dialogue.stated_counts(text)
        )


def test_only_plainly_false_statements_of_own_values_are_detected() -> None:
    false = [
        "A book is worth 3 to me.",
        "To me the hats are worth nothing!",
        "My ball is worth only 1 point.",
        "The hats are worth 4 for me.",
        "the books are worth two and the ball is worth 5 to me",
    ]
    ambiguous_or_true = [
        "A book is worth 1 to me.",
        "The books are worth 1 to me.",
        "The books are worth 2 to me.",
        "The hats are worth 6 to me.",
        "A ball is worth 9 to you.",
        "If a ball is worth 9 to you, it is worth 2 to me.",
        "A ball is worth 9.",
        "A ball is worth 9 times a book to me.",
        "A ball is worth 3.5 to me.",
        "A ball is worth a lot to me.",
        "A hat is worth 1 more than a book to me.",
    ]
    for text in (*false, *ambiguous_or_true):
        assert dialogue.misstates(text, COUNTS, (1, 2, 2)) == (text in false), text


@given(st.sampled_from(all_contexts()))
def test_true_value_statements_are_parsed_completely(context: Context) -> None:
    for values in context.values:
        text = say_values(values)
        assert not dialogue.misstates(text, context.counts, values)
        assert tuple(number for _, number in dialogue.stated_values(text)) == values
        assert not speaks_of_items(text)


def test_claims_must_match_agreement() -> None:
    talk = messages("I take the books.", "Deal.")
    kept = [proposal("player_1", 2, 0, 0), proposal("player_2", 0, 3, 1)]
    assert list(dialogue.inconsistencies(CONTEXT, [*talk, *kept])) == []
    broken = [proposal("player_1", 2, 1, 0), proposal("player_2", 0, 3, 1)]
    assert list(dialogue.inconsistencies(CONTEXT, [*talk, *broken])) == [
        (3, "player_1", "broken agreement")
    ]


def test_inconsistencies_include_turn_and_player() -> None:
    moves = messages("Hello.", "I take 2 balls. A hat is worth 9 to me.", "A hat is worth 2 to me.")
    assert list(dialogue.inconsistencies(CONTEXT, moves)) == [
        (2, "player_2", "impossible count"),
        (2, "player_2", "false value"),
    ]
