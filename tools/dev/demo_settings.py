"""The settings of a demo, in demo.env in its folder, where `./dev manage` and the next run find them."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

from tools.dev.environment import ROOT
from tools.dev.ports import HOST
from tools.dev.sandboxes import Sandbox
from tools.dev.servers import write_private

DEMO_FOLDER = ROOT / ".run"  # the demo: database, the sandbox carrier's ledger, mail, logs, settings
SECOND = "TWO"  # the name of a second account in the settings
PREFIXES = ("CARRIER", f"CARRIER_{SECOND}")

Env = dict[str, str]


def new_settings(folder: Path, *, web: int, carriers: Sequence[tuple[Sandbox, int]], redis_url: str) -> Env:
    """Return the demo's settings: the secrets of the last run, the ports and broker of this one.

    `carriers` are the sandboxes with their ports: one, or a default account's and a second one's.
    """
    last = read_settings(folder)
    accounts: Env = {}
    for prefix, (sandbox, port) in zip(PREFIXES, carriers, strict=False):
        contract = ["requests_per_second = 20.0", "tracking_per_second = 20.0"]  # the sandbox carriers allow both
        if not sandbox.client:
            contract += ["replays = true", 'link = "signed"', f'link_page = "http://{HOST}:{port}/t/"']
            contract.append(f'label_hosts = "{files_host(f"http://{HOST}:{port}")}"')
        account = sandbox.account_settings(port)
        account["KEY"] = last.get(f"{prefix}_KEY", secrets.token_urlsafe(24))
        account["WEBHOOK_KEY"] = last.get(f"{prefix}_WEBHOOK_KEY", secrets.token_urlsafe(24)) if sandbox.signs else ""
        account["LINK_KEY"] = last.get(f"{prefix}_LINK_KEY", secrets.token_urlsafe(48))
        name = "contract.toml" if prefix == PREFIXES[0] else "second-contract.toml"
        account["CONTRACT"] = str(write_private(folder / name, contract))
        accounts |= {f"{prefix}_{name}": value for name, value in account.items()}
        hook = hook_setting(prefix)
        accounts[hook] = last.get(hook, f"carrier:{secrets.token_urlsafe(24)}")
    is_interface = not carriers[0][0].client and "CARRIER_BASE_URL" not in os.environ
    return {
        "DEMO": "1",
        "DEMO_BAR": "1" if is_interface else "0",
        "SECRET_KEY": last.get("SECRET_KEY", secrets.token_urlsafe(48)),
        "DATABASE_URL": f"sqlite:///{quote(str(folder / 'portal.sqlite3'))}",
        # the one in an .env next to the demo belongs to an installation
        "MIGRATE_DATABASE_URL": "",
        "REDIS_URL": redis_url,
        "SITE_URL": f"http://{HOST}:{web}",
        "EMAIL_URL": f"filemail:///{quote(str(folder / 'mail'))}",
        "CARRIER_CONTACT": "operator@portal.example",
        **accounts,
        "POLL_SECONDS": "3600",  # a sandbox carrier sends each scan
        # Accounts in an .env next to the demo aren't accounts of the sandbox carrier.
        "SECOND_CARRIER": SECOND if len(carriers) > 1 else "",
        "OLDER_CARRIERS": "",
    }


def files_host(base_url: str) -> str:
    """Return where a sandbox's label files are: as with a real carrier, not at the host whose calls it counts."""
    return f"localhost:{urlsplit(base_url).port}"


def hook_setting(prefix: str) -> str:
    """Return the name of the setting with an account's webhook secrets."""
    return "WEBHOOK_SECRETS" if prefix == PREFIXES[0] else f"{prefix}_WEBHOOK_SECRETS"


def write_settings(folder: Path, settings: Env) -> None:
    write_private(folder / "demo.env.new", [f"{name}={value}" for name, value in settings.items()])
    (folder / "demo.env.new").replace(folder / "demo.env")


def read_settings(folder: Path) -> Env:
    """Return the settings of the demo that last ran in a folder, or none."""
    file = folder / "demo.env"
    return dict(line.split("=", 1) for line in file.read_text().splitlines()) if file.exists() else {}


def with_given_carrier(settings: Env) -> Env:
    """Replace the sandbox carrier by the one that the environment names, if any."""
    ours = [name for name in settings if name.startswith(("CARRIER_", "OLDER_", "SECOND_", "WEBHOOK_"))]
    return settings | {name: os.environ[name] for name in ours if name in os.environ}
