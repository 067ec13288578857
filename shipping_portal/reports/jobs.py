"""The module of reports whose functions are a job and a chore."""

from shipping_portal.reports import day_figures

__all__ = ["day_figures"]
