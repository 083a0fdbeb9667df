"""Exports of studies: tables, wide tables of participants, and their codebook."""
