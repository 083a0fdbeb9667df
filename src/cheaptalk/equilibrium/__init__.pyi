from .bimatrix import BimatrixEquilibria, bimatrix_equilibria, lemke_howson, lemke_howson_mixtures
from .bootstrap import BestResponses, Bootstrap, bootstrap_equilibrium
from .choosing import ModelChoice, model_choice
from .designs import Designs, compare_designs
from .drawing import resampled
from .files import read_payoffs, write_payoffs
from .games import EmpiricalBimatrix, EmpiricalGame
from .metrics import Metric, item_bargaining_metrics
from .next_cells import NextCells, propose_cells
from .payoffs import EquilibriumError
from .profiles import Profile, profile, pure_equilibria
from .providers import ProviderGame, provider_game
from .ranking import (
    AlphaSweep,
    NashAverage,
    alpha_rank,
    alpha_rank_bimatrix,
    alpha_sweep,
    nash_average,
)
from .ratings import BradleyTerry, bradley_terry, elo
from .replicator import Replication, RestPoint, replicator_dynamics
from .results import Component, Equilibrium, SymmetricEquilibria, deviation_gains, regret
from .symmetric import mene_mixtures, symmetric_equilibria
from .tables import PayoffFileError, PayoffTable
from .tallies import Tally, mean_elo, tally

__all__ = [
    "AlphaSweep",
    "BestResponses",
    "BimatrixEquilibria",
    "Bootstrap",
    "BradleyTerry",
    "Component",
    "Designs",
    "EmpiricalBimatrix",
    "EmpiricalGame",
    "Equilibrium",
    "EquilibriumError",
    "Metric",
    "ModelChoice",
    "NashAverage",
    "NextCells",
    "PayoffFileError",
    "PayoffTable",
    "Profile",
    "ProviderGame",
    "Replication",
    "RestPoint",
    "SymmetricEquilibria",
    "Tally",
    "alpha_rank",
    "alpha_rank_bimatrix",
    "alpha_sweep",
    "bimatrix_equilibria",
    "bootstrap_equilibrium",
    "bradley_terry",
    "compare_designs",
    "deviation_gains",
    "elo",
    "item_bargaining_metrics",
    "lemke_howson",
    "lemke_howson_mixtures",
    "mean_elo",
    "mene_mixtures",
    "model_choice",
    "nash_average",
    "profile",
    "propose_cells",
    "provider_game",
    "pure_equilibria",
    "read_payoffs",
    "regret",
    "replicator_dynamics",
    "resampled",
    "symmetric_equilibria",
    "tally",
    "write_payoffs",
]
