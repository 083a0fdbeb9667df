"""Language statistics that several games share: words, vocabulary and entropy."""

import math
import re
from collections import Counter
from collections.abc import Iterable

WORD = re.compile("[^\\W_]+(?:['\u2019][^\\W_]+)*")
"""A word or a number; Python's and Rust's regular expressions match it identically."""


def words(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case, without punctuation.

    >>> words("I'd like 2 hats, please!")
    ["i'd", 'like', '2', 'hats', 'please']
    """
    return WORD.findall(text.lower())


def vocabulary(texts: Iterable[str]) -> int:
    """Return the number of different words in texts (Liao, Tomlin and Klein 2024, appendix E.3).

    >>> vocabulary(["Deal?", "No deal."])
    2
    """
    return len({word for text in texts for word in words(text)})


def ngram_entropy(texts: Iterable[str], n: int) -> float | None:
    """Return the entropy of texts' n-grams in bits; None if no text has ``n`` words.

    H = - sum over g of p(g) log2 p(g), where p(g) is the share of n-gram g among all sequences of n
    words within a text (Liao, Tomlin and Klein 2024, figure 10). Entropy grows with the number of
    n-grams, so compare equal numbers of texts.

    >>> ngram_entropy(["no deal", "my deal"], 1)
    1.5
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        tokens = words(text)
        counts.update(zip(*(tokens[start:] for start in range(n)), strict=False))
    total = counts.total()
    if total == 0:
        return None
    return -math.fsum(count / total * math.log2(count / total) for count in counts.values()) + 0.0
