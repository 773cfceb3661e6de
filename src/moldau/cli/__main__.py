"""``python -m moldau.cli`` is the ``moldau`` command."""

import sys

from moldau.cli.main import main

sys.exit(main())
