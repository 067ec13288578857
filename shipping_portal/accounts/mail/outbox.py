"""Queue email notifications: kinds, recipients, and times. Nobody is notified of an event twice."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from shipping_portal.accounts.access import BOOKERS, OWNERS, SEE_MONEY
from shipping_portal.accounts.models import (
    Membership,
    Notification,
    NotificationChoice,
    Role,
    Sender,
    User,
)

# events this close together are sent as one email
GATHER = dt.timedelta(seconds=120 * settings.TIME_SCALE)
DIGEST_HOUR = 7
MONDAY = 0


class When(models.TextChoices):
    NOW = "now", "At once"
    DAILY = "daily", "Once a day, at 7 am"
    WEEKLY = "weekly", "Once a week, on Monday at 7 am"
    OFF = "off", "Never"

    @property
    def word(self) -> str:
        """Return the first words of the choice, as the heading of a narrow column."""
        return {When.DAILY: "Daily", When.WEEKLY: "Weekly"}.get(self, str(self.label))


# batch keys for which the kind's subject is wrong
RESOLVED, COMING_BACK = "resolved", "coming back"
SUBJECTS_OF_BATCHES = {
    RESOLVED: ("Good news about a booking", "Good news about {} bookings"),
    COMING_BACK: ("A return is on its way back", "{} returns are on their way back"),
}


@dataclass(frozen=True)
class NotificationKind:
    """`subject` is the email's. Owners get an `is_vital` kind even if everybody turned it off.

    Only members with one of `roles` get it or see it in their settings.
    """

    title: str
    subject: str
    default: When = When.NOW
    choices: tuple[When, ...] = (When.NOW, When.OFF)
    is_vital: bool = False
    roles: frozenset[str] = BOOKERS
    subject_of_many: str = ""

    def subject_of(self, count: int, batch_key: str) -> str:
        own = self.subject, self.subject_of_many or self.subject
        one, many = SUBJECTS_OF_BATCHES.get(batch_key, own)
        return many.format(count) if count > 1 else one


KINDS = {
    "approved": NotificationKind(
        "Your new account was approved",
        "Your account is approved",
        is_vital=True,
    ),
    "booking": NotificationKind(
        "A booking failed, cost more than agreed, or is resolved after a check",
        "A booking needs you",
        is_vital=True,
        subject_of_many="{} bookings need you",
    ),
    "prices": NotificationKind(
        "Prices are back for a draft you asked about",
        "Prices are back for your draft",
    ),
    "import": NotificationKind(
        "An import finished after you had left its page",
        "Your import is finished",
    ),
    "export": NotificationKind(
        "A file of yours was packed in the background",
        "Your file is packed",
        roles=OWNERS,
    ),
    "not_printed": NotificationKind(
        "A label isn't printed and its pickup is today",
        "Labels to print before today's pickup",
    ),
    "pickup": NotificationKind(
        "The driver didn't come, or couldn't collect",
        "Your pickup",
        choices=(When.NOW, When.DAILY, When.OFF),
    ),
    "delivery": NotificationKind(
        "A parcel has trouble on its way",
        "Trouble on the way",
        choices=(When.NOW, When.DAILY, When.OFF),
    ),
    "delivered": NotificationKind(
        "A parcel was delivered", "Delivered", When.OFF, (When.NOW, When.DAILY, When.OFF)
    ),
    "charge": NotificationKind(
        "A size charge or a penalty was added",
        "A size charge was added",
        choices=(When.NOW, When.WEEKLY, When.OFF),
        roles=SEE_MONEY,
        subject_of_many="{} size charges were added",
    ),
    "answer": NotificationKind(
        "Support answered your question about a charge",
        "An answer about a charge",
        roles=SEE_MONEY,
    ),
    "statement": NotificationKind(
        "A weekly statement is ready",
        "Your weekly statement",
        When.WEEKLY,
        (When.WEEKLY, When.OFF),
        roles=SEE_MONEY,
    ),
    "webhook": NotificationKind(
        "A webhook endpoint was switched off",
        "Your webhook endpoint is off",
        is_vital=True,
        roles=OWNERS,
        subject_of_many="{} webhook endpoints are off",
    ),
}


@dataclass(frozen=True)
class Event:
    """An event to notify somebody of. `dedupe_key` is permanent; one `batch_key` is one email.

    `only` names the one person it is for. Without it, it is for every member of the sender who
    wants it.
    """

    sender: Sender
    kind: str
    dedupe_key: str
    line: str
    path: str
    happened_at: dt.datetime
    batch_key: str = ""
    only: int | None = None


def notify(*events: Event, now: dt.datetime) -> None:
    """Queue each event for members who want it, were members then, and weren't notified yet."""
    members = _members_by_sender({event.sender.pk for event in events})
    Notification.objects.bulk_create(
        (
            Notification(
                user_id=user,
                sender=event.sender,
                kind=event.kind,
                dedupe_key=event.dedupe_key,
                line=event.line[:300],
                path=event.path,
                happened_at=event.happened_at,
                batch_key=_batch_key(event, when),
                due_at=_due_at(event, when, now),
            )
            for event in events
            for user, when in _is_wanted_by(event, members[event.sender.pk]).items()
            if event.only in (None, user)
        ),
        ignore_conflicts=True,  # notified before
        batch_size=1000,
    )


