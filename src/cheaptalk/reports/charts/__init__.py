"""Charts: what they show, as plain data, and their drawing as SVG."""
