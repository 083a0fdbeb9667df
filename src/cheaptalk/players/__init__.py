"""Who can sit down: scripted strategies, language models, people, recorded answers."""

from cheaptalk.players.imported import ImportedSeat
from cheaptalk.players.language_model.player import LanguageModel
from cheaptalk.players.language_model.preview import Preview, preview
from cheaptalk.players.language_model.seat import ModelSeat
from cheaptalk.players.language_model.treatments import LastTurns, Prompt, Refine
from cheaptalk.players.person import MEDIA, Person, PersonSeat, since_answer
from cheaptalk.players.protocol import Answer, Call, Kind, PersonCall, Player, Thinking
from cheaptalk.players.recorded import Recorded, RecordedSeat
from cheaptalk.players.rosters import Roster, roster, roster_names
from cheaptalk.players.seats import (
    SEATS,
    AskPerson,
    Entry,
    Recording,
    RosterForm,
    SeatSpec,
    Sources,
)
from cheaptalk.players.strategy import Scripted, StrategySeat

__all__ = [
    "MEDIA", "SEATS", "Answer", "AskPerson", "Call", "Entry", "ImportedSeat", "Kind",
    "LanguageModel", "LastTurns", "ModelSeat", "Person", "PersonCall", "PersonSeat", "Player",
    "Preview", "Prompt", "Recorded", "RecordedSeat", "Recording", "Refine", "Roster",
    "RosterForm", "Scripted", "SeatSpec", "Sources", "StrategySeat", "Thinking", "preview",
    "roster", "roster_names", "since_answer",
]  # fmt: skip
