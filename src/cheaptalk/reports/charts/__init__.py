"""Charts as plain data, and their rendering as SVG."""
