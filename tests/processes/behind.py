"""Two web servers, a worker and a sweeper behind nginx, with people who have their own accounts."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests
from django.conf import settings

from tests.ports import free_port
from tests.processes.conftest import QUICK
from tests.processes.portal import ROOT, Portal, until_ready
from tests.processes.proxy import Proxy
from tests.processes.servers import Servers
from tests.sandbox_carrier import SandboxCarrier
from tools.campaign.browser import Browser, Noticed
from tools.campaign.people import Person
from tools.dev.ports import is_healthy

WEBS = ("web-a", "web-b")
DRAIN_SECONDS = 1.0


@dataclass
class Site:
    """The running processes and how people log in. Web processes have names."""

    portal: Portal
    proxy: Proxy
    carrier: SandboxCarrier
    ports: dict[str, int]
    servers: Servers
    people: list[Person] = dataclasses.field(default_factory=list)

    def browser(self, noticed: Noticed) -> Browser:
        browser = Browser(self.proxy.url, noticed)
        browser.session.verify = str(self.proxy.certificate.bundle)
        return browser

    def logged_in(self, person: Person, noticed: Noticed) -> Browser:
        browser = self.browser(noticed)
        browser.log_in(person.email, person.password)
        return browser

    def press_once(self, browser: Browser, path: str, form: dict[str, str]) -> requests.Response:
        """Return the response to one press on its own connection, without retrying."""
        with requests.Session() as session:
            session.trust_env = False
            session.cookies.update(browser.session.cookies)
            return session.post(
                self.proxy.url + path,
                data={**form, "csrfmiddlewaretoken": browser.csrf},
                headers={"Referer": self.proxy.url + path},
                verify=browser.session.verify,
                allow_redirects=False,
                timeout=60,
            )

    def start(self, web: str, *, version: Path = ROOT) -> None:
        """Start one web server of that version, as an installation does, and wait until it is ready."""
        bind, config = f"--bind=127.0.0.1:{self.ports[web]}", "python:shipping_portal.gunicorn_settings"
        self.portal.start(web, "-m", "gunicorn", "shipping_portal.wsgi", bind, "-c", config, version=version)
        until_ready(self.ports[web])

    def is_ready(self, web: str) -> bool:
        return bool(is_healthy(f"http://127.0.0.1:{self.ports[web]}/readyz"))


@contextmanager
def a_site(folder: Path, *, threads: int = 16, has_own_server: bool = False) -> Iterator[Site]:
    """Run a site with its own database and broker, perhaps a whole server, until the block ends."""
    ports = {web: free_port() for web in WEBS}
    proxy = Proxy(folder / "nginx", list(ports.values()))
    with Servers(folder) as servers, SandboxCarrier(folder / "carrier", key="canary-carrier-key", speed=10) as carrier:
        database = servers.postgres() if has_own_server else ""
        portal = Portal(folder / "portal", carrier.url, contract=QUICK, database=database)
        portal.env |= {
            "REDIS_URL": servers.valkey(),
            "TRUSTED_PROXY_COUNT": "1",
            "TIME_SCALE": "1",
            "WEB_THREADS": str(threads),
            "DRAIN_SECONDS": str(DRAIN_SECONDS),
        }
        with proxy, portal:
            site = Site(portal, proxy, carrier, ports, servers, [Person(*pair) for pair in portal.make_people()])
            for web in WEBS:
                site.start(web)
            secret = settings.WEBHOOK_SECRETS[0]
            carrier.listen_at(f"{proxy.url.replace('://', f'://{secret}@')}/webhooks/tracking/")
            yield site
