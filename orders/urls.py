"""Route every page about parcels."""

from django.urls import path

from orders.views.addresses import (
    add_receiver,
    addresses,
    delete_receiver,
    edit_receiver,
    merge_receivers,
)
from orders.views.bulk import cancel_many, dismiss_many, export, note_many, send_again
from orders.views.cancel import cancel
from orders.views.labels import (
    label,
    label_test_page,
    originals_zip,
    print_queue,
    printed,
    printed_many,
)
from orders.views.new_parcel import delete_draft, new_parcel, parcel_draft
from orders.views.older_addresses import older_prices
from orders.views.parcel import (
    booking_progress,
    confirm_price,
    dismiss,
    parcel,
    parcel_by_reference,
)
from orders.views.parcels import choose_columns, delete_view, parcels, save_view
from orders.views.pickup_sheets import handover, packing_slips, pick_list
from orders.views.price_check import check_price, checked_price
from orders.views.quotes import book, quotes
from orders.views.replace import replace, replacing_progress
from orders.views.send_back import send_back
from orders.views.sizes import add_size, change_size, delete_size, edit_size, sizes
from orders.views.stations import (
    print_at_station,
    print_stations,
    station_program,
    stop_station,
    withdraw_prints,
)
from orders.views.suggestions import suggest_receivers

urlpatterns = [
    path("parcels/", parcels, name="parcels"),
    path("parcels/new/", new_parcel, name="new_parcel"),
    path("prices/", check_price, name="check_price"),
    path("prices/<uuid:draft>/", checked_price, name="checked_price"),
    path("parcels/drafts/<uuid:draft>/", parcel_draft, name="draft"),
    path("parcels/drafts/<uuid:draft>/prices/", quotes, name="quotes"),
    path("parcels/drafts/<uuid:draft>/prices/book/", book, name="book"),
    path("parcels/drafts/<uuid:draft>/delete/", delete_draft, name="delete_draft"),
    path("parcels/<uuid:order>/", parcel, name="parcel"),
    path("parcels/<uuid:order>/booking/", booking_progress, name="booking_progress"),
    path("parcels/<uuid:order>/confirm/", confirm_price, name="confirm_price"),
    path("parcels/<uuid:order>/cancel/", cancel, name="cancel"),
    path("parcels/<uuid:order>/dismiss/", dismiss, name="dismiss"),
    path("parcels/<uuid:order>/replace/", replace, name="replace"),
    path("parcels/<uuid:order>/return/", send_back, name="send_back"),
    path("parcels/<uuid:order>/replacing/", replacing_progress, name="replacing"),
    path("parcels/<uuid:order>/label/<str:size>.pdf", label, name="label"),
    path("parcels/<uuid:order>/printed/", printed, name="printed"),
    path("parcels/print/", print_queue, name="print_queue"),
    path("parcels/print/done/", printed_many, name="printed_many"),
    path("parcels/print/pick-list/", pick_list, name="pick_list"),
    path("parcels/print/packing-slips/", packing_slips, name="packing_slips"),
    path("parcels/print/handover/", handover, name="handover"),
    path("parcels/print/originals.zip", originals_zip, name="originals"),
    path("parcels/print/stations/", print_stations, name="print_stations"),
    path("parcels/print/stations/print_station.py", station_program, name="station_program"),
    path("parcels/print/stations/<uuid:station>/print/", print_at_station, name="print_at_station"),
    path("parcels/print/stations/<uuid:station>/stop/", stop_station, name="stop_station"),
    path(
        "parcels/print/stations/<uuid:station>/withdraw/", withdraw_prints, name="withdraw_prints"
    ),
    path("labels/test-page/", label_test_page, name="label_test_page"),
    path("suggest/receivers/", suggest_receivers, name="suggest_receivers"),
    path("addresses/", addresses, name="addresses"),
    path("addresses/new/", add_receiver, name="add_receiver"),
    path("addresses/duplicates/", merge_receivers, name="merge_receivers"),
    path("addresses/<uuid:receiver>/", edit_receiver, name="edit_receiver"),
    path("addresses/<uuid:receiver>/delete/", delete_receiver, name="delete_receiver"),
    path("sizes/", sizes, name="sizes"),
    path("sizes/new/", add_size, name="add_size"),
    path("sizes/<uuid:size>/", edit_size, name="edit_size"),
    path("sizes/<uuid:size>/change/", change_size, name="change_size"),
    path("sizes/<uuid:size>/delete/", delete_size, name="delete_size"),
    path("parcels/dismiss/", dismiss_many, name="dismiss_many"),
    path("parcels/cancel/", cancel_many, name="cancel_many"),
    path("parcels/note/", note_many, name="note_many"),
    path("parcels/again/", send_again, name="send_again"),
    path("parcels/export.csv", export, name="export"),
    path("parcels/columns/", choose_columns, name="choose_columns"),
    path("parcels/views/", save_view, name="save_view"),
    path("parcels/views/<slug:view>/delete/", delete_view, name="delete_view"),
    path("parcels/new/<uuid:quote>/", older_prices, name="older_quotes"),
    path("parcels/new/<uuid:quote>/book/", older_prices, name="older_book"),
    path("parcels/<uuid:order>/replace/<uuid:quote>/", older_prices, name="older_replacement"),
    path("parcels/new/prices/", new_parcel, name="older_live_prices"),
    path("parcels/new/pasted/", new_parcel, name="older_paste"),
    path("parcels/drafts/", new_parcel, name="older_drafts"),
    path("parcels/<str:reference>/", parcel_by_reference, name="parcel_by_reference"),
]
