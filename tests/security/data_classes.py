"""What every column holds. Keys, dates, numbers, yes or no and fixed choices are technical; any other column is named.

A new column that may hold a person's words, bytes or money fails the test until it is named here.
"""

from dataclasses import dataclass

from django.apps import apps
from django.conf import settings
from django.db import models

PLAIN = (
    models.AutoField, models.ForeignKey, models.DateTimeField, models.DateField, models.BooleanField, models.UUIDField,
    models.IntegerField, models.FloatField,
)  # fmt: skip
OURS = ("jobs", "accounts", "orders", "tracking", "billing", "importing", "exporting", "reports", "staff")


@dataclass(frozen=True)
class Held:
    """Personal data or secrets of one model: which columns, why, who sees them, until when, and what stays then."""

    columns: str
    why: str
    seen_by: str
    until: str
    stays: str


def _days(name: str, since: str) -> str:
    return f"`{name}` ({getattr(settings, name)} days) {since}"


RECEIVER = _days("RECEIVER_DAYS", "after it was last owed to the carrier, once settled")
BODY = "length and SHA-256"
PERSONAL: dict[str, Held] = {
    "accounts.User": Held("email name", "log in, and say who did what", "the team, operators", "erased, or 30 days "
        "after the account was closed", "the key: “A former member”"),
    "account.EmailAddress": Held("email", "log in", "themselves", "with the person", "nothing"),
    "accounts.Sender": Held("name suspension_text suspension_note", "who ships", "the team, operators",
        _days("CLOSED_ACCOUNT_DAYS", "after closing"), "number, dates, limits"),
    "accounts.PickupAddress": Held("name company email phone line1 line2 suburb state postcode instructions",
        "where drivers come, whom the carrier writes to", "the team, operators", "the sender deletes it, or closes",
        "nothing"),
    "accounts.Receiver": Held("name company email phone line1 line2 suburb state postcode country instructions group "
        "fingerprint", "address book", "owners, shippers", _days("ADDRESS_BOOK_DAYS", "after its last use"), "nothing"),
    "accounts.ReceiverKey": Held("key", "search in the address book", "nobody", "with its entry", "nothing"),
    "accounts.ParcelSize": Held("name description", "what is usually sent", "the team", "with the account", "nothing"),
    "accounts.Invitation": Held("email", "bring somebody into the team", "owners",
        _days("INVITATION_DAYS", "after it ended"), "nothing"),
    "accounts.Notification": Held("line", "e-mails about parcels, with initials", "its reader",
        _days("NOTIFICATION_DAYS", "after it happened"), "which event, when"),
    "orders.Order": Held("receiver_name receiver_company receiver_email receiver_phone receiver_line1 receiver_line2 "
        "receiver_suburb receiver_postcode receiver_instructions pickup description contents search note problem",
        "deliver, trace, prove", "the team by role; operators masked, revealed for a reason",
        f"{RECEIVER}; `pickup` with its person or the account",
        "amounts, references, dates, measures, state, country"),
    "orders.Quote": Held("details", "prices of one parcel", "owners, shippers",
        _days("QUOTE_DAYS", "after it was made"), "nothing"),
    "orders.Draft": Held("values", "a form left half typed", "owners, shippers", "30 days after the last change",
        "nothing"),
    "orders.BookingAttempt": Held("body response error", "proof of what was sent and answered", "operators, masked",
        "with the receiver", BODY),
    "orders.CancelAttempt": Held("why response answer", "proof of a cancellation", "operators",
        "with the receiver", BODY),
    "orders.OrderChange": Held("reason", "why an order moved", "operators; refusals the team", "with the receiver",
        "old and new status, when, by whom"),
    "orders.Replacement": Held("problem", "why nothing was booked instead", "the team",
        "with the receiver", "its order"),
    "orders.Label": Held("problem", "why there is no label", "the team", "with the receiver", "length and SHA-256"),
    "orders.LabelBytes": Held("content", "the carrier's label", "owners, shippers",
        _days("LABEL_RETENTION_DAYS", "after the story ended or fell silent"), "length and SHA-256 (`orders.Label`)"),
    "orders.SavedView": Held("name query", "a filter of the list", "its maker, or the team", "one that names an erased "
        "receiver goes with it", "nothing"),
    "tracking.WebhookDelivery": Held("body", "proof of what the carrier told", "operators, masked",
        _days("WEBHOOK_DAYS", "after it came"), BODY),
    "tracking.TrackingEvent": Held("raw description suburb postcode", "where the parcel was", "the team, operators",
        f"{_days('WEBHOOK_DAYS', 'the bytes')}; the words with the receiver", f"word, time, state, country; {BODY}"),
    "tracking.Watch": Held("name", "one's own name for a parcel", "the team", "with the receiver", "nothing"),
    "billing.Dispute": Held("text answer", "a question about a charge", "owner, bookkeeper, operators",
        "with the receiver", "amounts, measures, who answered"),
    "billing.DisputePhoto": Held("content", "what a parcel really measures", "owner, bookkeeper, operators",
        "with the receiver, or the account", "nothing"),
    "importing.Import": Held("file_name constants", "what was imported", "owners, shippers",
        _days("IMPORT_DAYS", "after the last booking from it"), "nothing"),
    "importing.ImportRow": Held("cells corrected problems near", "parcels as typed", "owners, shippers",
        "with the file; with the receiver", "nothing"),
    "importing.ColumnMapping": Held("constants", "columns of the next file", "owners, shippers",
        "with the account", "nothing"),
    "staff.Note": Held("text", "what operators tell each other of a case", "operators",
        "with the receiver, or the account", "who wrote it, when"),
    "staff.SenderMail": Held("text", "e-mails of operators to a sender", "operators, its reader",
        "with the receiver, or its reader", "what about, who, when"),
    "exporting.ExportPart": Held("content", "files to take away", "owners", "7 days after they were packed", "nothing"),
    "reports.DayFigures": Held("figures late", "what a day came to, by the names of saved sizes", "owner, bookkeeper",
        "with the account", "nothing"),
}  # fmt: skip
SECRETS: dict[str, Held] = {
    "accounts.User": Held("password", "Argon2 hash", "nobody", "with the person", "nothing"),
    "accounts.Session": Held("session_key session_data", "a log-in, by its digest", "nobody", "12 hours to 30 days",
        "nothing"),
    "accounts.Invitation": Held("token_hash", "hash of a link", "nobody", "with the invitation", "nothing"),
    "orders.Label": Held("address", "where a label is fetched", "nobody", "once fetched", "nothing"),
    "mfa.Authenticator": Held("data", "second factor, encrypted", "nobody", "with the person", "nothing"),
    "account.EmailConfirmation": Held("key", "not used: confirmations are signed links", "nobody", "–", "–"),
}  # fmt: skip
MONEY = """accounts.Sender.money_a_day unbilled_limit own_money_a_day spent_today unbilled spent_in_all
orders.DailySpend.spent orders.Quote.products orders.Order.cover_amount price currency breakdown charged_price
unagreed_price unagreed_currency reserved unbilled billing.BillingReport.stated tally problems
billing.ReportFile.content billing.Charge.word stated amount currency declared_kg declared_m3 measured_kg measured_m3
reason reference customer_reference key billing.WeekSum.amount currency billing.Dispute.facts"""
TECHNICAL = """jobs.DeadLetter.job last_error accounts.Audit.action subject reason request_id accounts.Sender.zone
accounts.ParcelSize.weight weight_units length width height dimension_units accounts.LocalityList.country source sha256
accounts.Locality.country suburb state postcode normalised accounts.LocalityAlias.word stands_for
accounts.NotificationChoice.kind when accounts.Notification.last_error kind batch_key dedupe_key path
accounts.ApprovalRequest.last_error orders.CarrierAccount.fingerprint name stopped_reason fault pause_text
quotes_pause_text orders.CarrierLine.name had orders.CarrierCall.operation method path outcome orders.Quote.inputs_hash
orders.Order.last_error receiver_state receiver_country weight_kg length_cm width_cm height_cm entered contents_type
customer_reference product_code product_name first_mile plan carrier_order_id carrier_reference public_tracking_url
request_id form_hash orders.BookingAttempt.body_sha256 seen_reference orders.OrderChange.old
orders.Label.last_error sha256 orders.DatabaseMark.system_identifier timeline stamp orders.PriceWait.last_error
orders.SavedView.slug orders.Replacement.last_error product_code tracking.Parcel.last_error reference subscription_text
tracking.Poll.last_error tracking.WebhookDelivery.last_error sha256 polled_for reason reference
tracking.WebhookTally.reason
tracking.TrackingEvent.fingerprint event_type state country set_aside tracking.EventWord.word spellings
tracking.LastTime.name billing.BillingProfile.columns total_word billing.ChargeWord.word
billing.DisputePhoto.kind sha256
billing.BillingReport.last_error name sha256 profile importing.Import.sha256 encoding delimiter header filled
fingerprint columns notes hold importing.ImportRow.last_error reference product_code importing.ColumnMapping.fingerprint
columns exporting.Export.last_error problem sha256 staff.SenderMail.last_error
staff.Alert.name title url staff.AlertMessage.last_error content staff.DeskView.list name query
reports.Counting.last_error zone"""


def _named(words: str) -> dict[str, set[str]]:
    """Read `app.Model.column column …` into columns by model."""
    found: dict[str, set[str]] = {}
    model = ""
    for word in words.split():
        if word.count(".") == 2:
            model, _, word = word.rpartition(".")
        found.setdefault(model, set()).add(word)
    return found


def classes() -> dict[str, dict[str, set[str]]]:
    """The named columns, by class and model."""
    held = {"personal": PERSONAL, "secret": SECRETS}
    by_model = {name: {model: set(one.columns.split()) for model, one in table.items()} for name, table in held.items()}
    return by_model | {"money": _named(MONEY), "technical": _named(TECHNICAL)}


def to_be_named() -> dict[str, set[str]]:
    """Every column of every model that may hold words, bytes or money, by model; of libraries, those named above."""
    found: dict[str, set[str]] = {}
    for model in apps.get_models():
        label = model._meta.label
        if model._meta.app_label in OURS or label in {*PERSONAL, *SECRETS}:
            found[label] = {
                field.name for field in model._meta.concrete_fields if not (isinstance(field, PLAIN) or field.choices)
            }
    return {label: columns for label, columns in found.items() if columns}
