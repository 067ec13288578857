"""Route the pages around allauth's login: first steps, settings and help."""

from django.conf import settings
from django.urls import path

from shipping_portal import brand
from shipping_portal.accounts.teams import team_pages
from shipping_portal.accounts.views import api_tokens, front, pickup_addresses, webhooks
from shipping_portal.accounts.views import settings as panels
from shipping_portal.accounts.views.front import styleguide

HELP = {
    "contact": "help/contact/",
    "dangerous_goods": "help/dangerous-goods/",
    "accessibility": "help/accessibility/",
    "terms": "help/terms/",
    "no_account": "help/no-account/",
}

urlpatterns = [
    path("", front.home, name="home"),
    path("favicon.ico", front.favicon, name="favicon"),
    *(
        path(address, front.brand_asset, {"name": name}, name=name)
        for name, address in brand.PATHS.items()
    ),
    path("more/", front.more, name="more"),
    path("promise/", front.promise, name="promise"),
    path("start/", front.start, name="start"),
    path("settings/", panels.settings_overview, name="settings"),
    path("settings/pickup-address/", pickup_addresses.pickup_address, name="pickup_address"),
    path("settings/pickup-addresses/", pickup_addresses.addresses, name="pickup_addresses"),
    path("settings/pickup-addresses/new/", pickup_addresses.add_address, name="add_pickup_address"),
    path(
        "settings/pickup-addresses/<int:address>/",
        pickup_addresses.edit_address,
        name="edit_pickup_address",
    ),
    path(
        "settings/pickup-addresses/<int:address>/change/",
        pickup_addresses.change_address,
        name="change_pickup_address",
    ),
    path("settings/profile/", panels.profile, name="profile"),
    path("settings/appearance/", panels.appearance, name="appearance"),
    path("settings/keyboard/", panels.keyboard, name="keyboard"),
    path("settings/security/", panels.security, name="security"),
    path("settings/api-tokens/", api_tokens.api_tokens, name="api_tokens"),
    path("settings/api-tokens/<int:token>/", api_tokens.change_token, name="change_token"),
    path("settings/webhooks/", webhooks.webhooks, name="webhooks"),
    path("settings/webhooks/<int:endpoint>/", webhooks.webhook_endpoint, name="webhook_endpoint"),
    path(
        "settings/webhooks/<int:endpoint>/secret/", webhooks.rotate_webhook, name="rotate_webhook"
    ),
    path(
        "settings/webhooks/<int:endpoint>/change/", webhooks.change_webhook, name="change_webhook"
    ),
    path("settings/business/", panels.business, name="business"),
    path("settings/booking/", panels.booking_rules, name="booking_rules"),
    path("settings/limits/", panels.own_limits, name="own_limits"),
    path("settings/data/", panels.data, name="data"),
    path("settings/data/close/", panels.close_account, name="close_account"),
    path("settings/label-size/", panels.label_size, name="label_size"),
    path("settings/team/", team_pages.team_page, name="team"),
    path("settings/team/second-factor/", team_pages.second_factor_rule, name="second_factor_rule"),
    path("settings/team/members/<int:member>/", team_pages.change_member, name="change_member"),
    path(
        "settings/team/invitations/<uuid:invitation>/",
        team_pages.change_invitation,
        name="change_invitation",
    ),
    path("settings/notifications/", panels.notifications, name="notifications"),
    path("unsubscribe/<str:token>/", panels.unsubscribe, name="unsubscribe"),
    path("invitation/<str:token>/", team_pages.invitation, name="invitation"),
    path("suggest/localities/", front.suggest_localities, name="suggest_localities"),
    path("help/", front.help_index, name="help"),
    *(path(address, front.help_page, {"page": name}, name=name) for name, address in HELP.items()),
    path("help/<slug:article>/", front.help_article, name="help_article"),
]

if settings.DEMO:
    urlpatterns.append(path("styleguide/", styleguide, name="styleguide"))
