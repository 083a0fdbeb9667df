"""Data frames of a study's matches, seats, rounds and participants. They require ``[analysis]``.

>>> study = ct.Study(name="s", games=[{"game": "bargaining"}], players={"fair": "equal_split"})
>>> _ = ct.run(study, "s.sqlite")
>>> ct.frames.read_participants("s.sqlite", "s").columns[:3]
['participant', 'study', 'cohort']
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
