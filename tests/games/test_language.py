"""Language statistics."""

from cheaptalk.games.language import ngram_entropy, vocabulary, words


def test_words_are_lowercase_letters_and_digits() -> None:
    assert words("Don't! 2 Bücher,\nno_one's 3.5") == [
        "don't",
        "2",
        "bücher",
        "no",
        "one's",
        "3",
        "5",
    ]


def test_vocabulary_counts_each_word_once() -> None:
    assert vocabulary(["A hat, a ball.", "HAT"]) == 3
    assert vocabulary([]) == 0


def test_entropy_of_uniform_ngrams_is_log_of_their_number() -> None:
    assert ngram_entropy(["a b c d"], 1) == 2
    assert ngram_entropy(["a b c d e"], 2) == 2
    assert ngram_entropy(["a a a"], 2) == 0


def test_ngrams_do_not_span_texts() -> None:
    assert ngram_entropy(["a b", "b a"], 2) == 1
    assert ngram_entropy(["a", "b"], 2) is None
    assert ngram_entropy([], 1) is None
