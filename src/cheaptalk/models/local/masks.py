"""Token masks that restrict answers to JSON schemas, one schema for each row of a batch."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec

from cheaptalk.models.local.totals import TotalMatcher, has_total

SPACE = " ?"
"""Whitespace between the parts of an answer: a model must not fill its answer with blanks."""


class Schemas:
    """The compiled schemas of a model.

    Args:
        tokenizer: the model's tokenizer.
        vocabulary: the number of tokens for which the model computes scores.

    Raises:
        ValueError: the tokenizer is not supported.
    """

    def __init__(self, tokenizer: Any, vocabulary: int) -> None:
        self._library = import_module("llguidance")
        try:
            convert = import_module("llguidance.hf").from_tokenizer
            self._tokenizer = convert(tokenizer, n_vocab=vocabulary)
        except ValueError as error:
            raise ValueError(
                f"its tokenizer does not support schemas ({error}); set answers to text"
            ) from None
        self._decode = tokenizer.decode
        self._compiled: dict[bytes, Any] = {}

    def matcher(self, schema: Mapping[str, Any]) -> Any:
        """Return a new matcher, which computes masks for one answer.

        Raises:
            ValueError: the schema is invalid, or uses an unsupported keyword.
        """
        library = self._library.LLMatcher
        if has_total(schema):
            return TotalMatcher(
                dict(schema),
                lambda grammar: self._new(library.grammar_from_lark(grammar)),
                self._decode,
            )
        key = msgspec.json.encode(schema)
        if key not in self._compiled:
            grammar = library.grammar_from_json_schema(
                key.decode(), overrides={"whitespace_pattern": SPACE}
            )
            self._compiled[key] = self._new(grammar)
        return self._compiled[key].deep_copy()

    def _new(self, grammar: str) -> Any:
        matcher = self._library.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(f"unsupported JSON schema: {matcher.get_error()}")
        return matcher


def restricted(scores: Any, matchers: Mapping[int, Any]) -> Any:
    """Set the scores of tokens that violate a row's schema to minus infinity.

    Args:
        scores: the logits, with the shape [rows, vocabulary].
        matchers: the matchers by row; other rows are not restricted.
    """
    if not matchers:
        return scores
    torch, numpy = import_module("torch"), import_module("numpy")
    bits = b"".join(matcher.compute_bitmask() for matcher in matchers.values())
    packed = numpy.frombuffer(bits, numpy.uint8).reshape(len(matchers), -1)
    allowed = numpy.unpackbits(packed, axis=1, count=scores.shape[1], bitorder="little")
    banned = torch.from_numpy(allowed).to(scores.device) == 0
    rows = torch.tensor([*matchers], device=scores.device)
    return scores.index_copy(0, rows, scores[rows].masked_fill(banned, -torch.inf))
