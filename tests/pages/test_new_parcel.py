"""New parcel: the form, its prices and the Book button, over the real sandbox."""

from orders.models import Order, Quote

FORM = {
    "receiver_name": "Priya Nair",
    "receiver_company": "",
    "receiver_country": "AU",
    "receiver_line1": "4 Sample Street",
    "receiver_line2": "",
    "receiver_suburb": "Brunswick",
    "receiver_state": "VIC",
    "receiver_postcode": "3056",
    "receiver_email": "priya@example.net",
    "receiver_phone": "0491 570 156",
    "delivery_choice": "none",
    "delivery_place": "",
    "description": "Ceramic mugs",
    "weight_kg": "2.4",
    "length_cm": "32",
    "width_cm": "24",
    "height_cm": "11",
    "customer_reference": "",
    "cover_amount": "",
}


def test_smoke(carrier, localities, alice, visit):
    c = visit(alice)
    r = c.get("/parcels/new/")
    assert r.status_code == 200
    r = c.post("/parcels/new/", FORM)
    assert r.status_code == 302, r.content.decode()
    r = c.get(r["Location"])
    assert r.status_code == 200
    q = Quote.objects.get()
    r = c.post(
        f"/parcels/new/{q.uuid}/book/",
        {"product": "STANDARD-PICKUP", "pickup_date": "", "form_token": str(q.uuid)},
    )
    assert r.status_code == 302, r.content.decode()
    r = c.get(r["Location"])
    assert "Asking the carrier" in r.content.decode()
    from orders import booking

    o = Order.objects.get()
    booking.work(o.pk)
    o.refresh_from_db()
    r = c.get(f"/parcels/{o.uuid}/")
    print(r.content.decode())
    assert r.status_code == 200
    assert c.get("/parcels/").status_code == 200
    assert c.get(f"/parcels/{o.uuid}/cancel/").status_code == 200
    assert c.get("/watch/").status_code == 200
