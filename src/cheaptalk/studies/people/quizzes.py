"""Quizzes: a question about a game that was played, on what the person was told there."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from cheaptalk.rules import Event, Game
from cheaptalk.rules.chance import Stream
from cheaptalk.rules.registry import Registry, is_function
from cheaptalk.studies.people.items import Item

MakeQuiz: TypeAlias = Callable[[Game, str, Sequence[Event], Stream], Item]
"""Makes the question for who sat in a place, of what they were told, its choices in an order drawn
by luck."""

QUIZZES: Registry[MakeQuiz] = Registry("quiz", "cheaptalk.quizzes", is_function)
"""The quizzes, by the game that they are about."""
