"""One's own log-in: password, second factor, and everywhere it is open."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from shipping_portal.accounts import sessions, staff
from shipping_portal.accounts.access import EVERY_MEMBER, MemberRequest, audience


@audience(*EVERY_MEMBER)
@require_http_methods(["GET", "POST"])
def security(request: MemberRequest) -> HttpResponse:
    """Posting `end` logs out of that place, `end_others` of every place but this one."""
    this_key = request.session.session_key
    if request.method == "POST":
        if "end_others" in request.POST:
            ended = sessions.end_others(request.user, this_key=this_key)
        else:
            ended = sessions.end(request.user, request.POST.get("end", ""), this_key=this_key)
        messages.success(request, f"Logged out of {ended} {'place' if ended == 1 else 'places'}.")
        return redirect("security")
    places = sessions.live(request.user, this_key=this_key)
    context = {"places": places, "has_second_factor": staff.has_second_factor(request.user)}
    return render(request, "accounts/security.html", context)
