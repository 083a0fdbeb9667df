"""Exports of a study: tables for analysis or complete records, with a codebook."""
