"""Attacks on the program: faulting servers, kills, and hostile files, command lines and stores.

``python -m tests.attack --minutes 60`` attacks for an hour.
"""
