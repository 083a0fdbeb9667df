"""Who can sit down: scripted strategies, language models, people, recorded answers."""

from cheaptalk.players.language_model.player import LanguageModel
from cheaptalk.players.language_model.preview import Preview, preview
from cheaptalk.players.language_model.prompts import LastTurns, Prompt, Refine
from cheaptalk.players.language_model.seat import ModelSeat
from cheaptalk.players.person import Person, since_answer
from cheaptalk.players.player import Answer, Call, Kind, PersonCall, Player, Thinking
from cheaptalk.players.recorded import Recorded
from cheaptalk.players.rosters import Roster, roster, roster_names
from cheaptalk.players.scripted import Scripted
from cheaptalk.players.seats import (
    SEAT_SPECS,
    Entry,
    ImportedSeat,
    PersonSeat,
    RecordedSeat,
    SeatSpec,
    StrategySeat,
    make_player,
)

__all__ = [
    "SEAT_SPECS", "Answer", "Call", "Entry", "ImportedSeat", "Kind", "LanguageModel", "LastTurns",
    "ModelSeat", "Person", "PersonCall", "PersonSeat", "Player", "Preview", "Prompt", "Recorded",
    "RecordedSeat", "Refine", "Roster", "Scripted", "SeatSpec", "StrategySeat", "Thinking",
    "make_player", "preview", "roster", "roster_names", "since_answer",
]  # fmt: skip
