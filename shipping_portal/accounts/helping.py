"""Help: a dozen short articles, one for each thing people come here to do, found by any of their words."""

import functools

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.html import strip_tags
from django.views.decorators.http import require_safe

from shipping_portal.accounts.access import public

ARTICLES = {
    "book-a-parcel": "Book a parcel and print its label",
    "paste-an-address": "Paste an address instead of typing it",
    "print-labels": "Print labels so that they scan",
    "driver-didnt-come": "The driver didn't come",
    "driver-couldnt-collect": "The driver came but couldn't collect",
    "another-pickup-day": "I need another pickup day",
    "fix-a-mistake": "Fix a mistake on a booked parcel",
    "cancel-a-parcel": "I'm not sending it after all",
    "checking-with-the-carrier": "It says we're checking with the carrier",
    "where-is-it": "Where is my parcel, and what do I tell the receiver?",
    "import-a-file": "Book many parcels from a file",
    "size-and-weight": "Measure so that nothing is added later",
    "a-size-charge": "A size charge",
}
LONGEST_SEARCH = 100


@public
@require_safe
def help_index(request: HttpRequest) -> HttpResponse:
    """All articles, or those that hold every word searched for."""
    q = request.GET.get("q", "")[:LONGEST_SEARCH].strip()
    words = q.lower().split()
    found = {slug: title for slug, title in ARTICLES.items() if all(word in _text(slug) for word in words)}
    return render(request, "help/help.html", {"q": q, "articles": found})


@public
@require_safe
def help_article(request: HttpRequest, article: str) -> HttpResponse:
    if article not in ARTICLES:
        raise Http404
    context = {"title": ARTICLES[article], "body": f"help/articles/{article}.html"}
    return render(request, "help/article.html", context)


@functools.cache
def _text(slug: str) -> str:
    """An article's words in lower case, for the search."""
    return f"{ARTICLES[slug]} {strip_tags(render_to_string(f'help/articles/{slug}.html'))}".lower()
