"""Key-value cache of a batch whose rows can join and leave while tokens are generated.

Appending a token does not copy the cache, because it has spare columns. All rows end in the same
column, so rows of different lengths start in different columns, and a row that joins is written
into the columns before the next token.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

SPARE = 64
"""Free columns, in tokens, of a new or rearranged cache."""


class RowCache:
    """The keys and values of a batch.

    Attributes:
        states: keys and values, with the shape [layers, 2, rows, heads, columns, width].
        end: the column of the next token.
        span: the number of processed columns that are used, the length of the longest row.
    """

    def __init__(self, states: Any, end: int, span: int) -> None:
        self.states = states
        self.end = end
        self.span = span

    def view(self) -> Any:
        """Return the cache in transformers' form, for one pass of the model."""
        layers = [row_layer()(self, layer) for layer in range(self.states.shape[0])]
        return import_module("transformers.cache_utils").Cache(layers=layers)

    @classmethod
    def empty(cls, token: Any, rows: int, span: int, columns: int) -> "RowCache":
        """Return a cache of zeros in which all rows have ``span`` processed columns.

        Args:
            token: the state of one token, with the shape [layers, 2, heads, 1, width].
            rows: the number of rows.
            span: the number of processed columns.
            columns: the number of further columns.
        """
        layers, two, heads, _, width = token.shape
        # zeros, because masked columns are multiplied by zero weights
        shape = (layers, two, rows, heads, span + columns, width)
        return cls(token.new_zeros(shape), span, span)

    def append(self, layer: int, keys: Any, values: Any) -> tuple[Any, Any]:
        """Write the next tokens of a layer; return the layer's keys and values up to them."""
        end = self.end + keys.shape[-2]
        states = self.states[layer]
        states[0, ..., self.end : end, :] = keys
        states[1, ..., self.end : end, :] = values
        used = states[..., self.end - self.span : end, :]
        return used[0], used[1]

    def advance(self, tokens: int) -> None:
        """Count tokens that all layers have appended."""
        self.end += tokens
        self.span += tokens

    def row(self, row: int, length: int) -> Any:
        """Return a view of a row's state, with the shape [layers, 2, heads, length, width]."""
        return self.states[:, :, row, :, self.end - length : self.end]

    def write(self, row: int, state: Any) -> None:
        """Replace a row by a state of at most ``end`` tokens."""
        self.states[:, :, row, :, self.end - state.shape[-2] : self.end] = state

    def arrange(self, rows: Sequence[int | None], span: int) -> None:
        """Keep these rows in this order; None adds an empty row.

        Args:
            rows: the previous numbers of the rows.
            span: the number of processed columns from now on.
        """
        token = self.states[:, :, 0, :, :1]
        arranged = RowCache.empty(token, len(rows), span, SPARE).states
        kept = min(span, self.span)
        for row, previous in enumerate(rows):
            if previous is not None:
                arranged[:, :, row, :, span - kept : span] = self.row(previous, kept)
        self.states, self.end, self.span = arranged, span, span

    @property
    def full(self) -> bool:
        """Whether there is no free column for the next token."""
        return bool(self.end == self.states.shape[-2])


@cache
def row_layer() -> type[Any]:
    """Return the class of a layer of :class:`RowCache` for transformers."""
    base: type[Any] = import_module("transformers.cache_utils").DynamicLayer

    class RowLayer(base):  # type: ignore[misc] # known at run time
        """A layer, whose keys and values are those of its cache."""

        def __init__(self, rows: RowCache, layer: int) -> None:
            super().__init__()
            self.rows, self.layer = rows, layer
            self.is_initialized = True

        def update(self, keys: Any, values: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
            """Append the keys and values of new tokens, and return all keys and values."""
            return self.rows.append(self.layer, keys, values)

        def get_seq_length(self) -> int:
            """Return the number of processed columns."""
            return self.rows.span

    return RowLayer
