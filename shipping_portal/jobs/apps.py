from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules

# Modules, in those of our apps that have them, whose functions are jobs, periodic tasks, erasers or
# retention terms.
MODULES = (
    "alerts.alerting",
    "quoting.awaiting_prices",
    "booking",
    "booking.bookings",
    "cancelling.cancels",
    "casework",
    "alerts.certificates",
    "checking",
    "reports.checking",
    "counting",
    "dead_letters",
    "login.entry_links",
    "erasing",
    "reports.fields",
    "finishing",
    "reports.folder",
    "scanning.projecting",
    "alerts.health",
    "labels.fetching",
    "labels.files",
    "mail.mailing",
    "charges.matching",
    "packing",
    "carrier.pausing",
    "polling",
    "scanning.reading",
    "receiving.webhook_health",
    "booking.recounting",
    "notices.reminders",
    "cancelling.replacing",
    "booking.resolving",
    "restoring.comparing",
    "retention",
    "login.sessions",
    "login.signing_up",
    "charges.week_sums",
    "webhooks.sending",
)


class JobsConfig(AppConfig):
    """Imports the modules that register jobs, periodic tasks, erasers and retention terms."""

    name = "shipping_portal.jobs"

    def ready(self) -> None:
        autodiscover_modules(*MODULES)
