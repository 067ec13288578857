"""Who did what, when and why. Read here, never changed anywhere."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from shipping_portal.accounts.models import Audit
from shipping_portal.desk.admin.reading import ReadOnlyAdmin


@admin.register(Audit)
class AuditAdmin(ReadOnlyAdmin):
    list_display = ["at", "actor", "action", "subject", "sender", "reason"]
    list_select_related = ["actor", "sender"]
    search_fields = ["=subject", "=action", "=actor__email"]
    search_help_text = "Subject such as “order 17”, action, or the person's e-mail"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Audit]:
        return super().get_queryset(request).select_related("actor", "sender")
