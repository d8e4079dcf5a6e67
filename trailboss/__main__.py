"""`python -m trailboss` is the `trailboss` command."""

import sys

from trailboss.cli import main

if __name__ == "__main__":
    sys.exit(main())
