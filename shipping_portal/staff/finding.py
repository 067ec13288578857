"""Search for what a caller says: parcels, senders and people. Searches aren't stored.

Customers' emails and phones, which lists mask, are only found as a whole: if parts matched, they
could be guessed letter by letter. Searching for one leaves an audit row with a keyed hash of it.
"""

import re
from itertools import takewhile
from typing import Any

from django.db.models import Case, F, Q, QuerySet, TextField, Value, When
from django.db.models.fields.json import KT
from django.db.models.functions import Replace
from django.db.models.lookups import Regex
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from orders.folding import fold
from orders.list.listing import clean_search
from orders.masking import without_emails
from orders.models import Order, searches
from orders.status.references import without_sign
from orders.views.chosen import read_uuid
from shipping_portal.accounts.address.phones import phone_spellings
from shipping_portal.accounts.login.security_events import hash_of
from shipping_portal.accounts.models import Audit, Membership, PickupAddress, Sender, User

MOST = 20
MOST_WORDS = 6
MOST_SENDERS = 200  # senders whose parcels a word may mean
MOST_PIECES = 6  # groups of a phone number: +1 (416) 555 01 42
DIGITS = re.compile(r"[\d+().-]+")
# How a phone number with spaces begins: a prefix or area code, not a postcode before another
# number.
AREA = re.compile(r"[+(0]|\d{1,3}(?!\d)")
TRIGRAM = re.compile(r"[^\W_]{3}")
OF_A_WORD = r"[^\s@]*"  # what may surround a part of a phone number, which is never an email
ORDER = re.compile(r"^order (number )?", re.IGNORECASE)

GROUPS = {  # its title, what to add to a search with too many results, its column headings
    "orders": ("Parcels", "word", ("Parcel", "To", "Status", "Sender", "Created")),
    "senders": ("Senders", "letter", ("Sender", "Number", "Bookings", "Parcels")),
    "people": ("People", "letter", ("Person", "Email", "Sender")),
}


def search_words(term: str) -> list[str]:
    """Return a search's words with a letter or digit; a spaced phone number is one word.

    If there is no such word, return the first word, which matches nothing.
    """
    pieces, found = term.split(), list[str]()
    pieces = [piece for piece in pieces if any(map(str.isalnum, piece))] or pieces[:1]
    while pieces and len(found) < MOST_WORDS:
        digits = (
            len([*takewhile(DIGITS.fullmatch, pieces[:MOST_PIECES])])
            if AREA.match(pieces[0])
            else 0
        )
        size = next(
            (size for size in range(digits, 1, -1) if phone_spellings(" ".join(pieces[:size]))), 1
        )
        found.append(" ".join(pieces[:size]))
        pieces = pieces[size:]
    return found


def orders_by(term: str) -> Q:
    """Match orders by words of the order or its sender, or all words in its sender's name."""
    asked = search_words(term)
    # Many senders share a word of their names ("Pty"), and `_order_by` knows only some of those.
    named = Sender.objects.filter(*(_contains_word("name__i", word) for word in asked)).values_list(
        "pk", flat=True
    )
    return Q(sender__in=list(named[:MOST_SENDERS])) | Q(*map(_order_by, asked))


def _order_by(word: str) -> Q:
    """Match an order by one word: its text, whole email or phone, reference, number or sender."""
    found = Q(carrier_reference__upper=word.upper())
    # The search text's pieces, which have an index, contain both.
    if "@" in word:
        found |= Q(receiver_email__upper=word.upper()) & _has_piece(word)
    for phone in filter(TRIGRAM.search, {word, *phone_spellings(word)}):
        back = Q(pickup__phone=phone, returns__isnull=False)
        found |= (Q(receiver_phone=phone) | back) & _has_piece(phone)
    found |= _has_piece(word) & _is_shown(fold(word))
    members = Membership.objects.filter(user__email=word.lower())
    # As a list of keys: a subquery among the other conditions would read the whole table.
    found |= Q(sender__in=[key for (key,) in _senders_by_word(word, members)[:MOST_SENDERS]])
    if word.isdecimal() and len(word) < 10:
        found |= Q(pk=int(word))
    key = read_uuid(word)
    return found | Q(uuid=key) if key else found


def _has_piece(word: str) -> Q:
    return searches.of_anybody(_contains_word("text__i", fold(word)))


def _is_shown(word: str) -> Q:
    """Match the word in an order's text outside its customer's email and phone."""
    is_part = "@" not in word
    # A word without three letters in a row was matched at a word's start (`_part`): it must be the
    # same word.
    before = OF_A_WORD if is_part and TRIGRAM.search(word) else ""
    after = OF_A_WORD if is_part else ""
    # Django's type stubs allow only a Value here.
    phone: Any = Case(
        When(returns=None, then=F("receiver_phone")),
        default=KT("pickup__phone"),
        output_field=TextField(),
    )
    text = Replace(F("search"), phone, Value(""), output_field=TextField())
    return Q(Regex(text, rf"(^|\s){before}{re.escape(word)}{after}(\s|$)"))


