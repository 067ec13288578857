"""Everything that can happen to a few charges, in any order, compared with a model that just adds up."""

from collections import defaultdict
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F, Sum
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from orders.calling import gateway
from orders.models import Order
from shipping_portal.billing.charges import correcting, matching
from shipping_portal.billing.models import BillingReport, Charge, ChargeWord, round_cents
from shipping_portal.billing.reports import checking, posting, uploads
from shipping_portal.refused import Refused
from tests import factories
from tests.billing.conftest import line, refund
from tests.billing.scene import File, Killed, Parcel, Scene, killed

WHICH = st.integers(0, 5)
NOVELTY = "Adjustment: Remote area"
CHARGES: dict[str, dict[str, str]] = {
    "under-declared": {"Type": "Adjustment: Incorrect size declared", "Measured_Weight": "3.9"},
    "oversize": {"Type": "Adjustment: Oversize penalty"},
    "novelty": {"Type": NOVELTY},
    "delay": {"Refund_Reason": "Delay"},
    "loss": {"Refund_Reason": "Loss"},
    "other": {"Refund_Reason": "Other"},
}
REFUNDS = {"delay", "loss", "other"}


class Story(Scene):
    """The rules of a story. It starts with three parcels that will be billed."""

    # -- The carrier and the senders -----------------------------------------------------------

    @initialize()
    def a_week_begins(self) -> None:
        for which in range(3):
            self.a_parcel_is_booked(which, is_heard_of=True)

    @precondition(lambda self: len(self.parcels) < 6)
    @rule(which=WHICH, is_heard_of=st.booleans())
    def a_parcel_is_booked(self, which: int, *, is_heard_of: bool) -> None:
        """Book a parcel. Until the portal gets the carrier's reply, it doesn't know the reference."""
        user, sender = self.traders[which % 2]
        order = factories.order(sender, user, status="booked", carrier_reference=f"SROW{len(self.parcels):04d}")
        if not is_heard_of:
            Order.objects.filter(pk=order.pk).update(carrier_reference=None, status="unconfirmed", booked_at=None)
            self.unheard.append(order)
        self.parcels.append(Parcel(order, self.write(order, line)))

    @precondition(lambda self: self.unheard)
    @rule()
    def the_portal_hears_of_a_booking(self) -> None:
        order = self.unheard.pop()
        Order.objects.filter(pk=order.pk).update(
            carrier_reference=order.carrier_reference, status="booked", booked_at=timezone.now()
        )
        matching.match_late()

    @precondition(lambda self: any(parcel.refund is None for parcel in self.parcels))
    @rule(which=WHICH)
    def an_order_is_cancelled(self, which: int) -> None:
        kept = [parcel for parcel in self.parcels if parcel.refund is None]
        parcel = kept[which % len(kept)]
        if parcel.order not in self.unheard:
            self.cancel(parcel)

    @precondition(lambda self: any(p.cost not in self.fresh and not p.refund for p in self.parcels))
    @rule(which=WHICH)
    def a_billed_order_is_cancelled_and_its_label_used(self, which: int) -> None:
        for parcel in self.parcels:
            if parcel.cost not in self.fresh and not parcel.refund and parcel.order not in self.unheard:
                self.cancel(parcel)
                return self.use(parcel)

    @precondition(lambda self: list(self.usable()))
    @rule(which=WHICH)
    def a_label_is_used_after_cancelling(self, which: int) -> None:
        usable = list(self.usable())
        self.use(usable[which % len(usable)])

    @rule(which=WHICH, what=st.sampled_from(sorted(CHARGES)))
    def an_order_is_charged_or_refunded(self, which: int, what: str) -> None:
        order = self.parcels[which % len(self.parcels)].order
        self.write(order, refund if what in REFUNDS else line, **CHARGES[what])

    @rule()
    def a_strangers_parcel_is_on_the_bill(self) -> None:
        self.write(None, line)

    @rule(then=st.sampled_from(["post", "post", "post copies too", "wait"]))
    def a_week_ends(self, then: str) -> None:
        """Write the carrier's report and usually post it at once. If it has copies, all are checked before one is posted."""
        self.a_strangers_parcel_is_on_the_bill()
        self.files.append(File(len(self.files), self.fresh))
        self.fresh = []
        for copy in range(3 if then == "post copies too" else 1):
            self.a_report_is_taken(-1, copy)
        if then != "wait":
            self.a_report_is_checked_and_posted(-1)

    # -- The operator ------------------------------------------------------------------------------

    @precondition(lambda self: self.files)
    @rule(which=WHICH, copy=st.integers(0, 2))
    def a_report_is_taken(self, which: int, copy: int) -> None:
        file = self.files[which % len(self.files)]
        with suppress(uploads.TakenBefore):
            made = uploads.store_report(
                gateway.current_account(), file.name, file.content(copy), by=self.sam, now=timezone.now()
            )
            file.reports.append(made.pk)

    @precondition(lambda self: self.files)
    @rule(which=WHICH, cut=st.integers(20, 60))
    def a_damaged_report_is_taken(self, which: int, cut: int) -> None:
        file = self.files[which % len(self.files)]
        with suppress(uploads.TakenBefore):
            broken = uploads.store_report(
                gateway.current_account(), file.name, file.content()[:-cut], by=self.sam, now=timezone.now()
            )
            checking.read_due_report(broken.pk)
            with pytest.raises(posting.NotReady):
                posting.post_report(broken, by=self.sam, now=timezone.now())

    @precondition(lambda self: self.files)
    @rule(which=WHICH, killed_after=st.sampled_from([None, None, 1, 2]))
    def a_report_is_checked(self, which: int, killed_after: int | None) -> None:
        for _, report in self.reports(which):
            with suppress(Killed), killed(killed_after):
                checking.read_due_report(report.pk)
            BillingReport.objects.filter(pk=report.pk, state="reading").update(due_at=timezone.now())

    @rule(meaning=st.sampled_from(["oversize", "under-declared"]))
    def a_word_is_decided(self, meaning: str) -> None:
        """Decide what new words mean. A meaning that refunds would change the ledger, so only charges are used."""
        for term in ChargeWord.objects.filter(word__startswith=NOVELTY.casefold()):
            checking.decide_word(term, meaning, now=timezone.now())

    @precondition(lambda self: self.files)
    @rule(which=WHICH)
    def a_report_is_posted(self, which: int) -> None:
        for file, report in self.reports(which):
            if posting.posting_obstacles(report):
                with pytest.raises(posting.NotReady):
                    posting.post_report(report, by=self.sam, now=timezone.now())
                continue
            posting.post_report(report, by=self.sam, now=timezone.now())
            posting.decide_lines(report.lines.exclude(held=""), post=True, now=timezone.now())
            for row in file.rows:
                row.is_posted = True

    @precondition(lambda self: self.files)
    @rule(which=WHICH)
    def a_report_is_checked_and_posted(self, which: int) -> None:
        """Check and post a report: the file balances once its words are known."""
        self.a_report_is_checked(which, None)
        self.a_word_is_decided("oversize")
        self.a_report_is_checked(which, None)
        waiting = [report for _, report in self.reports(which) if report.state == "checked"]
        assert [text for report in waiting for text in posting.posting_obstacles(report)] == []
        self.a_report_is_posted(which)

    @precondition(lambda self: self.files)
    @rule(which=WHICH)
    def a_report_is_made_void(self, which: int) -> None:
        for _, report in self.reports(which):
            with suppress(posting.NotReady):
                posting.void_report(report, by=self.sam, now=timezone.now())

    @precondition(lambda self: Charge.objects.posted().filter(sender=None).exists())
    @rule(which=WHICH, to_an_order=st.booleans())
    def a_line_is_assigned(self, which: int, *, to_an_order: bool) -> None:
        """Assign an unknown parcel's line to a sender: never with another sender's order, and never twice."""
        charge = Charge.objects.posted().filter(sender=None).order_by("pk").first()
        heard = [parcel for parcel in self.parcels if parcel.order not in self.unheard]
        parcel = heard[which % len(heard)]
        sender = parcel.order.sender
        row = next(row for row in self.rows if charge and row.cells["Reference"] == charge.reference)
        if charge is None or row.order:  # of an order the portal has no reply for yet
            return
        other = next(trader for _, trader in self.traders if trader != sender)
        with suppress(ValueError):
            matching.assign_charge(charge, sender=other, order=parcel.order)
        matching.assign_charge(charge, sender=sender, order=parcel.order if to_an_order else None)
        with suppress(Refused):
            matching.assign_charge(charge, sender=other)
        row.owner, row.order = sender, parcel.order if to_an_order else None

    @rule(which=WHICH, cents=st.integers(1, 900), of_an_order=st.booleans())
    def a_credit_is_given(self, which: int, cents: int, *, of_an_order: bool) -> None:
        order = self.parcels[which % len(self.parcels)].order
        amount, of = Decimal(cents) / 100, order if of_an_order else None
        correcting.credit_sender(
            order.sender, amount, "AUD", by=self.sam, now=timezone.now(), reason="for the trouble", order=of
        )
        self.ours.append((order.sender, of, -amount))

    @precondition(lambda self: Charge.objects.posted().exists())
    @rule(which=WHICH)
    def a_line_is_taken_back(self, which: int) -> None:
        lines = list(Charge.objects.posted().order_by("pk"))
        charge = lines[which % len(lines)]
        with suppress(Refused):
            correcting.reverse_charge(charge, by=self.sam, now=timezone.now(), reason="a mistake")
            assert charge.sender
            self.ours.append((charge.sender, charge.order, -charge.amount))

    # -- What always holds ---------------------------------------------------------------------------

    @invariant()
    def net_is_the_sum_of_the_lines_and_of_the_model(self) -> None:
        due: dict[Any, Decimal] = defaultdict(Decimal)
        for sender, order, amount in self.due():
            due[sender.pk if sender else None] += amount
            due["order", order.pk if order else None] += amount
        posted = Charge.objects.posted().order_by()
        for key, field_name in ((lambda pk: pk, "sender"), (lambda pk: ("order", pk), "order")):
            for row in posted.values(field_name).annotate(net=Sum("amount")):
                assert due.pop(key(row[field_name]), Decimal(0)) == round_cents(row["net"]), row
        assert not any(due.values()), due
        for user, sender in self.traders:
            lines = Charge.objects.for_user(user)
            assert lines.net().get("AUD", Decimal(0)) == sum(line.amount for line in lines)
            assert {line.sender_id for line in lines} <= {sender.pk}

    @invariant()
    def no_line_belongs_to_two_accounts(self) -> None:
        assert not Charge.objects.filter(order__isnull=False).exclude(sender=F("order__sender")).exists()

    @invariant()
    def what_is_posted_never_changes(self) -> None:
        """Check that posted lines stay the same, except that an unassigned one may be assigned once."""
        now = {
            pk: rest for pk, *rest in Charge.objects.posted().values_list(
                "pk", "amount", "currency", "week", "key", "posted_at", "sender", "order"
            )
        }  # fmt: skip
        for pk, (*facts, sender, order) in self.seen.items():
            *facts_now, sender_now, order_now = now[pk]
            assert facts_now == facts
            assert sender is None or (sender_now, order_now) == (sender, order)
        self.seen = {pk: tuple(rest) for pk, rest in now.items()}
