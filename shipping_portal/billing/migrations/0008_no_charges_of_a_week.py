from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [('billing', '0007_charges_of_a_statement')]

    operations = [migrations.RemoveIndex(model_name='charge', name='charges_of_a_week')]
