"""Who can sit down: scripted strategies, language models, people, recorded answers."""

from cheaptalk.players.language_model import LanguageModel
from cheaptalk.players.person import Person, since_answer
from cheaptalk.players.recorded import Recorded
from cheaptalk.players.scripted import Scripted
from cheaptalk.players.seats import (
    SEAT_SPECS,
    Entry,
    ImportedSeat,
    ModelSeat,
    PersonSeat,
    RecordedSeat,
    SeatSpec,
    StrategySeat,
    make_player,
)
from cheaptalk.players.thinking import Answer, Call, Kind, PersonCall, Player, Thinking

__all__ = [
    "SEAT_SPECS", "Answer", "Call", "Entry", "ImportedSeat", "Kind", "LanguageModel", "ModelSeat",
    "Person", "PersonCall", "PersonSeat", "Player", "Recorded", "RecordedSeat", "Scripted",
    "SeatSpec", "StrategySeat", "Thinking", "make_player", "since_answer",
]  # fmt: skip
