"""Route the pages of an import."""

from django.urls import path

from shipping_portal.importing.views.booking import (
    book_import,
    failed_rows,
    import_progress,
    shipped_rows,
)
from shipping_portal.importing.views.checking import (
    check_import,
    import_row,
    price_import_again,
    save_rows,
    take_left_out,
)
from shipping_portal.importing.views.deciding import (
    answer_import,
    choose_services,
    decide_import,
    remove_import,
)
from shipping_portal.importing.views.uploading import (
    import_template,
    imports,
    match_columns,
    new_import,
)

urlpatterns = [
    path("imports/", imports, name="imports"),
    path("imports/new/", new_import, name="new_import"),
    path("imports/template.csv", import_template, name="import_template"),
    path("imports/<uuid:file>/", import_progress, name="import"),
    path("imports/<uuid:file>/map/", match_columns, name="match_columns"),
    path("imports/<uuid:file>/check/", check_import, name="check_import"),
    path("imports/<uuid:file>/book/", book_import, name="book_import"),
    path("imports/<uuid:file>/take/", take_left_out, name="take_left_out"),
    path("imports/<uuid:file>/price/", price_import_again, name="price_import_again"),
    path("imports/<uuid:file>/rows/", save_rows, name="save_rows"),
    path("imports/<uuid:file>/rows/<int:row>/", import_row, name="import_row"),
    path("imports/<uuid:file>/services/", choose_services, name="choose_services"),
    path("imports/<uuid:file>/answer/", answer_import, name="answer_import"),
    path("imports/<uuid:file>/decide/", decide_import, name="decide_import"),
    path("imports/<uuid:file>/remove/", remove_import, name="remove_import"),
    path("imports/<uuid:file>/shipped/", shipped_rows, name="shipped_rows"),
    path("imports/<uuid:file>/failed.csv", failed_rows, name="failed_rows"),
]
