from .codec import Codec, IllegalMove, JsonCodec
from .json_objects import Unparsable
from .tagged import TaggedCodec
from .templates import CODECS, Style, StyleError, block_name, style, style_in
from .writing import WRITINGS, dollars, escaped, number, percent, quoted

__all__ = [
    "CODECS",
    "WRITINGS",
    "Codec",
    "IllegalMove",
    "JsonCodec",
    "Style",
    "StyleError",
    "TaggedCodec",
    "Unparsable",
    "block_name",
    "dollars",
    "escaped",
    "number",
    "percent",
    "quoted",
    "style",
    "style_in",
]
