"""The settings of a demo, in the file demo.env of its folder: by it `./dev manage` and the next run find the demo."""

import os
import secrets
from pathlib import Path
from urllib.parse import quote

from tools.dev.environment import ROOT
from tools.dev.ports import HOST
from tools.dev.servers import write_private

DEMO_FOLDER = ROOT / ".run"  # the demo: database, the sandbox carrier's ledger, mail, logs, settings

Env = dict[str, str]


def new_settings(folder: Path, *, web: int, carrier: int, redis_url: str) -> Env:
    """Return the demo's settings: the secrets of the last run, the ports and broker of this one."""
    last = read_settings(folder)
    contract = ["replays = true", 'link = "signed"', f'link_page = "http://{HOST}:{carrier}/t/"']
    contract += ["requests_per_second = 20.0", "tracking_per_second = 20.0"]  # the sandbox carrier allows both
    return {
        "DEMO": "1",
        "DEMO_BAR": "1" if "CARRIER_BASE_URL" not in os.environ else "0",
        "SECRET_KEY": last.get("SECRET_KEY", secrets.token_urlsafe(48)),
        "DATABASE_URL": f"sqlite:///{quote(str(folder / 'portal.sqlite3'))}",
        "MIGRATE_DATABASE_URL": "",  # that of an .env beside the demo is its installation's
        "REDIS_URL": redis_url,
        "SITE_URL": f"http://{HOST}:{web}",
        "EMAIL_URL": f"filemail:///{quote(str(folder / 'mail'))}",
        "CARRIER_BASE_URL": f"http://{HOST}:{carrier}",
        "CARRIER_ACCOUNT": "demo-account",
        "CARRIER_KEY": last.get("CARRIER_KEY", secrets.token_urlsafe(24)),
        "CARRIER_PARTNER_ID": "demo-partner",
        "CARRIER_CONTACT": "operator@portal.example",
        "CARRIER_CONTRACT": str(write_private(folder / "contract.toml", contract)),
        "CARRIER_LINK_KEY": last.get("CARRIER_LINK_KEY", secrets.token_urlsafe(48)),
        "OLDER_CARRIERS": "",  # those of an .env beside the demo are no accounts of the sandbox carrier
        "WEBHOOK_SECRETS": last.get("WEBHOOK_SECRETS", f"carrier:{secrets.token_urlsafe(24)}"),
    }


def write_settings(folder: Path, settings: Env) -> None:
    write_private(folder / "demo.env.new", [f"{name}={value}" for name, value in settings.items()])
    (folder / "demo.env.new").replace(folder / "demo.env")


def read_settings(folder: Path) -> Env:
    """Return the settings of the demo that last ran in a folder, or none."""
    file = folder / "demo.env"
    return dict(line.split("=", 1) for line in file.read_text().splitlines()) if file.exists() else {}


def with_given_carrier(settings: Env) -> Env:
    """Replace the sandbox carrier by the one that the environment names, if it does."""
    ours = [name for name in settings if name.startswith(("CARRIER_", "OLDER_", "WEBHOOK_"))]
    return settings | {name: os.environ[name] for name in ours if name in os.environ}
