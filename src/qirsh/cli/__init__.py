"""The command line: what operators and newcomers type."""

import sys

if not __debug__:  # Said before anything is loaded.
    sys.exit("qirsh: python -O and PYTHONOPTIMIZE are refused, because assertions guard money")
