"""List the pages to measure, and the 95th percentile that each may take."""

from dataclasses import dataclass

SENDER, OPERATOR = "sender", "operator"
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@dataclass(frozen=True)
class Page:
    """An address, whose `path` may name rows.

    {order} is a parcel with sixty scans, {key} and {sender} are its admin's, {file} is an import
    of two hundred rows, {week} a week of ten thousand charges, and {middle} a key.
    """

    name: str
    path: str
    most_ms: int
    who: str = SENDER
    most_ratio: float = 1.5


PAGES = (
    Page("suburbs that begin with bru", "/suggest/localities/?country=AU&q=bru", 50),
    Page("a postcode", "/suggest/localities/?country=AU&q=305", 50),
    Page("parcels", "/parcels/", 200),
    Page("parcels, in the middle", "/parcels/?before={middle}", 200),
    Page("parcels that need attention", "/parcels/?view=attention", 200),
    Page("search for a name", "/parcels/?q=zoltan", 200),
    Page("one parcel with sixty scans", "/parcels/{order}/", 150),
    Page("Today", "/today/", 200, most_ratio=2.2),  # every parcel still in progress is counted
    Page("the files of imports", "/imports/", 200),
    Page("the check of an import", "/imports/{file}/check/", 500),
    Page("billing, week by week", "/billing/", 500),
    Page("a statement of 10,000 lines", "/billing/{week}/", 500),
    Page("reports of thirteen weeks", "/reports/", 200),
    Page("reports of a year", "/reports/?weeks=52", 200),
    Page("parcels that may be refunded", "/reports/refunds/", 200, most_ratio=2.5),  # the late ones of half a year
    Page("labels to print", "/parcels/print/", 500),
    Page("saved receivers", "/addresses/", 200),
    Page("orders in the admin", "/admin/orders/order/", 500, OPERATOR),
    Page(
        "a receiver's name, in the admin", "/admin/orders/order/?q=priya+nair", 500, OPERATOR, 4.0
    ),  # one in a hundred
    Page("a reference, in the admin", "/admin/orders/order/?q=SB0000123", 500, OPERATOR),
    Page("what nobody has, in the admin", "/admin/orders/order/?q=nothing", 500, OPERATOR),
    Page("one order in the admin", "/admin/orders/order/{key}/change/", 500, OPERATOR),
    Page("parcels in the admin", "/admin/tracking/parcel/", 500, OPERATOR),
    Page("scans in the admin", "/admin/tracking/trackingevent/", 500, OPERATOR),
    Page("charges in the admin", "/admin/billing/charge/", 500, OPERATOR),
    Page("reports in the admin", "/admin/billing/billingreport/", 500, OPERATOR),
    Page("imports in the admin", "/admin/importing/import/", 500, OPERATOR),
    Page("the audit", "/admin/accounts/audit/", 500, OPERATOR),
    Page("a sender in the admin", "/admin/accounts/sender/{sender}/change/", 500, OPERATOR),
    Page("not refunded, in the admin", "/admin/orders/order/?needs=not-refunded", 500, OPERATOR, 4.0),  # a full list
    Page("the admin's first page", "/admin/", 500, OPERATOR, 3.0),  # 5,000 of each kind that waits, and 23,000 refunds
)
