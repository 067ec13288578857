"""What every column contains. Keys, dates, numbers, booleans and fixed choices are technical. Every other column is
listed.

A new column that may contain text, bytes or money fails the test until it is listed here or, if it is personal, in
shipping_portal/jobs/personal_data.py.
"""

from django.apps import apps
from django.db import models

from shipping_portal.jobs import personal_data
from shipping_portal.jobs.personal_data import PersonalData

PLAIN = (
    models.AutoField, models.ForeignKey, models.DateTimeField, models.DateField, models.BooleanField, models.UUIDField,
    models.IntegerField, models.FloatField, models.GeneratedField,
)  # fmt: skip
OURS = ("jobs", "accounts", "orders", "tracking", "billing", "importing", "exporting", "reports", "staff")


PERSONAL = {held.model: held for held in personal_data.HELD}
SECRETS = {
    held.model: held
    for held in (
        PersonalData("accounts.User", "password", "Argon2 hash", "nobody", "with the person"),
        PersonalData(
            "accounts.Session", "session_key session_data", "a login, by its digest", "nobody", "12 hours to 30 days"
        ),
        PersonalData("accounts.Invitation", "token_hash", "hash of a link", "nobody", "with the invitation"),
        PersonalData("accounts.EntryLink", "token_hash", "hash of a link", "nobody", "a day after its minute"),
        PersonalData("tracking.ReceiverPage", "token_hash nonce", "hash of an address", "nobody", "with the page"),
        PersonalData("orders.ReturnLink", "token_hash", "hash of a link", "nobody", "14 days after it ended"),
        PersonalData("accounts.ApiToken", "token_hash", "hash of a bearer token", "nobody", "30 days after it ended"),
        PersonalData(
            "accounts.WebhookEndpoint", "secret old_secret", "signs events, encrypted", "nobody", "with the endpoint"
        ),
        PersonalData("orders.Label", "address", "where a label is fetched", "nobody", "once fetched"),
        PersonalData("mfa.Authenticator", "data", "second factor, encrypted", "nobody", "with the person"),
        PersonalData(
            "account.EmailConfirmation", "key", "not used: confirmations are signed links", "nobody", "–", "–"
        ),
    )
}
MONEY = """accounts.Sender.money_a_day unbilled_limit own_money_a_day spent_today unbilled spent_in_all
orders.DailySpend.spent refused_price orders.Quote.products orders.Order.cover_amount price currency breakdown
charged_price
unagreed_price unagreed_currency reserved unbilled billing.BillingReport.stated tally problems
billing.ReportFile.content billing.Charge.word stated amount currency declared_kg declared_m3 measured_kg measured_m3
reason reference customer_reference key billing.WeekSum.amount currency billing.Dispute.facts"""
TECHNICAL = """jobs.DeadLetter.job last_error accounts.Audit.action subject reason request_id accounts.Sender.zone default_carrier
accounts.ParcelSize.weight weight_units length width height dimension_units accounts.LocalityList.country source sha256
accounts.Locality.country suburb state postcode normalised accounts.LocalityAlias.word stands_for
accounts.User.list_columns accounts.NotificationChoice.kind when accounts.Notification.last_error kind batch_key dedupe_key path
accounts.ApiToken.scopes start accounts.WebhookEndpoint.kinds off_why accounts.WebhookEvent.last_error type about
accounts.ApprovalRequest.last_error orders.CarrierAccount.fingerprint name stopped_reason fault pause_text
quotes_pause_text orders.CarrierLine.name had orders.CarrierCall.operation method path outcome orders.Quote.inputs_hash
question_hash
orders.Order.last_error receiver_state receiver_country weight_kg length_cm width_cm height_cm entered contents_type
customer_reference product_code product_name first_mile plan carrier_order_id carrier_reference public_tracking_url
request_id form_hash orders.BookingAttempt.body_sha256 seen_reference orders.OrderChange.old
orders.Label.last_error sha256 orders.LabelBytes.address orders.BucketFile.last_error key orders.DatabaseMark.system_identifier timeline stamp orders.PriceWait.last_error
orders.PrintJob.size orders.SavedView.slug orders.Replacement.last_error product_code tracking.Parcel.last_error reference subscription_text
tracking.Poll.last_error reply_sha256 tracking.WebhookDelivery.last_error sha256 polled_for reason reference
tracking.WebhookTally.reason
tracking.TrackingEvent.fingerprint event_type state country set_aside tracking.EventWord.word spellings
tracking.LastTime.name billing.BillingProfile.columns total_word billing.ChargeWord.word
billing.DisputePhoto.kind sha256
billing.BillingReport.last_error name sha256 profile importing.Import.sha256 encoding delimiter header filled notes
fingerprint columns hold importing.ImportRow.last_error reference product_code importing.ColumnMapping.fingerprint
columns exporting.Export.last_error problem sha256 staff.SenderMail.last_error
staff.Alert.name title url staff.Certificate.server staff.AlertMessage.last_error content staff.DeskView.list name query
reports.Counting.last_error zone accounts.EntryLink.path socialaccount.SocialAccount.provider extra_data accounts.Sender.external_id"""


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
    """Return the listed columns by class and model."""
    held = {"personal": PERSONAL, "secret": SECRETS}
    by_model = {name: {model: set(one.columns.split()) for model, one in table.items()} for name, table in held.items()}
    return by_model | {"money": _named(MONEY), "technical": _named(TECHNICAL)}


def to_be_named() -> dict[str, set[str]]:
    """Return every column that may hold words, bytes or money, by model. For libraries, only the models named above."""
    found: dict[str, set[str]] = {}
    for model in apps.get_models():
        label = model._meta.label
        if model._meta.app_label in OURS or label in {*PERSONAL, *SECRETS}:
            found[label] = {
                field.name for field in model._meta.concrete_fields if not (isinstance(field, PLAIN) or field.choices)
            }
    return {label: columns for label, columns in found.items() if columns}
