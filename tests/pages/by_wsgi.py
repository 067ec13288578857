"""A browser whose requests come to the portal as gunicorn brings them: past the short cut for labels first."""

import time
from typing import Any

from django.http import HttpResponse
from django.test import Client, RequestFactory

from orders.label_short_cut import labels_first


class ByWsgi(Client):
    """What the short cut leaves is answered as for any client; `was_short` says whether it left the last one."""

    was_short = False

    def get(self, path: str, **extra: Any) -> Any:
        # As after the first page somebody sees; a new dict would be another session.
        session = self.session
        if "_auth_user_id" in session and "began_at" not in session:
            session.update({"began_at": time.time(), "device": "Computer"})
            session.save()
        factory, told = RequestFactory(), []
        factory.cookies = self.cookies
        environ = factory.get(path, **extra).environ
        parts = labels_first(lambda *_: [])(environ, lambda *line: told.append(line))
        content = b"".join(parts)
        self.was_short = bool(told)
        if not told:
            return super().get(path, **extra)
        [(status, headers)] = told
        return HttpResponse(content, status=int(status.split()[0]), headers=dict(headers))
