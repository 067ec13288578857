"""Show people who log in, and the carrier's published suburb and postcode pairs, to operators."""

from functools import partial
from typing import Any

from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import admin, messages
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from shipping_portal.accounts import api_tokens
from shipping_portal.accounts.address import locality_lists
from shipping_portal.accounts.address.locality_lists import UnreadableList, import_list
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.facts import AdminPage, Context, ReadOnlyAdmin, column
from shipping_portal.accounts.adminkit.filters import choices
from shipping_portal.accounts.erasing import NOBODYS
from shipping_portal.accounts.models import (
    ApiToken,
    Audit,
    Locality,
    LocalityAlias,
    LocalityList,
    Role,
    User,
    WebhookEndpoint,
)
from shipping_portal.accounts.teams import people
from shipping_portal.accounts.token_admin import new_token_page
from shipping_portal.accounts.webhooks import switching
from shipping_portal.db.keyset import count_rows

LARGEST_FILE = 2_000_000


class GroupsForm(ReasonForm):
    """Asks which groups an operator will be in, and why."""

    groups = forms.MultipleChoiceField(
        choices=[(name, name) for name in permissions.GROUPS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Clear all to remove operator access.",
    )
    field_order = ["groups", "reason"]


class MoveForm(ReasonForm):
    """Asks which account a person joins, and in which role."""

    number = forms.CharField(max_length=12, help_text="Of the account to join, like A-1042.")
    role = forms.ChoiceField(choices=Role.choices, initial=Role.VIEWER)
    field_order = ["number", "role", "reason"]


def _totp() -> QuerySet[Authenticator]:
    return Authenticator.objects.filter(type=Authenticator.Type.TOTP)


ENROLLED = Q(pk__in=_totp().values("user"))


act = partial(AdminAction, needs="people")


def _is_erased(user: User) -> bool:
    return user.email.endswith(NOBODYS)


@admin.register(User)
class UserAdmin(ActionsAdmin):
    """Turn logins off and on, end sessions, reset second factors, and set operators' groups."""

    admin_actions = (
        act(
            "turn-off",
            "Disable login",
            "This person is logged out everywhere and can't log in.",
            partial(people.set_active, is_active=False),
            applies=lambda user: user.is_active,
        ),
        act(
            "turn-on",
            "Enable login",
            "This person can log in again.",
            partial(people.set_active, is_active=True),
            applies=lambda user: not user.is_active and not _is_erased(user),
        ),
        act(
            "log-out",
            "Log out everywhere",
            "Ends all of this person's sessions. They can log in again with their password.",
            people.log_out,
            applies=lambda user: user.is_active,
        ),
        act(
            "reset-second-factor",
            "Reset two-step verification",
            "Removes the authenticator and recovery codes, and emails the person. First confirm who"
            " is asking: call back on a number you know.",
            people.reset_second_factor,
            applies=lambda user: user.has_second_factor,
        ),
        act(
            "move",
            "Move to a business",
            "This person leaves their account, is logged out, and joins the one with this number."
            " What they booked stays where it is. Sign-on doesn't move anybody.",
            people.move_person,
            applies=lambda user: not user.is_staff and not _is_erased(user),
            form=MoveForm,
        ),
        act(
            "groups",
            "Set groups",
            "What this person can see and do in the admin. Someone who ships for a sender can't be"
            " an operator. A new operator is logged out and must set a password of at least 15"
            " characters before the next login.",
            people.set_groups,
            needs="operators",
            applies=lambda user: not people.why_no_groups(user) and not _is_erased(user),
            form=GroupsForm,
            initial=lambda user: {"groups": [group.name for group in user.groups.all()]},
        ),
    )
    list_display = [
        "email",
        "name",
        "sender",
        "role",
        "is_staff",
        "is_active",
        "second_factor",
        "last_login",
    ]
    list_filter = [
        "is_staff",
        "is_active",
        choices(
            "two-step verification",
            "second_factor",
            {"yes": ("Set up", ENROLLED), "no": ("None", ~ENROLLED)},
        ),
    ]
    search_fields = ["email", "name", "membership__sender__name"]
    fields = [
        "email",
        "name",
        "sender",
        "role",
        "is_staff",
        "in_groups",
        "is_active",
        "second_factor",
        "last_login",
        "date_joined",
    ]
    readonly_fields = ["sender", "role", "in_groups", "second_factor"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        enrolled = Exists(_totp().filter(user=OuterRef("pk")))
        users = super().get_queryset(request).select_related("membership__sender")
        return users.annotate(has_second_factor=enrolled)

    sender = column(
        "sender", lambda user: user.membership.sender if hasattr(user, "membership") else None
    )
    role = column(
        "role", lambda it: it.membership.get_role_display() if hasattr(it, "membership") else "–"
    )
    in_groups = column(
        "groups", lambda user: ", ".join(group.name for group in user.groups.all()) or "–"
    )
    second_factor = column(
        "two-step verification", lambda user: user.has_second_factor, boolean=True
    )


@admin.register(ApiToken)
class ApiTokenAdmin(ActionsAdmin):
    """API tokens: those that members make for themselves, and partners' tokens."""

    admin_actions = (
        act(
            "revoke",
            "Revoke",
            "Programs that use this token are refused from now on.",
            api_tokens.revoke_token,
            needs="api",
            applies=lambda token: token.revoked_at is None,
        ),
    )
    admin_pages = (
        AdminPage("new", new_token_page, needs="api", label="New partner token", is_of_list=True),
    )
    list_display = [
        "name",
        "start",
        "user",
        "sender",
        "made_at",
        "ends_at",
        "used_at",
        "revoked_at",
    ]
    list_filter = [
        choices(
            "whose",
            "whose",
            {
                "partner": ("A partner's", Q(user=None)),
                "member": ("A member's", Q(user__isnull=False)),
            },
        )
    ]
    list_select_related = ["user", "sender"]
    search_fields = ["name", "start", "user__email", "sender__name"]
    fields = [
        "name",
        "start",
        "user",
        "sender",
        "may",
        "made_by",
        "made_at",
        "ends_at",
        "used_at",
        "revoked_at",
    ]
    readonly_fields = ["may"]
    may = column("may", lambda token: ", ".join(token.scopes))


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(ActionsAdmin):
    """Where senders' events go. Senders add and resume endpoints in their own settings."""

    admin_actions = (
        act(
            "pause",
            "Pause",
            "Nothing is sent to this address, and its events wait, until an owner resumes it.",
            switching.pause_endpoint,
            needs="api",
            applies=lambda endpoint: endpoint.paused_at is None,
        ),
    )
    list_display = ["sender", "url", "made_at", "paused_at", "off_why", "failing_since"]
    list_filter = [
        choices(
            "state",
            "state",
            {
                "on": ("On", Q(paused_at=None)),
                "paused": ("Paused", Q(paused_at__isnull=False, off_why="")),
                "off": ("Switched off", ~Q(off_why="")),
                "failing": ("Failing", Q(failing_since__isnull=False)),
            },
        )
    ]
    list_select_related = ["sender"]
    search_fields = ["sender__name"]
    fields = [
        "sender",
        "url",
        "wants",
        "made_by",
        "made_at",
        "paused_at",
        "off_why",
        "failing_since",
        "failures",
        "held_until",
        "old_secret_ends_at",
        "waiting",
    ]
    readonly_fields = ["wants", "waiting"]

    wants = column("events", lambda endpoint: ", ".join(endpoint.kinds))
    waiting = column("waiting", lambda endpoint: count_rows(endpoint.events.filter(done_at=None)))


class LocalityUploadForm(forms.Form):
    """A file with a country's published suburbs and postcodes."""

    file = forms.FileField(
        help_text="UTF-8 CSV, up to 2 MB, with columns country, suburb, state and postcode."
    )

    def clean_file(self) -> Any:
        if self.cleaned_data["file"].size > LARGEST_FILE:
            raise forms.ValidationError(
                "The file is larger than 2 MB. Import it with manage.py localities."
            )
        return self.cleaned_data["file"]


class CheckedForm(ReasonForm):
    """The checked file, sent back by the browser for the import, and the reason."""

    content = forms.CharField(widget=forms.HiddenInput, strip=False)
    source = forms.CharField(widget=forms.HiddenInput)


def import_page(request: HttpRequest, context: Context) -> HttpResponse:
    """Upload a file, preview the changes, then import it.

    Nothing changes before confirmation.
    """
    if "content" in request.POST:
        return _import(request, context, CheckedForm(request.POST))
    form = LocalityUploadForm(request.POST or None, request.FILES or None)
    if not form.is_valid():
        return _page(request, context, form=form)
    file = form.cleaned_data["file"]
    content = file.read()
    try:
        previews = _previews(request, content, file.name)
    except UnreadableList as problem:
        form.add_error("file", str(problem))
        return _page(request, context, form=form)
    carried = CheckedForm(initial={"content": content.decode("utf-8-sig"), "source": file.name})
    return _page(request, context, previews=previews, checked=carried)


def _previews(
    request: HttpRequest, content: bytes, source: str
) -> list[locality_lists.ListPreview]:
    return locality_lists.preview_import(content, source=source, by=request.user, at=timezone.now())


def _import(request: HttpRequest, context: Context, form: CheckedForm) -> HttpResponse:
    content, source = request.POST["content"].encode(), request.POST.get("source", "")
    try:
        if not form.is_valid():
            return _page(
                request, context, previews=_previews(request, content, source), checked=form
            )
        reason, now = form.cleaned_data["reason"], timezone.now()
        done = import_list(content, source=source, by=request.user, at=now, reason=reason)
    except UnreadableList:  # it isn't the file that was checked
        return _page(request, context, form=LocalityUploadForm())
    for change in done:
        text = (
            f"{change.country}: {change.rows} pairs, {change.added} added, {change.removed}"
            " removed."
        )
        if change.off_list:
            text += f" {change.off_list} addresses in senders' address books aren't on the list."
        messages.success(request, text)
    return redirect("admin:accounts_localitylist_changelist")


def _page(request: HttpRequest, context: Context, **more: Any) -> HttpResponse:
    shown = {**context, "title": "Import a locality list", **more}
    return TemplateResponse(request, "admin/import_localities.html", shown)


@admin.register(LocalityList)
class LocalityListAdmin(ActionsAdmin):
    """The lists of suburbs and postcodes by country: the active one, and earlier ones."""

    admin_actions = (
        AdminAction(
            "use-again",
            "Use this list",
            "Suburbs and postcodes are checked against this list from now on. It replaces the"
            " country's current list.",
            locality_lists.reactivate_list,
            needs="localities",
            applies=lambda chosen: not chosen.is_active,
        ),
    )
    admin_pages = (
        AdminPage(
            "import", import_page, needs="localities", label="Import a list", is_of_list=True
        ),
    )
    list_display = ["country", "source", "rows", "loaded_at", "is_active"]
    list_filter = ["country", "is_active"]


@admin.register(Locality)
class LocalityAdmin(ReadOnlyAdmin):
    list_display = ["suburb", "state", "postcode", "country", "list"]
    list_filter = ["country", "list__is_active"]
    list_select_related = ["list"]
    search_fields = ["suburb__istartswith", "=postcode"]


class AliasForm(ReasonForm, forms.ModelForm):
    """Asks for one spelling of a word for another: “mt” for “mount”."""

    field_order = ["word", "stands_for", "reason"]

    class Meta:
        model = LocalityAlias
        fields = ["word", "stands_for"]

    def clean_word(self) -> str:
        return _as_listed(self.cleaned_data["word"])

    def clean_stands_for(self) -> str:
        return _as_listed(self.cleaned_data["stands_for"])


def _as_listed(word: str) -> str:
    """Return a word in capitals, as the lists have it: aliases are compared word by word."""
    if len(word.split()) > 1:
        raise forms.ValidationError("Enter one word, like MT.")
    return word.strip().upper()


def _remove(alias: LocalityAlias, **written: Any) -> str:
    words = str(alias)
    alias.delete()
    return words


@admin.register(LocalityAlias)
class LocalityAliasAdmin(ActionsAdmin):
    """Edit aliases, which are ours, not the carrier's. Every change has a reason and is audited."""

    admin_actions = (
        AdminAction(
            "remove",
            "Remove",
            "This alias no longer applies to what senders type.",
            _remove,
            needs="localities",
            audit="alias removed",
        ),
    )
    form = AliasForm
    list_display = ["word", "stands_for"]
    search_fields = ["word", "stands_for"]
    ordering = ["word"]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return permissions.may(request.user, "localities")

    has_change_permission = has_add_permission

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        reads_only = obj is not None and not self.has_change_permission(request, obj)
        return ["word", "stands_for", *([] if reads_only else ["reason"])]

    def save_model(self, request: HttpRequest, obj: LocalityAlias, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        reason = f"{obj}: {form.cleaned_data['reason']}"
        Audit.write("alias saved", obj, by=request.user, reason=reason, at=timezone.now())
