"""Show the pages around logging in: first steps, the rest of the menu, and help."""

import functools
from pathlib import Path

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import strip_tags
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET, require_safe

from shipping_portal import brand
from shipping_portal.accounts import access
from shipping_portal.accounts.access import (
    BOOKERS,
    EVERY_MEMBER,
    OWNER,
    MemberRequest,
    audience,
    public,
    require_get_or_post,
)
from shipping_portal.accounts.address import places
from shipping_portal.accounts.address.addresses import OnceOnly
from shipping_portal.accounts.address.text import one_line
from shipping_portal.accounts.login import signing_up
from shipping_portal.accounts.login.adapter import landing_page
from shipping_portal.accounts.models import Sender
from shipping_portal.http.forms import posted_data, render_form

# its address changes with its content
KEPT_A_YEAR = cache_control(public=True, max_age=365 * 24 * 3600, immutable=True)


@public
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect(
        landing_page(request.user) if request.user.is_authenticated else "account_login"
    )


@audience(BOOKERS)
@require_GET
def start(request: MemberRequest) -> HttpResponse:
    """Show the first steps and which are done. They can be left and resumed at any time."""
    tasks = {
        "has_address": request.sender.pickup_address() is not None,
        "has_second_factor": access.has_second_factor(request.user),
    }
    return render(request, "accounts/start.html", tasks)


class PromiseForm(forms.Form):
    """Asks what the sign-up form asks, for an account that was opened by sign-on."""

    no_dangerous_goods = forms.BooleanField(
        label="We won't send dangerous goods, and we accept the terms",
        error_messages={
            "required": "The carrier doesn't take dangerous goods. Tick this to go on."
        },
    )


@audience(BOOKERS)
@require_get_or_post
def promise(request: MemberRequest) -> HttpResponse:
    """Let an owner promise to send no dangerous goods, before anybody books (interface §1)."""
    form = PromiseForm(posted_data(request))
    is_owner = request.membership.role == OWNER
    if request.method == "POST" and is_owner and form.is_valid():
        signing_up.acknowledge_dangerous_goods(request.sender, by=request.user, now=timezone.now())
    is_done = Sender.objects.filter(
        pk=request.sender.pk, dangerous_goods_acknowledged_at__isnull=False
    )
    if is_done.exists():
        return redirect(landing_page(request.user))
    return render_form(request, "accounts/promise.html", {"form": form})


@audience(EVERY_MEMBER)
@require_GET
def more(request: MemberRequest) -> HttpResponse:
    """Show links to all pages that aren't in the navigation."""
    return render(request, "accounts/more.html")


@audience(EVERY_MEMBER)
@require_GET
def suggest_localities(request: MemberRequest) -> HttpResponse:
    """Return places that begin with the typed text, for a combobox."""
    country = request.GET.get("country", request.sender.country).upper()
    return JsonResponse(
        [
            {"suburb": place.suburb, "state": place.state, "postcode": place.postcode}
            for place in places.suggest_places(country, request.GET.get("q", ""))
        ],
        safe=False,
    )


@public
@require_safe
def help_page(request: HttpRequest, page: str) -> HttpResponse:
    return render(request, f"help/{page}.html", {"contact_email": settings.CONTACT_EMAIL})


@public
@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect to the icon.

    Browsers request this address for documents that name no icon, such as labels.
    """
    return redirect(static("icon.svg"))


@public
@require_safe
@KEPT_A_YEAR
def brand_asset(request: HttpRequest, name: str) -> HttpResponse:
    """Serve a style sheet in the partner's colours, or its logo."""
    if name != "brand_logo":
        return HttpResponse(brand.style_sheet(name), content_type="text/css; charset=utf-8")
    if not settings.BRAND_LOGO:
        raise Http404
    path = Path(settings.BRAND_LOGO)
    return HttpResponse(path.read_bytes(), content_type=brand.LOGOS[path.suffix.lower()])


class Sample(OnceOnly):
    """One control of each kind."""

    line = forms.CharField(
        label="Text", help_text="A hint says what to enter before it goes wrong."
    )
    amount = forms.CharField(
        label="Number",
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "class": "number"}),
    )
    words = forms.CharField(
        label="Long text", required=False, widget=forms.Textarea(attrs={"rows": 2})
    )
    country = forms.ChoiceField(
        label="Select", choices=[("AU", "Australia"), ("US", "United States")]
    )
    choice = forms.ChoiceField(
        label="Radios", choices=[("a", "The first"), ("b", "The second")], widget=forms.RadioSelect
    )
    tick = forms.BooleanField(label="A tick", required=False)


STATES = {
    "booking": "Booking",
    "booked": "Booked",
    "in_transit": "On the way",
    "held": "Held",
    "lost": "Lost",
}


@audience(EVERY_MEMBER)
@require_safe
def styleguide(request: MemberRequest) -> HttpResponse:
    context = {"plain": Sample(auto_id="plain_%s"), "form": Sample({}), "states": STATES}
    return render(request, "styleguide.html", context)


ARTICLES = {
    "book-a-parcel": "Book a parcel and print its label",
    "paste-an-address": "Paste an address instead of typing it",
    "print-labels": "Print labels that scan",
    "driver-didnt-come": "The driver didn't come",
    "driver-couldnt-collect": "The driver came but couldn't collect",
    "another-pickup-day": "I need another pickup day",
    "fix-a-mistake": "Fix a mistake on a booked parcel",
    "send-it-back": "Have a parcel sent back to you",
    "cancel-a-parcel": "I'm not sending it after all",
    "checking-with-the-carrier": "It says we're checking with the carrier",
    "where-is-it": "Where is my parcel, and what do I tell the receiver?",
    "import-a-file": "Book many parcels from a file",
    "size-and-weight": "Measure to avoid extra charges",
    "a-size-charge": "A size charge",
}
LONGEST_SEARCH = 100


@public
@require_safe
def help_index(request: HttpRequest) -> HttpResponse:
    """Show all articles, or those that contain every search word."""
    q = one_line(request.GET.get("q", "")[:LONGEST_SEARCH]).strip()
    words = q.lower().split()
    found = {
        slug: title
        for slug, title in ARTICLES.items()
        if all(word in _article_text(slug) for word in words)
    }
    return render(request, "help/help.html", {"q": q, "articles": found})


@public
@require_safe
def help_article(request: HttpRequest, article: str) -> HttpResponse:
    if article not in ARTICLES:
        raise Http404
    context = {"title": ARTICLES[article], "body": f"help/articles/{article}.html"}
    return render(request, "help/article.html", context)


@functools.cache
def _article_text(slug: str) -> str:
    """Return an article's words in lower case, for the search."""
    return f"{ARTICLES[slug]} {strip_tags(render_to_string(f'help/articles/{slug}.html'))}".lower()
