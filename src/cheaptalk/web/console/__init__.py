"""The researcher's console: pages from which studies are made and run."""
