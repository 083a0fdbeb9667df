from . import rosters as rosters
from . import seats as seats
from .code_digests import PlayerWarning, code_digest
from .language_model.player import LanguageModel
from .language_model.preview import MOCK_MODEL, Preview, messages, preview
from .language_model.seat import ModelSeat
from .language_model.treatments import LastTurns, Prompt, Refine
from .person import MEDIA, Person, PersonSeat, new_observations
from .protocol import Answer, Call, FunctionCall, Kind, PersonCall, Player, Thinking
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
    "FunctionCall",
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
    "PlayerWarning",
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
    "code_digest",
    "messages",
    "new_observations",
    "preview",
    "roster",
    "roster_names",
]
