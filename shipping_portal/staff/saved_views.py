"""Save views of the admin's lists: an operator's filters under a name, as links above the list.

Search terms are left out: they name people, and erasing a person doesn't erase views.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from shipping_portal.accounts.adminkit.facts import Context
from shipping_portal.staff.models import DeskView

MOST = 20  # views of one operator, for one list


class ViewForm(forms.Form):
    """A name for the present filters."""

    name = forms.CharField(label="View name", max_length=60)
    query = forms.CharField(max_length=2000, widget=forms.HiddenInput)

    def clean_name(self) -> str:
        """Reject an email or a link: views aren't erased with a person."""
        name: str = self.cleaned_data["name"]
        if "@" in name or "://" in name:
            raise forms.ValidationError("Don't use email addresses or links.")
        return name


def views_and_form(site: admin.AdminSite, request: HttpRequest) -> Context:
    """Return the operator's views of this list, and the form for its present filters, if any."""
    name = str(getattr(request.resolver_match, "url_name", "")).removesuffix("_changelist")
    query = _list_filters(_list_of(site, request, name), request.GET.urlencode())
    saved = [*DeskView.objects.filter(owner=request.user.pk, list=name).order_by("name")[:MOST]]
    form = ViewForm(initial={"query": query}, auto_id="view-%s") if query else None
    return {"list": name, "saved": saved, "query": query, "form": form}


def save_view(site: admin.AdminSite, request: HttpRequest, name: str) -> HttpResponse:
    """Save the filters under a name, replacing the operator's view with that name."""
    kept, form = _list_of(site, request, name), ViewForm(request.POST)
    own = DeskView.objects.filter(owner=request.user.pk, list=name)
    if form.is_valid() and not (query := _list_filters(kept, form.cleaned_data["query"])):
        form.add_error(None, "Filter the list first. Nothing was saved.")
    elif form.is_valid() and own.exclude(name=form.cleaned_data["name"]).count() >= MOST:
        form.add_error(None, f"You have {MOST} views of this list. Delete one first.")
    if not form.is_valid():
        context = {**site.each_context(request), "title": "Save this view", "form": form}
        return TemplateResponse(request, "admin/save_view.html", context)
    called = form.cleaned_data["name"]
    DeskView.objects.update_or_create(
        owner_id=request.user.pk, list=name, name=called, defaults={"query": query}
    )
    messages.success(request, f"Saved as “{called}”.")
    return redirect(f"{reverse(f'admin:{name}_changelist')}?{query}")


def delete_view(site: admin.AdminSite, request: HttpRequest, pk: int) -> HttpResponse:
    """Delete one of the operator's own views."""
    view = get_object_or_404(DeskView, owner=request.user.pk, pk=pk)
    view.delete()
    messages.success(request, f"“{view}” deleted.")
    return redirect(f"admin:{view.list}_changelist")


def _list_of(site: admin.AdminSite, request: HttpRequest, name: str) -> "admin.ModelAdmin[Any]":
    """Return the admin page of the list with that name.

    Raises Http404 if this operator may not see it.
    """
    for model, page in site._registry.items():
        if f"{model._meta.app_label}_{model._meta.model_name}" == name and page.has_view_permission(
            request
        ):
            return page
    raise Http404


def _list_filters(page: Any, query: str) -> str:
    """Return the list's filters in a query, in its own order, or "" if none or too long."""
    kept = QueryDict(mutable=True)
    for parameter, value in QueryDict(query).items():
        if value and page.lookup_allowed(parameter, str(value), None):
            kept[parameter] = str(value)
    text = kept.urlencode()
    return text if len(text) <= 400 else ""
