"""Wrapper that runs a command and prints its peak memory in kB to standard error.

The figure is that of the largest process among the command and its children.
"""

import resource
import subprocess
import sys

code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
