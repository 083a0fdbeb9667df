from .agent_server import AgentServer, agent_server_at
from .functions import Agent, Functions, RemoteAgents, answer_of, as_remote_agents

__all__ = [
    "Agent",
    "AgentServer",
    "Functions",
    "RemoteAgents",
    "agent_server_at",
    "answer_of",
    "as_remote_agents",
]
