from .openspiel import openspiel_game
from .pettingzoo import pettingzoo_env, pettingzoo_parallel_env

__all__ = ["openspiel_game", "pettingzoo_env", "pettingzoo_parallel_env"]
