"""What may be done with a billing report, from its reading to its posting."""

import datetime as dt
from typing import Any

from django import forms

from shipping_portal.accounts.models import User
from shipping_portal.billing import posting
from shipping_portal.billing.models import BillingReport
from shipping_portal.staff import accounting
from shipping_portal.staff.admin.acts import Act, ReasonForm

State = BillingReport.State


class TotalForm(ReasonForm):
    """What the carrier's invoice says, for a file that states no total."""

    total = forms.DecimalField(max_digits=16, decimal_places=2)
    currency = forms.RegexField(r"^[A-Za-z]{3}$", label="Currency, such as AUD")
    field_order = ["total", "currency", "reason"]

    def clean_currency(self) -> str:
        return str(self.cleaned_data["currency"]).upper()


def _post(report: BillingReport, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    accounting.post(report, by=by, reason=cleaned["reason"], now=now)


def _void(report: BillingReport, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    accounting.void(report, by=by, reason=cleaned["reason"], now=now)


def _read_again(report: BillingReport, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    accounting.read_again(report, by=by, reason=cleaned["reason"], now=now)


def _state_total(report: BillingReport, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    accounting.state_total(
        report, cleaned["total"], cleaned["currency"], by=by, reason=cleaned["reason"], now=now
    )


def _count_repeats(report: BillingReport, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    accounting.count_repeats(report, by=by, reason=cleaned["reason"], now=now)


POST = Act(
    "post",
    "Post",
    "Its lines count from now on, for ever, and senders see theirs. A mistake is put right by a line that takes "
    "another one back, never by changing one.",
    _post,
    needs="billing",
    applies=lambda report: report.state == State.CHECKED,
    refusals=(posting.NotReady,),
)
ACTS = (
    POST,
    Act(
        "void",
        "Make void",
        "It was never meant: nothing of it counts, and the same file may be taken again.",
        _void,
        needs="billing",
        applies=lambda report: report.state in {State.READING, State.CHECKED, State.DAMAGED},
        refusals=(posting.NotReady,),
    ),
    Act(
        "read-again",
        "Read again",
        "The file is read from its first line on, by the account's columns as they are set today.",
        _read_again,
        needs="billing",
        applies=lambda report: report.state in {State.CHECKED, State.DAMAGED},
        refusals=(accounting.NotDone,),
    ),
    Act(
        "state-total",
        "State its total",
        "What the carrier's invoice says that the file comes to, with refunds taken off. It is posted only if its "
        "lines come to the same.",
        _state_total,
        needs="billing",
        applies=lambda report: report.state == State.CHECKED,
        form=TotalForm,
        refusals=(accounting.NotDone,),
    ),
    Act(
        "count-repeats",
        "Count repeated lines",
        "Lines like these were posted before, so they are left out. Only if the carrier says that they are charges "
        "of their own, let them count with this report.",
        _count_repeats,
        needs="billing",
        applies=lambda report: report.state == State.CHECKED and report.lines.filter(is_repeat=True).exists(),
        refusals=(posting.NotReady,),
    ),
)
