"""How often tests of crashes kill something, and at which moments: by environment variables."""

import os
import random
from typing import Final

KILLS: Final = int(os.environ.get("KILLS", "3"))
SEED: Final = int(os.environ.get("KILL_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
# For messages of failed tests: how to repeat the run.
REPEAT: Final = f"KILLS={KILLS} KILL_SEED={SEED}"
