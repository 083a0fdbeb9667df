from .inspect_logs import write_inspect_logs
from .inspect_tasks import inspect_task
from .openspiel import openspiel_game
from .pettingzoo import pettingzoo_env, pettingzoo_parallel_env

__all__ = [
    "inspect_task", "openspiel_game", "pettingzoo_env", "pettingzoo_parallel_env",
    "write_inspect_logs",
]  # fmt: skip
