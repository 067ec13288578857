"""The parts pages are made of, on one page: looked at by designers, and by the accessibility tests. Demo only."""

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from shipping_portal.accounts.access import EVERY_MEMBER, MemberRequest, audience
from shipping_portal.accounts.addresses import OnceOnly


class Sample(OnceOnly):
    """One control of each kind."""

    line = forms.CharField(label="Text", help_text="A hint says what is meant, before it goes wrong.")
    amount = forms.CharField(
        label="Number",
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "class": "number"}),
    )
    words = forms.CharField(label="Long text", required=False, widget=forms.Textarea(attrs={"rows": 2}))
    country = forms.ChoiceField(label="Select", choices=[("AU", "Australia"), ("US", "United States")])
    choice = forms.ChoiceField(
        label="Radios", choices=[("a", "The first"), ("b", "The second")], widget=forms.RadioSelect
    )
    tick = forms.BooleanField(label="A tick", required=False)


CHIPS = {
    "neutral": "Label ready",
    "info": "On its way",
    "ok": "Delivered",
    "warn": "Missed pickup",
    "bad": "Not booked",
}


@audience(*EVERY_MEMBER)
@require_safe
def styleguide(request: MemberRequest) -> HttpResponse:
    context = {"plain": Sample(auto_id="plain_%s"), "form": Sample({}), "chips": CHIPS}
    return render(request, "styleguide.html", context)
