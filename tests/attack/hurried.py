"""The command line with a limit of one second on waits that servers request."""

from cheaptalk.cli import main
from cheaptalk.models import flow_control as flow

if __name__ == "__main__":
    flow.LONGEST = 1.0
    main()
