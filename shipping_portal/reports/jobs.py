"""The modules of reports whose functions are a job, a chore or an eraser."""

from shipping_portal.reports import counting, day_figures

__all__ = ["counting", "day_figures"]
