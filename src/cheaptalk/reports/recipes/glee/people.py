"""What kind of player each label stands for: a person, a language model or a script."""

from collections.abc import Mapping

from cheaptalk.records.reading import specs_of
from cheaptalk.reports.recipes.evidence import Evidence

PERSON, MODEL, SCRIPT = "person", "model", "script"


def kind_of(spec: Mapping[str, object]) -> str:
    """What kind of player settings make.

    >>> kind_of({"imported": "glee", "person": True}), kind_of({"model": "openai/gpt-4o"})
    ('person', 'model')
    """
    return next((kind for key, kind in (("person", PERSON), ("model", MODEL)) if spec.get(key)),
                SCRIPT)  # fmt: skip


def kinds(evidence: Evidence) -> dict[str, str]:
    """The kind of each player by label."""
    found = specs_of(evidence.store, evidence.study)
    return {label: kind_of(specs[0]) for label, specs in found.items()}


def people(evidence: Evidence) -> frozenset[str]:
    """The labels of people."""
    return frozenset(label for label, kind in evidence.once(kinds).items() if kind == PERSON)
