"""Random stories of a state machine, the same ones each time."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def tell(machine: type[RuleBasedStateMachine], stories: int, steps: int) -> None:
    """Run this many stories of up to this many steps."""
    how = settings(
        max_examples=stories,
        stateful_step_count=steps,
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=how)
