"""The carrier's dashboard: the newest orders with their ids, only for this machine."""

from types import SimpleNamespace

from shipping_portal.sandbox import public
from tests.sandbox.client import an_order


def test_the_dashboard_lists_each_order_with_its_id_and_our_keys(carrier):
    order = carrier.book(an_order(customer_reference="<b>1</b>")).json
    page = carrier.call("GET", "/dashboard").body.decode()
    cells = [order["carrier_reference"], order["order_id"], "order-1", "&lt;b&gt;1&lt;/b&gt;"]
    assert "".join(f"<td>{cell}</td>" for cell in cells) in page


def test_nobody_else_sees_it():
    request = SimpleNamespace(method="GET", path="/dashboard", query={}, is_local=False)
    depot = SimpleNamespace(contract={"link_page": "", "link_token_query": "token"})
    assert public.answer(request, depot) is None
