from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("billing", "0012_charges_of_a_reference")]

    operations = [
        migrations.AddField(
            "billingprofile",
            "decimal_sign",
            models.CharField(
                max_length=1,
                blank=True,
                default="",
                db_default="",
                choices=[("", "dot, and ask what 1,021 is"), (".", "dot: 1,021.36"), (",", "comma: 1.021,36")],
            ),
        ),
    ]
