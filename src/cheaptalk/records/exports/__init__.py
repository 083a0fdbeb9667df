"""Exports of a study: tables for analysis, or whole records, with a codebook."""
