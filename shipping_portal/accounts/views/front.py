"""The pages around logging in: first steps, what else there is, help and health."""

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_safe

from shipping_portal.accounts import places, staff
from shipping_portal.accounts.access import BOOKERS, EVERY_MEMBER, OWNER, MemberRequest, audience, public
from shipping_portal.accounts.adapter import landing_page


@public
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect(landing_page(request.user) if request.user.is_authenticated else "account_login")


@audience(*BOOKERS)
@require_GET
def start(request: MemberRequest) -> HttpResponse:
    """The first steps, each with whether it is done; they can be left and taken up at any time."""
    tasks = {
        "has_address": request.sender.pickup_address() is not None,
        "has_second_factor": staff.has_second_factor(request.user),
    }
    return render(request, "accounts/start.html", tasks)


@audience(*EVERY_MEMBER)
@require_GET
def more(request: MemberRequest) -> HttpResponse:
    """Everything that has no place of its own at the top of each page."""
    return render(request, "accounts/more.html", {"is_owner": request.membership.role == OWNER})


@audience(*EVERY_MEMBER)
@require_GET
def suggest_localities(request: MemberRequest) -> HttpResponse:
    """Places that begin with what is being typed, for a combobox."""
    country = request.GET.get("country", request.sender.country).upper()
    found = places.suggest(country, request.GET.get("q", ""))
    return JsonResponse(
        [{"suburb": place.suburb, "state": place.state, "postcode": place.postcode} for place in found],
        safe=False,
    )


@public
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """200 while the database answers. Says nothing else to strangers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (OperationalError, InterfaceError):
        return HttpResponse(
            "the database does not answer", status=503, content_type="text/plain; charset=utf-8"
        )
    return HttpResponse("ok", content_type="text/plain; charset=utf-8")


@public
@require_safe
def help_page(request: HttpRequest, page: str) -> HttpResponse:
    return render(request, f"help/{page}.html", {"contact_email": settings.CONTACT_EMAIL})
