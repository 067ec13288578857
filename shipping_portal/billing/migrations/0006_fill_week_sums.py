from django.db import migrations

COUNTED = """
    INSERT INTO billing_weeksum (sender_id, week, currency, kind, lines, orders, amount)
    SELECT sender_id, week, currency, {kind}, COUNT(*), COUNT(DISTINCT order_id), ROUND(SUM(amount), 2)
    FROM billing_charge
    WHERE posted_at IS NOT NULL AND sender_id IS NOT NULL
    GROUP BY sender_id, week, currency{by_kind}
"""


class Migration(migrations.Migration):

    dependencies = [('billing', '0005_week_sums')]

    operations = [
        # What the version before posts meanwhile, the recount of weeks finds as this one starts.
        migrations.RunSQL(COUNTED.format(kind='kind', by_kind=', kind'), migrations.RunSQL.noop),
        migrations.RunSQL(COUNTED.format(kind="''", by_kind=''), migrations.RunSQL.noop),
    ]
