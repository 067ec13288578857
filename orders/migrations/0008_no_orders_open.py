from django.db import migrations

from shipping_portal.concurrent_indexes import StatisticsOfColumns


class Migration(migrations.Migration):
    dependencies = [("orders", "0007_indexes_of_what_is_open")]

    operations = [
        migrations.RemoveIndex(model_name="order", name="orders_open"),
        StatisticsOfColumns("order", "orders_standing", ["status", "progress"]),
    ]
