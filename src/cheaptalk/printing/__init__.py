"""Results as text, HTML, CSV and LaTeX, and progress in notebooks."""
