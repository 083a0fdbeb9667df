from . import template_files as template_files
from .codec import Codec, IllegalMove, JsonCodec
from .json_objects import Unparsable
from .slots import SHARED, Block, block_name, blocks
from .tagged import TaggedCodec
from .templates import CODECS, Style, StyleError, style, style_in
from .writing import dollars, escaped, number, percent, quoted

__all__ = [
    "CODECS",
    "SHARED",
    "Block",
    "Codec",
    "IllegalMove",
    "JsonCodec",
    "Style",
    "StyleError",
    "TaggedCodec",
    "Unparsable",
    "block_name",
    "blocks",
    "dollars",
    "escaped",
    "number",
    "percent",
    "quoted",
    "style",
    "style_in",
]
