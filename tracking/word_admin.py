"""What the carrier's words mean: an operator looks at what a meaning would change, then decides."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse
from django.utils import timezone

from orders.models.statuses import Progress
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.actions import ReasonForm
from shipping_portal.accounts.adminkit.facts import ReadOnlyAdmin
from tracking import queues, word_decisions
from tracking.models import EventWord

MEANINGS = [("", word_decisions.NOTHING.capitalize()), *(choice for choice in Progress.choices if choice[0])]


class EventWordForm(forms.Form):
    """The meaning whose effect is to be shown."""

    progress = forms.ChoiceField(label="Meaning", choices=MEANINGS, required=False)


class DecideForm(ReasonForm):
    """The meaning whose effect was shown, and why."""

    progress = forms.ChoiceField(choices=MEANINGS, required=False, widget=forms.HiddenInput)


@admin.register(EventWord)
class EventWordAdmin(ReadOnlyAdmin):
    """Words come from scans; an operator says what they mean, nobody adds or deletes them. Undecided ones first."""

    change_form_template = "admin/with_acts.html"
    list_display = ["word", "meaning", "scans", "first_seen_at", "is_decided"]
    waits = ("is_known__exact", queues.WORDS)
    list_filter = ["is_known"]
    search_fields = ["word"]
    ordering = ["is_known", "-scans", "word"]
    fields = ["word", "meaning", "is_decided", "scans", "spelled", "first_seen_at"]
    readonly_fields = ["meaning", "is_decided", "spelled"]

    def get_urls(self) -> list[URLPattern]:
        return [self.own_page("<int:pk>/decide/", "decide", self.decide_view), *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        acts = []
        if permissions.may(request.user, "reword") and object_id.isdecimal():
            acts = [("Map this term", reverse("admin:tracking_eventword_decide", args=[object_id]))]
        return super().change_view(request, object_id, form_url, {"acts": acts, **(extra_context or {})})

    def decide_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what a meaning would change; POST keeps it, with a reason."""
        word = EventWord.objects.filter(pk=pk).first()
        if word is None:
            raise Http404
        permissions.demand(request.user, "reword")
        if request.method != "POST":
            return self._decide_page(request, word)
        form = DecideForm(request.POST)
        if not form.is_valid():
            return self._decide_page(request, word, form=form)
        owed = word_decisions.reword(word, **form.cleaned_data, by=request.user, now=timezone.now())
        done = f"“{word}” is mapped. Parcels to recalculate in the next few minutes: {owed}."
        messages.success(request, done)
        return redirect("admin:tracking_eventword_changelist")

    def _decide_page(self, request: HttpRequest, word: EventWord, *, form: DecideForm | None = None) -> HttpResponse:
        chosen = request.GET if "progress" in request.GET else {"progress": word.progress}
        meaning = EventWordForm(form.data if form else chosen)
        progress = meaning.cleaned_data["progress"] if meaning.is_valid() else word.progress
        context = {
            **self.admin_site.each_context(request),
            "title": f"What “{word}” means",
            "word": word,
            "meaning": meaning,
            "says": dict(MEANINGS)[progress],
            "is_as_now": word.is_known and progress == word.progress,
            "effect": word_decisions.effect(word, progress),
            "form": form or DecideForm(initial={"progress": progress}),
        }
        return TemplateResponse(request, "admin/decide_word.html", context)

    @admin.display(description="means", ordering="progress")
    def meaning(self, word: EventWord) -> str:
        return dict(MEANINGS)[word.progress]

    @admin.display(description="decided", boolean=True, ordering="is_known")
    def is_decided(self, word: EventWord) -> bool:
        return word.is_known or bool(word.progress)

    @admin.display(description="spelling in scans")
    def spelled(self, word: EventWord) -> str:
        return ", ".join(f"“{spelling}”" for spelling in word.spellings) or "–"
