"""The operators' site's own tables."""

from shipping_portal.staff.models.alerts import Alert, AlertMessage, Severity
from shipping_portal.staff.models.cases import Assignment, Note, SenderMail
from shipping_portal.staff.models.certificates import Certificate
from shipping_portal.staff.models.views import DeskView
