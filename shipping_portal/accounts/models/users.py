"""People who log in by email address, and their sessions."""

from importlib import import_module
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models.functions import Lower

from shipping_portal.accounts.login.passwords import StaffLengthValidator
from shipping_portal.concurrent_indexes import TrigramIndex


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create the first operator, who can log in before email is set up.

        The address counts as verified: this trusts the command line.

        Raises ValidationError for a password too short for an operator; `createsuperuser` says so.
        """
        from allauth.account.models import EmailAddress  # noqa: PLC0415  (its model names this one)

        StaffLengthValidator().validate(password or "", User(is_staff=True))
        user = self.create_user(email, password, is_staff=True, is_superuser=True, **fields)
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
        return user

    def get_by_natural_key(self, email: str | None) -> "User":
        return self.get(email=(email or "").lower())


USUAL_COLUMNS = "order journey pickup due price"


class User(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True)
    is_staff = models.BooleanField("operator", default=False)
    is_active = models.BooleanField("active", default=True)
    theme = models.CharField(
        max_length=6,
        default="system",
        choices=[("system", "As my device"), ("light", "Light"), ("dark", "Dark")],
    )
    has_shortcuts = models.BooleanField("single-key shortcuts", default=True)
    # Names of orders/list/columns.py, separated by spaces.
    list_columns = models.CharField(
        max_length=120,
        blank=True,
        default=USUAL_COLUMNS,
        db_default=USUAL_COLUMNS,
        editable=False,
    )
    date_joined = models.DateTimeField(auto_now_add=True)
    # Until when, at the latest, up to two of their pages wait for the carrier
    # (orders/calling/waiting.py).
    waits_until = models.DateTimeField(null=True, editable=False)
    waits_also_until = models.DateTimeField(null=True, editable=False)

    objects = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("email"), name="user_email_once_whatever_the_case")
        ]
        indexes = [TrigramIndex(fields=["name"], name="people_by_part_of_a_name")]

    def __str__(self) -> str:
        return self.email

    def get_full_name(self) -> str:
        return self.name or self.email

    @property
    def initials(self) -> str:
        """Return two initials, of the first and last name, or the first letter of the email."""
        words = self.get_full_name().split()
        return "".join(
            word[0] for word in (words if len(words) == 1 else words[:1] + words[-1:])
        ).upper()


class Session(AbstractBaseSession):
    """A login: Django's session, with its owner in a column so that an index finds it.

    The owner is no foreign key: sessions are written often and must not wait for a user's row.
    """

    whose = models.BigIntegerField(db_index=True)

    @classmethod
    def get_session_store_class(cls) -> Any:
        return import_module(settings.SESSION_ENGINE).SessionStore
