from .agent_server import AgentServer, agent_server_at
from .callables import Agent, answer_of
from .functions import Functions, as_remote_agents
from .protocol import RemoteAgents

__all__ = [
    "Agent",
    "AgentServer",
    "Functions",
    "RemoteAgents",
    "agent_server_at",
    "answer_of",
    "as_remote_agents",
]
