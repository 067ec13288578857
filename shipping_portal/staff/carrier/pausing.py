"""Pause bookings or prices for everybody, and end the carrier's own stop.

A pause ends at its set time, whether or not any process is running then (Pause.is_over).
"""

import datetime as dt
from dataclasses import replace

from django.db import transaction

from orders.models import CarrierAccount, Restore
from orders.models.account import BOOKINGS, PAUSE_FIELDS, Pause
from shipping_portal.accounts.models import Audit, User
from shipping_portal.formats import admin_time
from shipping_portal.jobs.registry import chore
from shipping_portal.refused import Refused


@transaction.atomic
def pause_account(
    account: CarrierAccount,
    what: str,
    *,
    text: str,
    ends_at: dt.datetime | None,
    by: User,
    reason: str,
    now: dt.datetime,
) -> None:
    """Send nothing new of this kind for any sender. Bookings already sent still get their outcome.

    Senders read the text. Without `ends_at` it lasts until somebody resumes it. Raises Refused.
    """
    end_expired_pauses(now)
    account.refresh_from_db()
    if account.kept_pause(what):
        raise Refused(f"{what.capitalize()} are already paused.")
    new = Pause(what, now, text, ends_at)
    _replace_pause(account, what, new)
    Audit.write(
        f"{what} paused", account, by=by, reason=f"{_describe_pause(new)}: {reason}", at=now
    )


@transaction.atomic
def change_pause(
    account: CarrierAccount,
    what: str,
    *,
    text: str,
    ends_at: dt.datetime | None,
    by: User,
    reason: str,
    now: dt.datetime,
) -> None:
    """Change the text or end of a pause. Raises Refused if it is over."""
    new = replace(_running_pause(account, what, now), text=text, ends_at=ends_at)
    _replace_pause(account, what, new)
    Audit.write(
        f"{what} pause changed",
        account,
        by=by,
        reason=f"{_describe_pause(new)}: {reason}",
        at=now,
    )


@transaction.atomic
def resume_account(
    account: CarrierAccount, what: str, *, by: User, reason: str, now: dt.datetime
) -> None:
    """End the pause now; waiting bookings are sent within a minute. Raises Refused."""
    _running_pause(account, what, now)
    _replace_pause(account, what, None, ended_at=now)
    Audit.write(f"{what} resumed", account, by=by, reason=reason, at=now)


@chore("pauses")
def end_expired_pauses(now: dt.datetime) -> None:
    """Clear expired pauses, one audit row each. Only for the record: they ended by themselves."""
    for account in CarrierAccount.objects.exclude(paused_at=None, quotes_paused_at=None):
        for what in PAUSE_FIELDS:
            kept = account.kept_pause(what)
            if kept and kept.is_over(now):
                _end_pause(account, kept, now)


@transaction.atomic
def _end_pause(account: CarrierAccount, kept: Pause, now: dt.datetime) -> None:
    try:
        _replace_pause(account, kept.what, None, ended_at=kept.ends_at)
    except Refused:
        # Another process was faster.
        return
    reason = f"automatically, {_describe_pause(kept)}"
    Audit.write(f"{kept.what} pause ended", account, by=None, reason=reason, at=now)


@transaction.atomic
def try_now(account: CarrierAccount, *, by: User, reason: str, now: dt.datetime) -> None:
    """Let the next booking try the carrier now, although it refused the account."""
    stopped = CarrierAccount.objects.filter(pk=account.pk, stopped_at__isnull=False)
    if not stopped.update(probe_due_at=now):
        raise Refused("The account isn't stopped.")
    Audit.write("account probed", account, by=by, reason=reason, at=now)


@transaction.atomic
def end_stop(account: CarrierAccount, *, by: User, reason: str, now: dt.datetime) -> None:
    """Clear the refusal of an account that has no bookings left to try it. Raises Refused."""
    account.refresh_from_db()
    if not account.stopped_at:
        raise Refused("The account isn't stopped.")
    account.note_answer(now)
    Audit.write("account's stop taken away", account, by=by, reason=reason, at=now)


@transaction.atomic
def end_fault(account: CarrierAccount, *, by: User, reason: str, now: dt.datetime) -> None:
    """Record that the cause of a refusal is corrected, which ends its alert. Raises Refused.

    A refusal received after this account was read stays.
    """
    as_read = CarrierAccount.objects.filter(
        pk=account.pk, fault_at=account.fault_at, fault_at__isnull=False
    )
    if not as_read.update(fault_at=None, fault_since=None, fault=""):
        raise Refused(
            "The carrier has just refused again, or somebody else said so before. Check it again."
        )
    Audit.write(
        "account's fault corrected", account, by=by, reason=f"{account.fault}: {reason}", at=now
    )


@transaction.atomic
def allow_repeats(account: CarrierAccount, *, by: User, reason: str, now: dt.datetime) -> None:
    """Let unclear bookings be repeated again, as far as the contract allows. Raises Refused."""
    off = CarrierAccount.objects.filter(pk=account.pk, replays_off_at__isnull=False)
    if not off.update(replays_off_at=None):
        raise Refused("Repeats are already allowed.")
    Audit.write("repeats allowed again", account, by=by, reason=reason, at=now)


def _running_pause(account: CarrierAccount, what: str, now: dt.datetime) -> Pause:
    account.refresh_from_db()
    if what == BOOKINGS and Restore.objects.open().exists():
        raise Refused("Bookings stay paused until the restore gap is closed. See Restores.")
    running = account.pause_of(what, now)
    if running is None:
        raise Refused(f"{what.capitalize()} are already on.")
    return running


def _replace_pause(
    account: CarrierAccount, what: str, new: Pause | None, *, ended_at: dt.datetime | None = None
) -> None:
    """Replace the pause, if unchanged since it was read. Raises Refused.

    The last pause's end is kept, because the time that waiting bookings have left counts from it;
    see verdict.is_too_late.
    """
    since, text, ends_at = PAUSE_FIELDS[what]
    as_read = {name: getattr(account, name) for name in (since, ends_at)}
    values = {
        since: new.since if new else None,
        text: new.text if new else "",
        ends_at: new.ends_at if new else ended_at,
    }
    if not CarrierAccount.objects.filter(pk=account.pk, **as_read).update(**values):
        raise Refused("Someone else just changed this pause. Check it again.")


def _describe_pause(pause: Pause) -> str:
    ends = f"until {admin_time(pause.ends_at)}" if pause.ends_at else "until resumed"
    return f"{ends}, senders see “{pause.text}”"
