"""Words, units, money and dates as the sender's country says them."""

from django import template

register = template.Library()
