"""What allauth asks us: where people land, who may sign up with which address, where a request came from."""

from allauth.account.adapter import DefaultAccountAdapter


class PortalAccountAdapter(DefaultAccountAdapter):
    """allauth's rules with ours laid over them."""
