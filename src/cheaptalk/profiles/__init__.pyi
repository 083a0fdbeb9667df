from .batteries import BUILT_IN, LATEST, Battery, Member, Part, PresentationPart, Way, battery
from .comparisons import Change, FindingChange, changes, finding_changes, read_profile
from .gates import Decision, Gate, Verdict, decide, exit_status, gate, junit
from .metrics.definitions import Quantity
from .page import Gated, profile_findings, write_profile
from .profiles import NoFinishedMatch, Number, Profile, detectable_effect, entry_digest, profile_of
from .summaries import Summary, main_numbers, summary
from .weaknesses.examine import examine
from .weaknesses.weakness import Examination, Weakness

__all__ = ["BUILT_IN", "LATEST", "Battery", "Change", "Decision", "Examination", "FindingChange"]
__all__ += ["Gate", "Gated", "Member", "NoFinishedMatch", "Number", "Part", "PresentationPart"]
__all__ += ["Profile", "Quantity", "Summary", "Verdict", "Way", "Weakness", "battery", "changes"]
__all__ += ["decide", "detectable_effect", "entry_digest", "examine", "exit_status"]
__all__ += ["finding_changes", "gate", "junit", "main_numbers", "profile_findings", "profile_of"]
__all__ += ["read_profile", "summary", "write_profile"]
