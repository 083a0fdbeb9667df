"""Training of language models: tokenised chats, pretraining, fine-tuning and self-play.

Loaded lazily; needs ``[tune]``.
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
