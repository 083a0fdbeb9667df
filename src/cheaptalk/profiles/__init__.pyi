from .batteries import LATEST, SHIPPED, AskedAnew, Battery, Member, Part, Way, battery
from .comparisons import Change, changes, read_profile
from .gates import Decision, Gate, Verdict, decide, gate, junit, status
from .held import Held
from .page import profile_findings, write_profile
from .profiles import NothingPlayed, Number, Profile, detectable, profile_of
from .quantities import THEMES, Quantity

__all__ = [
    "LATEST",
    "SHIPPED",
    "THEMES",
    "AskedAnew",
    "Battery",
    "Change",
    "Decision",
    "Gate",
    "Held",
    "Member",
    "NothingPlayed",
    "Number",
    "Part",
    "Profile",
    "Quantity",
    "Verdict",
    "Way",
    "battery",
    "changes",
    "decide",
    "detectable",
    "gate",
    "junit",
    "profile_findings",
    "profile_of",
    "read_profile",
    "status",
    "write_profile",
]
