from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0002_words")]

    operations = [
        migrations.AlterField(
            model_name="eventword",
            name="progress",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "No scan yet"),
                    ("collected", "Picked up"),
                    ("dropped_off", "Dropped off"),
                    ("pickup_missed", "Missed pickup"),
                    ("pickup_futile", "Futile pickup"),
                    ("in_transit", "On the way"),
                    ("out_for_delivery", "Out for delivery"),
                    ("delivery_attempted", "Delivery attempted"),
                    ("held", "Held for collection"),
                    ("delivered", "Delivered"),
                    ("cannot_deliver", "Can't be delivered"),
                    ("damaged", "Damaged"),
                    ("lost", "Lost"),
                    ("returning", "Coming back"),
                    ("expired", "Label expired"),
                ],
                max_length=20,
                verbose_name="means",
            ),
        ),
        migrations.AlterField(
            model_name="parcel",
            name="progress",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "No scan yet"),
                    ("collected", "Picked up"),
                    ("dropped_off", "Dropped off"),
                    ("pickup_missed", "Missed pickup"),
                    ("pickup_futile", "Futile pickup"),
                    ("in_transit", "On the way"),
                    ("out_for_delivery", "Out for delivery"),
                    ("delivery_attempted", "Delivery attempted"),
                    ("held", "Held for collection"),
                    ("delivered", "Delivered"),
                    ("cannot_deliver", "Can't be delivered"),
                    ("damaged", "Damaged"),
                    ("lost", "Lost"),
                    ("returning", "Coming back"),
                    ("expired", "Label expired"),
                ],
                default="",
                max_length=20,
            ),
        ),
    ]
