from .inspect_logs import write_inspect_logs
from .inspect_tasks import inspect_task

__all__ = ["inspect_task", "write_inspect_logs"]
