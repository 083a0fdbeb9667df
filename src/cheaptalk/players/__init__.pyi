from . import rosters as rosters
from . import seats as seats
from .language_model.player import LanguageModel
from .language_model.preview import MOCK_MODEL, Preview, messages, preview
from .language_model.seat import ModelSeat
from .language_model.treatments import LastTurns, Prompt, Refine
from .person import MEDIA, Person, PersonSeat, since_answer
from .protocol import Answer, Call, Kind, PersonCall, Player, Thinking
from .recorded import ImportedSeat, Recorded, RecordedSeat
from .rosters import Roster, roster, roster_names
from .seats import (
    SEATS,
    AskPerson,
    PlayerLike,
    Recording,
    RosterEntry,
    RosterForm,
    SeatSpec,
    Sources,
)
from .strategy import Scripted, StrategySeat

__all__ = [
    "MEDIA",
    "MOCK_MODEL",
    "SEATS",
    "Answer",
    "AskPerson",
    "Call",
    "ImportedSeat",
    "Kind",
    "LanguageModel",
    "LastTurns",
    "ModelSeat",
    "Person",
    "PersonCall",
    "PersonSeat",
    "Player",
    "PlayerLike",
    "Preview",
    "Prompt",
    "Recorded",
    "RecordedSeat",
    "Recording",
    "Refine",
    "Roster",
    "RosterEntry",
    "RosterForm",
    "Scripted",
    "SeatSpec",
    "Sources",
    "StrategySeat",
    "Thinking",
    "messages",
    "preview",
    "roster",
    "roster_names",
    "since_answer",
]
