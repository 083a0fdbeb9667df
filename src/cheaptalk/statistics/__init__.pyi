from .baselines import Baselines, prediction_baselines
from .corrections import benjamini_hochberg, holm
from .correlations import Correlation, correlation
from .errors import StatisticsError
from .intervals import DEALS, STRATA, mean_intervals
from .permutation import PairwiseTests, PermutationTest, pairwise_tests, permutation_test
from .predicted import PredictedMeans, predicted_means
from .ranks import RankRanges, rank_ranges
from .regression import Regression, ols, regressions
from .resampling import Resampled, bootstrap

__all__ = [
    "DEALS",
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
