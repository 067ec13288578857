"""Products as the carrier offers them."""


def product(**changes):
    return {
        "quote": {"gross": {"amount": 12.08, "currency": "AUD"}},
        "price_breakdown": {
            "base": {"amount": 11.2, "currency": "AUD"},
            "discount": {"amount": -1.2, "currency": "AUD"},
            "service": {"amount": 0.2, "currency": "AUD"},
            "something_new": 1,
        },
        "tax_breakdown": {"gst": {"amount": 1.08, "currency": "AUD", "rate": 0.1}},
        "plan": "Pro",
        "eta": {"days_range": [2, 5], "date_range": ["2026-03-05", "2026-03-10"], "for_send_date": "2026-03-03"},
        "product": {
            "code": "STANDARD-PICKUP",
            "name": "Standard Pickup",
            "first_mile_option": "pickup",
            "service": "standard",
        },
        "cover": {"price": {"gross": {"amount": 0.0, "currency": "AUD"}}},
        **changes,
    }
