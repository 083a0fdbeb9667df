"""The cache of compiled functions."""

from tests.learning.conftest import compiled as compiled
