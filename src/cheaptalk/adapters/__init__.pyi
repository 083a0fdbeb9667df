from .chat import ChatEnvironment, Observed, chat_environment
from .context_protocol import mcp_server, serve_mcp
from .gambit import write_efg
from .hugging_face import push_dataset, write_dataset
from .inspect.logs import write_inspect_logs
from .inspect.tasks import inspect_task
from .openenv import openenv_app
from .openspiel import openspiel_game
from .pettingzoo import pettingzoo_env, pettingzoo_parallel_env
from .remote_agent import (
    RemoteAgent,
    RemoteAgentError,
    play_as_remote_agent,
)
from .telemetry import Telemetry, open_telemetry
from .trackers import TRACKERS, Tracker, TrackerCallback, tracker

__all__ = [
    "TRACKERS",
    "ChatEnvironment",
    "Observed",
    "RemoteAgent",
    "RemoteAgentError",
    "Telemetry",
    "Tracker",
    "TrackerCallback",
    "chat_environment",
    "inspect_task",
    "mcp_server",
    "open_telemetry",
    "openenv_app",
    "openspiel_game",
    "pettingzoo_env",
    "pettingzoo_parallel_env",
    "play_as_remote_agent",
    "push_dataset",
    "serve_mcp",
    "tracker",
    "write_dataset",
    "write_efg",
    "write_inspect_logs",
]
