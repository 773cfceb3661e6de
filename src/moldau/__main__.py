"""``python -m moldau`` is the ``moldau`` command."""

import sys

from moldau.cli.main import main

sys.exit(main())
