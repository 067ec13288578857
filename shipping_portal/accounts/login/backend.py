"""Read the user of a request together with their membership."""

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.db.models import BigIntegerField

from shipping_portal.accounts.models import User
from shipping_portal.db.planned_statements import Given, PlannedSelect

MEMBER = PlannedSelect(
    User.objects.select_related("membership__sender").filter(pk=Given("pk", BigIntegerField()))
)


class MemberBackend(AuthenticationBackend):
    """allauth's backend, which reads the membership and its account in the user's own query."""

    def get_user(self, user_id: Any) -> User | None:
        found = MEMBER.first(pk=user_id)
        return found if found and self.user_can_authenticate(found) else None
