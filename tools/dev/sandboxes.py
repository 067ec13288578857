"""The sandbox carriers, and the settings of the portal's account at each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sandbox:
    """One sandbox carrier. `client` is the class that speaks to it, "" for the interface's own.

    `path` ends its address. `signs` says whether its webhooks are signed with a key that both sides have;
    `has_own_keys`, with one whose public half the portal is given.
    """

    name: str
    title: str
    module: str
    client: str = ""
    path: str = ""
    partner_id: str = "demo-partner"
    signs: bool = False
    has_own_keys: bool = False

    def account_settings(self, port: int) -> dict[str, str]:
        """Return the settings of an account there, without CARRIER_ and without its secrets."""
        return {
            "BASE_URL": f"http://127.0.0.1:{port}{self.path}",
            "ACCOUNT": "demo-account",
            "CLIENT": self.client,
            "PARTNER_ID": self.partner_id,
            "TITLE": self.title,
        }


INTERFACE = Sandbox("interface", "Sandbox carrier", "shipping_portal.sandbox")
EASYPOST = Sandbox(
    "easypost",
    "EasyPost",
    "shipping_portal.sandbox.easypost",
    "shipping_portal.carrier.easypost.EasyPost",
    partner_id="none",
    signs=True,
)
SHIPSTATION = Sandbox(
    "shipstation",
    "ShipStation",
    "shipping_portal.sandbox.shipstation",
    "shipping_portal.carrier.shipstation.ShipStation",
    path="/v1",
    partner_id="se-1001,se-1002,se-1003",
    has_own_keys=True,
)
CHOICES = {
    "interface": (INTERFACE,),
    "easypost": (EASYPOST,),
    "shipstation": (SHIPSTATION,),
    "both": (EASYPOST, SHIPSTATION),
}
