from .codec import Codec, Illegal, JsonCodec
from .json_objects import Unreadable
from .quotes import disarmed, quoted
from .tagged import TaggedCodec
from .templates import CODECS, Style, StyleError, block_name, style, style_in
from .writing import WRITINGS, dollars, number, percent

__all__ = [
    "CODECS",
    "WRITINGS",
    "Codec",
    "Illegal",
    "JsonCodec",
    "Style",
    "StyleError",
    "TaggedCodec",
    "Unreadable",
    "block_name",
    "disarmed",
    "dollars",
    "number",
    "percent",
    "quoted",
    "style",
    "style_in",
]
