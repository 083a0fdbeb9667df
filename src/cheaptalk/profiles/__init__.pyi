from .batteries import BUILT_IN, LATEST, Battery, Member, Part, PresentationPart, Way, battery
from .comparisons import Change, FindingChange, changes, finding_changes, read_profile
from .gates import Decision, Gate, Verdict, decide, gate, junit, status
from .metrics.definitions import THEMES, Quantity
from .page import Gated, profile_findings, write_profile
from .profiles import NoFinishedMatch, Number, Profile, detectable, entry_digest, profile_of
from .summaries import Summary, main_numbers, summary
from .weaknesses.examine import examine
from .weaknesses.weakness import Examination, Weakness

__all__ = ["BUILT_IN", "LATEST", "THEMES", "Battery", "Change", "Decision", "Examination"]
__all__ += ["FindingChange", "Gate", "Gated", "Member", "NoFinishedMatch", "Number", "Part"]
__all__ += ["PresentationPart", "Profile", "Quantity", "Summary", "Verdict", "Way", "Weakness"]
__all__ += ["battery", "changes", "decide", "detectable", "entry_digest", "examine"]
__all__ += ["finding_changes", "gate", "junit", "main_numbers", "profile_findings", "profile_of"]
__all__ += ["read_profile", "status", "summary", "write_profile"]
