"""Serve labels: a link that needs credentials leads to a file that doesn't, for a minute."""

from shipping_portal.sandbox import replies, signing
from shipping_portal.sandbox.endpoints import Endpoints
from shipping_portal.sandbox.labels import label_file
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.trouble import CONTENT_VERBS
from shipping_portal.sandbox.wire import Refused, Reply, not_found


class LabelEndpoints(Endpoints):
    """The only endpoints from which a label leaves the carrier."""

    def label(self, request: Request, order_id: str, reference: str) -> Reply:
        """Return a label: HEAD leads to a file link valid for a minute, GET returns the file."""
        parcel, size = self._label(order_id, reference)
        astray = request.suffers("redirect-elsewhere")
        if astray:
            elsewhere = astray.arg or "http://169.254.169.254/latest/meta-data/"
            return Reply(302, headers=[("Location", str(elsewhere))], content_type="")
        if request.method == "GET":
            return self._file(request, parcel, size)
        if self.contract["label_fetch"] == "get":
            return Reply(405, headers=[("Allow", "GET")], content_type="")
        expires = self.depot.now().timestamp() + self.depot.settings.file_link_seconds
        token = signing.mint({"sub": f"{order_id}/{size}", "exp": expires}, self.depot.file_secret)
        host = self.depot.settings.files_host or request.base_url
        location = f"{host.rstrip('/')}/files/{order_id}/{size}.pdf?token={token}"
        return Reply(302, headers=[("Location", location)], content_type="")

    def file(self, request: Request, order_id: str, reference: str) -> Reply:
        """Return the file behind a signed link: no credentials, one minute."""
        parcel, size = self._label(order_id, reference)
        token, now = request.query.get("token", ""), self.depot.now().timestamp()
        claims = signing.read(token, self.depot.file_secret, now=now)
        if not claims or claims.get("sub") != f"{order_id}/{size}":
            raise Refused(403, "forbidden", "This link has expired.")
        return self._file(request, parcel, size)

    def _file(self, request: Request, parcel: Parcel, size: str) -> Reply:
        content = label_file(parcel, size, self.contract, self.depot.config.state / "labels")
        fault = request.suffers(*CONTENT_VERBS)
        if fault and fault.verb == "html":
            return Reply(200, b"<html><body>Please sign in</body></html>", "text/html")
        if fault:
            content = (
                content[: len(content) // 2]
                if fault.verb == "truncated"
                else content + b"% another copy\n"
            )
        return Reply(200, content, "application/pdf")

    def _label(self, order_id: str, name: str) -> tuple[Parcel, str]:
        parcel, size = self.order(order_id), name.removesuffix(".pdf")
        is_ready = self.depot.now().timestamp() >= parcel.labels_due_at
        if not name.endswith(".pdf") or size not in replies.label_sizes(parcel) or not is_ready:
            raise not_found()
        return parcel, size