def record_search(by: Any, term: str) -> None:
    """Record in the audit log that this operator searched for somebody's email or phone."""
    for word in search_words(term):
        if "@" in word or phone_spellings(word):
            record_sought(by, min(phone_spellings(word), default=word))


def record_sought(by: Any, sought: str) -> None:
    """Write the audit row of one search, without names: the same text gives the same hash."""
    Audit.write("searched by contact details", by, by=by, reason=hash_of(sought), at=timezone.now())


def _person_by(word: str) -> Q:
    """Match a person by one word: the whole email, or a part of the name."""
    return Q(email=word.lower()) | _contains_word("name__i", word)


def senders_by(term: str) -> Q:
    """Match senders word by word: name or number, people, pickup addresses."""
    found = Q()
    for word in search_words(term):
        members = Membership.objects.filter(user__in=User.objects.filter(_person_by(word)))
        at = Q(phone__in=[word, *phone_spellings(word)])
        for column in ("name", "suburb", "postcode"):
            at |= _contains_word(f"{column}__i", word)
        found &= Q(pk__in=_senders_by_word(word, members, PickupAddress.objects.filter(at)))
    return found


def _senders_by_word(word: str, *theirs: QuerySet[Any]) -> QuerySet[Any]:
    """Return the keys of senders with this name or number, or with a matching row of theirs.

    A union reads each table by its own index; with OR in one condition, none could.
    """
    named = Sender.objects.filter(_contains_word("name__i", word) | Q(pk=Sender.pk_of(word)))
    return named.values_list("pk").union(*(rows.values_list("sender") for rows in theirs), all=True)


def _contains_word(lookup: str, word: str) -> Q:
    """Match a word within a text, or at a word's start if it has no three letters in a row.

    Both use trigrams (TrigramIndex); a part of two letters or fewer would read every row.
    `lookup` is the column and `__`, or `__i` to ignore case.
    """
    if TRIGRAM.search(word):
        return Q(**{f"{lookup}contains": word})
    if not any(map(str.isalnum, word)):
        return Q(pk__in=[])
    return Q(**{f"{lookup}startswith": word}) | Q(**{f"{lookup}contains": f" {word}"})


def find(request: HttpRequest) -> HttpResponse:
    """Show what a caller's words match; a whole number or reference opens its page directly."""
    from django.contrib import admin  # noqa: PLC0415  (the site imports this page)

    user: Any = request.user
    term = clean_search(request.GET.get("q", ""))
    asked = ORDER.sub("", term)
    record_search(user, asked)
    if asked and (page := _exact_match(user, asked)):
        return redirect(page)
    found = _found_groups(user, asked) if asked else {}
    if order := _order_called(found, asked):
        return redirect("admin:orders_order_change", order.pk)
    context = {
        **admin.site.each_context(request),
        "title": "Find",
        "q": term,
        "most": MOST,
        "groups": [(name, *GROUPS[name], rows) for name, rows in found.items() if rows],
        **found,
    }
    return TemplateResponse(request, "admin/find.html", context)


def _exact_match(user: Any, asked: str) -> str:
    """Return the address of the sender with this number or the order with this reference, or ""."""
    number, key = Sender.pk_of(asked), read_uuid(asked)
    if (
        number
        and user.has_perm("accounts.view_sender")
        and Sender.objects.filter(pk=number).exists()
    ):
        return reverse("admin:accounts_sender_change", args=[number])
    if not user.has_perm("orders.view_order"):
        return ""
    reference = without_sign(asked).upper()
    found = list(
        Order.objects.filter(Q(uuid=key) if key else Q(carrier_reference__upper=reference))[:2]
    )
    return reverse("admin:orders_order_change", args=[found[0].pk]) if len(found) == 1 else ""


def _order_called(found: dict[str, Any], asked: str) -> Order | None:
    """Return the order with this number, ours or its sender's, if it can't mean anything else."""
    match found:
        case {"orders": [order], **others} if not any(others.values()):
            return (
                order
                if asked.lower() in (str(order.pk), order.customer_reference.lower())
                else None
            )
    return None


def _found_groups(user: Any, term: str) -> dict[str, Any]:
    """Return the first few of each group that this operator may see, and one more than shown."""
    found: dict[str, Any] = {}
    asked = search_words(term)
    if user.has_perm("orders.view_order"):
        orders = Order.objects.select_related("sender").order_by("-pk")
        found["orders"] = list(orders.filter(orders_by(term))[: MOST + 1])
    if user.has_perm("accounts.view_sender"):
        found["senders"] = list(
            Sender.objects.filter(senders_by(term)).order_by("name", "pk")[: MOST + 1]
        )
    if user.has_perm("accounts.view_user"):
        people = (
            User.objects.filter(*map(_person_by, asked))
            .select_related("membership__sender")
            .order_by("pk")
        )
        found["people"] = [(person, without_emails(person.email)) for person in people[: MOST + 1]]
    return found
