"""List the personal data that the portal holds in one table.

It says what is held, why, who sees it, for how long, and how it is erased.

`erasing.erase` applies its `rules`, and docs/security/data.md is generated from it. Data whose
erasing takes more than one statement has an `@eraser` in its app's `erasing.py`. A test fails for
any column that may hold personal data and is neither in this table nor listed as something else.
"""

from dataclasses import dataclass

from shipping_portal.jobs import retention

PHOTOS_AT_ONCE = 5  # models whose rows are read before they are deleted
ERASED = "Erased"  # replaces text that a page or a rule needs


@dataclass(frozen=True)
class ErasingRule:
    """How a model's rows are erased along with one kind of thing; the lookup `by` leads to its key.

    Without `overwrites` the rows are deleted; otherwise these columns are set to ERASED. `what`
    names the rows in the counts that an operator sees. Rows with an empty `unless_empty` column
    stay as they are, as do an order's rows if the rule is `without_order`.
    """

    kind: str
    what: str
    by: str
    overwrites: tuple[str, ...] = ()
    unless_empty: str = ""
    without_order: bool = False
    at_once: int = retention.BATCH  # how many rows are deleted in one statement


@dataclass(frozen=True)
class PersonalData:
    """The personal data of one model.

    `until` names a setting in days, if there is one; `term` is the retention term
    (jobs/retention.py) that applies it. `stays` says what remains afterwards.
    """

    model: str
    columns: str
    why: str
    seen_by: str
    until: str
    stays: str = "nothing"
    term: str = ""
    rules: tuple[ErasingRule, ...] = ()


TEAM, ALL = "the team", "the team, operators"
SHIPPERS = "owners, shippers"
BOOKKEEPERS = "owner, bookkeeper, operators"
WITH_RECEIVER, WITH_ACCOUNT = "with the receiver", "with the account"
BODY = "length and SHA-256"

