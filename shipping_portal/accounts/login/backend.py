"""Read the user of a request together with their membership."""

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend

from shipping_portal.accounts.models import User


class MemberBackend(AuthenticationBackend):
    """allauth's backend, which reads the membership and its account in the user's own query."""

    def get_user(self, user_id: Any) -> User | None:
        found = User.objects.select_related("membership__sender").filter(pk=user_id).first()
        return found if found and self.user_can_authenticate(found) else None
