"""Map the carrier's words: an operator previews what a meaning would change, then decides."""

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from orders.models.statuses import Progress
from shipping_portal.accounts.adminkit.actions import ReasonForm
from shipping_portal.accounts.adminkit.facts import AdminPage, Context, ReadOnlyAdmin, column
from tracking import queues, word_decisions
from tracking.models import EventWord

MEANINGS = [
    ("", word_decisions.NOTHING.capitalize()),
    *(choice for choice in Progress.choices if choice[0]),
]


class EventWordForm(forms.Form):
    """Form for the meaning to preview."""

    progress = forms.ChoiceField(label="Meaning", choices=MEANINGS, required=False)


class DecideForm(ReasonForm):
    """The previewed meaning, and the reason."""

    progress = forms.ChoiceField(choices=MEANINGS, required=False, widget=forms.HiddenInput)


def decide_page(request: HttpRequest, word: EventWord, context: Context) -> HttpResponse:
    """Show what a meaning would change; POST saves it, with a reason."""
    form = DecideForm(request.POST) if request.method == "POST" else None
    if form and form.is_valid():
        due = word_decisions.decide_word(
            word, **form.cleaned_data, by=request.user, now=timezone.now()
        )
        done = f"“{word}” is mapped. Parcels to recalculate in the next few minutes: {due}."
        messages.success(request, done)
        return redirect("admin:tracking_eventword_changelist")
    chosen = request.GET if "progress" in request.GET else {"progress": word.progress}
    meaning = EventWordForm(form.data if form else chosen)
    progress = meaning.cleaned_data["progress"] if meaning.is_valid() else word.progress
    shown = {
        "title": f"What “{word}” means",
        "word": word,
        "meaning": meaning,
        "says": dict(MEANINGS)[progress],
        "is_as_now": word.is_known and progress == word.progress,
        "effect": word_decisions.preview_effect(word, progress),
        "form": form or DecideForm(initial={"progress": progress}),
    }
    return TemplateResponse(request, "admin/decide_word.html", context | shown)


@admin.register(EventWord)
class EventWordAdmin(ReadOnlyAdmin):
    """Map words, which come from scans; nobody adds or deletes any.

    Undecided words come first.
    """

    admin_pages = (AdminPage("decide", decide_page, needs="reword", label="Map this term"),)
    list_display = ["word", "meaning", "scans", "first_seen_at", "is_decided"]
    waits = ("is_known__exact", queues.WORDS)
    list_filter = ["is_known"]
    search_fields = ["word"]
    ordering = ["is_known", "-scans", "word"]
    fields = ["word", "meaning", "is_decided", "scans", "spelled", "first_seen_at"]
    readonly_fields = ["meaning", "is_decided", "spelled"]
    meaning = column("means", lambda word: dict(MEANINGS)[word.progress], ordering="progress")
    is_decided = column(
        "decided", lambda it: it.is_known or bool(it.progress), boolean=True, ordering="is_known"
    )
    spelled = column(
        "spelling in scans", lambda word: ", ".join(f"“{it}”" for it in word.spellings) or "–"
    )
