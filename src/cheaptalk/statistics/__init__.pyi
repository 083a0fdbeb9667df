from .baselines import Baselines, prediction_baselines
from .corrections import benjamini_hochberg, holm
from .correlations import Correlation, correlation
from .errors import StatisticsError
from .fitting import ols, regressions
from .frames import match_frames
from .intervals import DEALS, STRATA, mean_intervals
from .permutation import PairwiseTests, PermutationTest, pairwise_tests, permutation_test
from .predicted import PredictedMeans, predicted_means
from .ranks import RankRanges, rank_ranges
from .reading import MeasureError
from .regression import Regression
from .resampling import Resampled, bootstrap
from .rounds import round_frames

__all__ = [
    "DEALS",
    "STRATA",
    "Baselines",
    "Correlation",
    "MeasureError",
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
    "match_frames",
    "mean_intervals",
    "ols",
    "pairwise_tests",
    "permutation_test",
    "predicted_means",
    "prediction_baselines",
    "rank_ranges",
    "regressions",
    "round_frames",
]