# The rules run from top to bottom, before every `@eraser`: imports' files are erased before the
# quotes that they use.
HELD = (
    PersonalData(
        "staff.Note",
        "text",
        why="what operators write to each other about a case",
        seen_by="operators",
        until="with the receiver, or the account",
        stays="who wrote it, when",
        rules=(
            ErasingRule("order", "notes about parcels", "order", ("text",)),
            ErasingRule("sender", "notes about accounts", "sender", ("text",)),
            ErasingRule("note", "notes", "pk", ("text",)),
        ),
    ),
    PersonalData(
        "staff.SenderMail",
        "text",
        why="emails of operators to a sender",
        seen_by="operators, its reader",
        until="with the receiver, or its reader",
        stays="what about, who, when",
        rules=(
            ErasingRule("order", "emails about parcels", "order", ("text",)),
            ErasingRule("member", "emails to people", "to", ("text",)),
            ErasingRule("email", "emails of operators", "pk", ("text",)),
        ),
    ),
    PersonalData(
        "reports.DayFigures",
        "figures late",
        why="the figures of a day, by the names of saved sizes",
        seen_by="owner, bookkeeper",
        until=WITH_ACCOUNT,
        rules=(ErasingRule("sender", "figures of days", "sender"),),
    ),
    PersonalData(
        "exporting.Export",
        "",
        why="a proof pack, or the whole account",
        seen_by="owners",
        until="7 days after it was packed; with the receiver",
        term="exports",
        rules=(
            ErasingRule("order", "proof packs", "order"),
            ErasingRule("sender's files", "files of whole accounts", "sender", without_order=True),
            ErasingRule("sender", "files made for the account", "sender"),
        ),
    ),
    PersonalData(
        "exporting.ExportPart",
        "content",
        why="files to take away",
        seen_by="owners",
        until="7 days after they were packed",
        term="exports",
    ),
    PersonalData(
        "importing.Import",
        "file_name constants",
        why="what was imported",
        seen_by=SHIPPERS,
        until="IMPORT_DAYS after the last booking from it",
        term="imports",
        rules=(
            ErasingRule("sender", "imports", "sender"),
            ErasingRule("import", "names of files", "pk", ("file_name",)),
        ),
    ),
    PersonalData(
        "importing.ImportRow",
        "cells corrected problems near",
        why="parcels as typed",
        seen_by=SHIPPERS,
        until="with the file; with the receiver",
    ),
    PersonalData(
        "importing.ColumnMapping",
        "constants",
        why="columns of the next file",
        seen_by=SHIPPERS,
        until=WITH_ACCOUNT,
        rules=(ErasingRule("sender", "columns of imports", "sender"),),
    ),
    PersonalData(
        "billing.Dispute",
        "text answer",
        why="a question about a charge",
        seen_by=BOOKKEEPERS,
        until=WITH_RECEIVER,
        stays="amounts, measures, who answered",
        rules=(
            ErasingRule("order", "words of disputes", "charge__order", ("text", "answer")),
            ErasingRule("sender", "words of disputes", "sender", ("text", "answer")),
        ),
    ),
    PersonalData(
        "billing.DisputePhoto",
        "content",
        why="what a parcel really measures",
        seen_by=BOOKKEEPERS,
        until="with the receiver, or the account",
        rules=(
            ErasingRule(
                "order", "photos of disputes", "disputes__charge__order", at_once=PHOTOS_AT_ONCE
            ),
            ErasingRule("sender", "photos of disputes", "sender", at_once=PHOTOS_AT_ONCE),
        ),
    ),
    PersonalData(
        "tracking.WebhookDelivery",
        "body",
        why="proof of what the carrier sent",
        seen_by="operators, masked",
        until="WEBHOOK_DAYS after it came",
        stays=BODY,
        term="bodies of webhooks and scans",
    ),
    PersonalData(
        "tracking.TrackingEvent",
        "raw description suburb postcode",
        why="where the parcel was",
        seen_by=ALL,
        until="the bytes after WEBHOOK_DAYS; the words with the receiver",
        stays=f"word, time, state, country; {BODY}",
        term="bodies of webhooks and scans",
    ),
    PersonalData(
        "tracking.Watch",
        "name",
        why="the team's own name for a parcel",
        seen_by=TEAM,
        until=WITH_RECEIVER,
        rules=(
            ErasingRule(
                "order", "names of watched parcels", "parcel__order", ("name",), unless_empty="name"
            ),
            ErasingRule("sender", "watched parcels", "sender"),
        ),
    ),
    PersonalData(
        "tracking.ReceiverPage",
        "contact",
        why="a public contact for the receiver's questions, entered by the sender",
        seen_by="everybody who has the address",
        until="30 days after the parcel's journey ended, or 60 without a scan",
        term="receivers' pages",
        rules=(
            ErasingRule("order", "receivers' pages", "order"),
            ErasingRule("sender", "receivers' pages", "order__sender"),
        ),
    ),
    PersonalData(
        "orders.SavedView",
        "name query",
        why="a filter of the list",
        seen_by="its maker, or the team",
        until="a filter that names an erased receiver is deleted with it",
        rules=(ErasingRule("sender", "saved views", "sender"),),
    ),
    PersonalData(
        "orders.Quote",
        "details missing",
        why="prices of one parcel",
        seen_by=SHIPPERS,
        until="QUOTE_DAYS after it was made",
        term="quotes",
        rules=(
            ErasingRule("sender", "quotes", "sender"),
            ErasingRule("quote", "quotes", "pk"),
            ErasingRule("order", "quotes", "orders"),
        ),
    ),
    PersonalData(
        "orders.Draft",
        "values",
        why="a parcel before it is booked",
        seen_by=SHIPPERS,
        until=(
            "30 days after the last change, an untouched copy after a day; emptied when it is"
            " booked"
        ),
        stays="its price and its order",
        term="drafts",
        rules=(
            ErasingRule("order", "drafts", "origin"),
            ErasingRule("sender", "drafts", "sender"),
            ErasingRule("draft", "drafts", "pk"),
        ),
    ),
    PersonalData(
        "orders.Replacement",
        "problem",
        why="why nothing was booked instead",
        seen_by=TEAM,
        until=WITH_RECEIVER,
        stays="its order",
        rules=(
            ErasingRule(
                "order", "problems of replacements", "order", ("problem",), unless_empty="problem"
            ),
        ),
    ),
    PersonalData(
        "orders.OrderChange",
        "reason",
        why="why an order moved",
        seen_by="operators; the team sees refusals",
        until=WITH_RECEIVER,
        stays="old and new status, when, by whom",
        rules=(ErasingRule("order", "reasons of what happened", "order", ("reason",)),),
    ),
    PersonalData(
        "orders.Order",
        "receiver_name receiver_company receiver_email receiver_phone receiver_line1 receiver_line2"
        " receiver_suburb receiver_postcode receiver_instructions pickup description contents"
        " search note problem",
        why="deliver, trace, prove",
        seen_by="the team, by role; operators, masked until revealed with a reason",
        until=(
            "RECEIVER_DAYS after it was last due to the carrier, once its outcome is known;"
            " `pickup` with its person or the account, of a return with its receiver"
        ),
        stays="amounts, references, dates, measures, state, country",
        term="receivers",
    ),
    PersonalData(
        "orders.OrderSearch",
        "text",
        why="search",
        seen_by="nobody: it is only matched",
        until="as long as its order's search text: triggers copy it",
        stays="the carrier's references",
    ),
    PersonalData(
        "orders.BookingAttempt",
        "body response error",
        why="proof of what was sent and answered",
        seen_by="operators, masked",
        until=WITH_RECEIVER,
        stays=BODY,
    ),
    PersonalData(
        "orders.CancelAttempt",
        "why response answer",
        why="proof of a cancellation",
        seen_by="operators",
        until=WITH_RECEIVER,
        stays=BODY,
    ),
    PersonalData(
        "orders.Label",
        "problem",
        why="why there is no label",
        seen_by=TEAM,
        until=WITH_RECEIVER,
        stays=BODY,
    ),
    PersonalData(
        "orders.LabelBytes",
        "content",
        why="the carrier's label",
        seen_by=SHIPPERS,
        until="LABEL_RETENTION_DAYS after the parcel arrived, was cancelled or was last scanned",
        stays=f"{BODY} (`orders.Label`)",
        term="label files",
    ),
    PersonalData(
        "accounts.User",
        "email name",
        why="log in, and say who did what",
        seen_by=ALL,
        until="erased, or CLOSED_ACCOUNT_DAYS after the account was closed",
        stays="the key: “A former member”",
        term="closed accounts",
    ),
    PersonalData(
        "socialaccount.SocialAccount",
        "uid",
        why="log in at the partner's issuer, by a digest of their identity there",
        seen_by="nobody",
        until="with the person",
    ),
    PersonalData(
        "account.EmailAddress", "email", why="log in", seen_by="themselves", until="with the person"
    ),
    PersonalData(
        "accounts.Sender",
        "name suspension_text suspension_note",
        why="who ships",
        seen_by=ALL,
        until="CLOSED_ACCOUNT_DAYS after closing",
        stays="number, dates, limits",
        term="closed accounts",
    ),
    PersonalData(
        "accounts.PickupAddress",
        "name company email phone line1 line2 suburb state postcode instructions",
        why="where drivers come, whom the carrier writes to",
        seen_by=ALL,
        until="the sender deletes it, or closes the account",
    ),
    PersonalData(
        "accounts.Receiver",
        "name company email phone line1 line2 suburb state postcode country instructions group"
        " fingerprint",
        why="address book",
        seen_by=SHIPPERS,
        until="ADDRESS_BOOK_DAYS after its last use",
        term="address books",
        rules=(ErasingRule("receiver", "address book entries", "pk"),),
    ),
    PersonalData(
        "accounts.ReceiverKey",
        "key",
        why="search in the address book",
        seen_by="nobody",
        until="with its entry",
    ),
    PersonalData(
        "accounts.ParcelSize",
        "name description",
        why="what is usually sent",
        seen_by=TEAM,
        until=WITH_ACCOUNT,
    ),
    PersonalData(
        "accounts.Invitation",
        "email",
        why="invite somebody to the team",
        seen_by="owners",
        until="INVITATION_DAYS after it ended",
        term="invitations",
    ),
    PersonalData(
        "accounts.ApiToken",
        "name",
        why="tell the tokens of programs apart",
        seen_by="its maker, owners, operators",
        until="30 days after it ended; with the person",
        term="API tokens",
    ),
    PersonalData(
        "orders.PrintStation",
        "name printer",
        why="tell benches and their printers apart",
        seen_by=SHIPPERS,
        until="30 days after it was stopped",
        term="API tokens",
    ),
    PersonalData(
        "orders.PrintJob",
        "words",
        why="what a printer said about a label",
        seen_by=SHIPPERS,
        until="30 days after it ended; with the receiver",
        term="print jobs",
        rules=(ErasingRule("order", "print jobs", "order"),),
    ),
    PersonalData(
        "accounts.WebhookEndpoint",
        "url",
        why="send events to the business's own program",
        seen_by="owners, operators",
        until=WITH_ACCOUNT,
    ),
    PersonalData(
        "accounts.WebhookEvent",
        "body reply",
        why="events by keys and references, and what the program answered",
        seen_by="owners",
        until="WEBHOOK_EVENT_DAYS after it happened",
        term="webhook events",
    ),
    PersonalData(
        "accounts.Notification",
        "line",
        why="emails about parcels, with initials",
        seen_by="its reader",
        until="NOTIFICATION_DAYS after it happened",
        stays="which event, when",
        term="words of notifications",
    ),
)