def retract_events(about: str) -> None:
    """Delete unsent notifications of this event and those below it: they are no longer true."""
    # With a colon, because "charge:1" must not withdraw "charge:12".
    named = Q(dedupe_key=about) | Q(dedupe_key__startswith=f"{about}:")
    Notification.objects.filter(named, due_at__isnull=False).delete()


def known_events(names: Collection[str], senders: Collection[int]) -> set[str]:
    """Return which of these events some member of these senders has a notification for."""
    # Search through the members, because the index is (user, dedupe_key).
    theirs = Notification.objects.filter(user__membership__sender__in=senders, dedupe_key__in=names)
    return set(theirs.values_list("dedupe_key", flat=True))


def kinds_for(role: str) -> dict[str, NotificationKind]:
    """Return the kinds a member of this role may get."""
    return {name: kind for name, kind in KINDS.items() if role in kind.roles}


def choices_of(user: User) -> dict[str, str]:
    """Return this person's choices by kind, for the kinds that their role may get.

    It is their own choice, otherwise the default.
    """
    chosen = dict(NotificationChoice.objects.filter(user=user).values_list("kind", "when"))
    return {name: chosen.get(name, str(kind.default)) for name, kind in KINDS.items()}


def choose_when(user: User, kind: str, when: str, *, now: dt.datetime) -> None:
    """Store when this person is notified of a kind. Raises ValueError for an unsupported choice."""
    if when not in KINDS[kind].choices:
        raise ValueError(when)
    values: dict[str, Any] = {"when": when}
    if choices_of(user)[kind] == When.OFF != when:
        values["on_since"] = now
    NotificationChoice.objects.update_or_create(user=user, kind=kind, defaults=values)


def still_wanted(rows: Iterable[Notification], user: User) -> list[Notification]:
    """Return what this person should still get: they may have left, or turned a kind off.

    Nothing goes to an unconfirmed address: it may be a stranger's.
    """
    member = Membership.objects.filter(
        user=user, user__is_active=True, user__emailaddress__verified=True
    ).first()
    if member is None:
        return []
    theirs = kinds_for(member.role)
    off = set(
        NotificationChoice.objects.filter(user=user, when=When.OFF).values_list("kind", flat=True)
    )
    # Once queued, a vital one is sent to an owner whatever they chose, in case nobody else was
    # notified.
    off -= {name for name, kind in KINDS.items() if kind.is_vital}
    return [
        row
        for row in rows
        if row.sender_id == member.sender_id and row.kind in theirs and row.kind not in off
    ]


def _batch_key(event: Event, when: str) -> str:
    """Return the key of notifications sent as one email: all those of a day.

    Weekly emails have one key per kind, because each kind has its own page.
    """
    if when == When.DAILY:
        return str(when)
    return f"{when}:{event.kind}" if when == When.WEEKLY else event.batch_key or event.kind


def _due_at(event: Event, when: str, now: dt.datetime) -> dt.datetime:
    if when == When.DAILY:
        return _digest_at(event.sender, now)
    return _digest_at(event.sender, now, on=MONDAY) if when == When.WEEKLY else now + GATHER


def _members_by_sender(senders: set[int]) -> defaultdict[int, list[Membership]]:
    """Return the members by sender, with what each chose."""
    members = Membership.objects.filter(sender__in=senders, user__is_active=True)
    found = defaultdict(list)
    for member in members.select_related("user").prefetch_related("user__notification_choices"):
        found[member.sender_id].append(member)
    return found


def _is_wanted_by(event: Event, members: list[Membership]) -> dict[int, str]:
    # A charge may find its sender days after it was posted; people who joined since aren't
    # notified.
    roles = KINDS[event.kind].roles
    there = [
        member
        for member in members
        if member.created_at <= event.happened_at and member.role in roles
    ]
    wanted = {member.user_id: _chosen_time(member.user, event) for member in there}
    wanted = {user: when for user, when in wanted.items() if when != When.OFF}
    if not wanted and KINDS[event.kind].is_vital:
        return {member.user_id: str(When.NOW) for member in there if member.role == Role.OWNER}
    return wanted


def _chosen_time(user: User, event: Event) -> str:
    choice = next((one for one in user.notification_choices.all() if one.kind == event.kind), None)
    if choice is None:
        return str(KINDS[event.kind].default)
    was_off = choice.on_since is not None and event.happened_at < choice.on_since
    return str(When.OFF) if was_off else choice.when


def _digest_at(sender: Sender, now: dt.datetime, *, on: int | None = None) -> dt.datetime:
    """Return the next seven o'clock in the sender's zone, or the next on that weekday."""
    local = now.astimezone(sender.tzinfo)
    day = local.date() + dt.timedelta(days=local.hour >= DIGEST_HOUR)
    if on is not None:
        day += dt.timedelta(days=(on - day.weekday()) % 7)
    return dt.datetime.combine(day, dt.time(DIGEST_HOUR), sender.tzinfo)
