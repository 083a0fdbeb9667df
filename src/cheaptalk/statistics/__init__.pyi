from .baselines import Baselines, prediction_baselines
from .columns import StatisticsError
from .correlations import Correlation, correlation
from .intervals import INSTANCES, STRATA, mean_intervals
from .permutation import (
    PairwiseTests,
    PermutationTest,
    benjamini_hochberg,
    holm,
    pairwise_tests,
    permutation_test,
)
from .ranks import RankRanges, rank_ranges
from .regression import PredictedMeans, Regression, ols, predicted_means, regressions
from .resampling import Resampled, bootstrap

__all__ = [
    "INSTANCES",
    "STRATA",
    "Baselines",
    "Correlation",
    "PairwiseTests",
    "PermutationTest",
    "PredictedMeans",
    "RankRanges",
    "Regression",
    "Resampled",
    "StatisticsError",
    "benjamini_hochberg",
    "bootstrap",
    "correlation",
    "holm",
    "mean_intervals",
    "ols",
    "pairwise_tests",
    "permutation_test",
    "predicted_means",
    "prediction_baselines",
    "rank_ranges",
    "regressions",
]
