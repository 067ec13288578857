"""Print what a start is doing, and how many seconds each step took."""

import time

_began_at = 0.0


def begin_step(what: str) -> None:
    """Print what begins now, after the seconds of the step before it."""
    global _began_at
    end_steps()
    _began_at = time.monotonic()
    print(f"{what} ...", end="", flush=True)


def end_steps() -> None:
    """Print how long the last step took."""
    global _began_at
    if _began_at:
        print(f" {time.monotonic() - _began_at:.1f} s", flush=True)
    _began_at = 0.0
