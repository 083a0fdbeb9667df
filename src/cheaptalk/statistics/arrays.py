"""Arrays as statistics compute with them."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
