"""The command line with little patience for servers that want to be left alone for long."""

from cheaptalk.cli import main
from cheaptalk.models import flow_control as flow

if __name__ == "__main__":
    flow.LONGEST = 1.0
    main()
