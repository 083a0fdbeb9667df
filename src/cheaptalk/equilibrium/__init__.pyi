from .analysis.analysis import Analysis, spread_text
from .analysis.estimation import (
    AnalysisOptions,
    SeatsOptions,
    analyse,
    analyse_bimatrix,
    analyse_payoffs,
    analyse_seats,
)
from .analysis.providers import Providers
from .analysis.two_seats import PAYOFF, SeatsAnalysis
from .empirical.bootstrap import BestResponses, Bootstrap, Spread, bootstrap_equilibrium, resample
from .empirical.empirical_games import EmpiricalBimatrix, EmpiricalGame
from .empirical.metrics import EquilibriumMetric
from .empirical.model_choice import ModelChoice, model_choice
from .empirical.next_cells import Designs, NextCells, compare_designs, propose_cells
from .empirical.ratings import BradleyTerry, Tally, bradley_terry, elo, mean_elo, tally
from .solvers.bimatrix import (
    BimatrixEquilibria,
    bimatrix_equilibria,
    lemke_howson,
    lemke_howson_mixtures,
)
from .solvers.payoff_files import PayoffFileError, PayoffTable, read_payoffs, write_payoffs
from .solvers.payoffs import EquilibriumError
from .solvers.profiles import Profile, profile, pure_equilibria
from .solvers.provider_game import ProviderGame, provider_game
from .solvers.rankings import (
    AlphaSweep,
    NashAverage,
    alpha_rank,
    alpha_rank_bimatrix,
    alpha_sweep,
    nash_average,
)
from .solvers.replicator import Replication, RestPoint, replicator_dynamics
from .solvers.solutions import Component, Equilibrium, SymmetricEquilibria, deviation_gains, regret
from .solvers.symmetric import mene_mixtures, symmetric_equilibria

__all__ = ["PAYOFF", "AlphaSweep", "Analysis", "AnalysisOptions", "BestResponses"]
__all__ += ["BimatrixEquilibria", "Bootstrap", "BradleyTerry", "Component", "Designs"]
__all__ += ["EmpiricalBimatrix", "EmpiricalGame", "Equilibrium", "EquilibriumError"]
__all__ += ["EquilibriumMetric", "ModelChoice", "NashAverage", "NextCells", "PayoffFileError"]
__all__ += ["PayoffTable", "Profile", "ProviderGame", "Providers", "Replication", "RestPoint"]
__all__ += ["SeatsAnalysis", "SeatsOptions", "Spread", "SymmetricEquilibria", "Tally", "alpha_rank"]
__all__ += ["alpha_rank_bimatrix", "alpha_sweep", "analyse", "analyse_bimatrix", "analyse_payoffs"]
__all__ += ["analyse_seats", "bimatrix_equilibria", "bootstrap_equilibrium", "bradley_terry"]
__all__ += ["compare_designs", "deviation_gains", "elo", "lemke_howson", "lemke_howson_mixtures"]
__all__ += ["mean_elo", "mene_mixtures", "model_choice", "nash_average", "profile", "propose_cells"]
__all__ += ["provider_game", "pure_equilibria", "read_payoffs", "regret", "replicator_dynamics"]
__all__ += ["resample", "spread_text", "symmetric_equilibria", "tally", "write_payoffs"]
