"""How people shorten the words of suburbs. Operators add their own in admin."""

from django.db import migrations

ALIASES = {
    "MT": "MOUNT",
    "MTN": "MOUNTAIN",
    "ST": "SAINT",
    "STE": "SAINTE",
    "FT": "FORT",
    "PT": "POINT",
    "PK": "PARK",
    "GDNS": "GARDENS",
    "HTS": "HEIGHTS",
    "BCH": "BEACH",
    "LK": "LAKE",
    "IS": "ISLAND",
    "VLY": "VALLEY",
    "JCT": "JUNCTION",
    "CTR": "CENTRE",
    "UPR": "UPPER",
    "LWR": "LOWER",
    "NTH": "NORTH",
    "N": "NORTH",
    "STH": "SOUTH",
    "S": "SOUTH",
    "E": "EAST",
    "W": "WEST",
}


def add(apps, schema_editor):
    alias = apps.get_model("accounts", "LocalityAlias")
    alias.objects.bulk_create(
        [alias(word=word, stands_for=stands_for) for word, stands_for in ALIASES.items()], ignore_conflicts=True
    )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_throttles_table")]

    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
