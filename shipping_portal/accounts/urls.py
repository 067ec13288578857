"""Log-in is allauth's; these are the pages around it: first steps, settings, help and health."""

from django.conf import settings
from django.urls import path

from shipping_portal.accounts import helping, notice_pages, team_pages, views
from shipping_portal.accounts.styleguide import styleguide

HELP = {
    "contact": "help/contact/",
    "dangerous_goods": "help/dangerous-goods/",
    "accessibility": "help/accessibility/",
    "terms": "help/terms/",
    "no_account": "help/no-account/",
}

urlpatterns = [
    path("", views.home, name="home"),
    path("start/", views.start, name="start"),
    path("settings/", views.settings_overview, name="settings"),
    path("settings/pickup-address/", views.pickup_address, name="pickup_address"),
    path("settings/label-size/", views.label_size, name="label_size"),
    path("settings/team/", team_pages.team_page, name="team"),
    path("settings/team/second-factor/", team_pages.second_factor_rule, name="second_factor_rule"),
    path("settings/team/members/<int:member>/", team_pages.change_member, name="change_member"),
    path(
        "settings/team/invitations/<uuid:invitation>/", team_pages.change_invitation, name="change_invitation"
    ),
    path("settings/notifications/", notice_pages.notifications, name="notifications"),
    path("unsubscribe/<str:token>/", notice_pages.unsubscribe, name="unsubscribe"),
    path("invitation/<str:token>/", team_pages.invitation, name="invitation"),
    path("suggest/localities/", views.suggest_localities, name="suggest_localities"),
    path("health/", views.health, name="health"),
    path("help/", helping.help_index, name="help"),
    *(path(address, views.help_page, {"page": name}, name=name) for name, address in HELP.items()),
    path("help/<slug:article>/", helping.help_article, name="help_article"),
]

if settings.DEMO:
    urlpatterns.append(path("styleguide/", styleguide, name="styleguide"))
