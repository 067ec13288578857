"""The forms of a page as a browser would send them: once for each button and for each other choice."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

# What is typed into a control that came empty, by its type; text by the end of its name, or the last one here.
TYPED = {"email": "typed@typed.example", "date": "2027-01-05", "number": "3", "password": "", "file": "", "search": ""}
BY_NAME = {
    "postcode": "7000", "suburb": "Hobart", "state": "TAS", "country": "AU", "phone": "0491 570 156",
    "currency": "AUD", "amount": "1.50", "total": "1.50", "weight": "2.4", "length": "32", "width": "24",
    "height": "11", "reference": "SADOPTED1", "day": "2027-01-05", "_kg": "2.4", "_lb": "5", "length_cm": "32",
    "_cm": "12", "_in": "9", "_value": "28.00", "_quantity": "2", "_origin": "AU", "_hs_code": "610910",
    "company": "Typed company", "delivery_place": "", "": "Typed here",
}  # fmt: skip
OTHERS = 4  # of one name


@dataclass
class Form:
    """A form: its URL, its values, its buttons as (name, value), and the other values of each control."""

    action: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    others: list[tuple[str, list[str]]] = field(default_factory=list)

    def sent(self, button: tuple[str, str]) -> dict[str, list[str]]:
        return self.fields | ({button[0]: [button[1]]} if button[0] else {})

    def other(self, name: str, *values: str) -> None:
        """Note other values of this control, only the first few of a long list. Columns have their own tests."""
        if name.startswith("column_"):
            return
        if list(values) != self.fields.get(name) and [held for held, _ in self.others].count(name) < OTHERS:
            self.others.append((name, list(values)))

    def ways(self) -> Iterator[tuple[str, dict[str, list[str]]]]:
        """Yield what each button sends, then what the first button sends with a single choice changed."""
        buttons = self.buttons or [("", "")]
        for button in buttons:
            yield "=".join(filter(None, button)), self.sent(button)
        for name, values in self.others:
            yield f"with {name}={','.join(values)}", self.sent(buttons[0]) | {name: values}


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._form: Form | None = None
        self._area = ""
        self._select: tuple[str, list[str], str] | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attributes}
        if tag == "form" and held.get("method", "").lower() == "post":
            self._form = Form(held.get("action", ""))
            self.found.append(self._form)
        elif self._form and "disabled" not in held:
            self._control(self._form, tag, held.get("name", ""), held)

    def _control(self, form: Form, tag: str, name: str, held: dict[str, str]) -> None:
        kind = held.get("type", "submit" if tag == "button" else "text")
        if tag == "select":
            self._select = (name, [], "")
        elif tag == "option" and self._select:
            name, values, chosen = self._select
            value = held.get("value", "")
            self._select = (name, [*values, value], value if "selected" in held else chosen)
        elif tag == "textarea":
            self._area = name
            form.fields[name] = [""]
        elif kind == "submit" and tag in {"button", "input"}:
            form.buttons.append((name, held.get("value", "")))
        elif tag == "input" and kind in {"radio", "checkbox"}:
            self._choice(form, name, held.get("value", "on"), kind, "checked" in held)
        elif tag == "input":
            value = held.get("value", "") or ("" if kind == "hidden" else _typed(name, kind))
            form.fields.setdefault(name, []).append(value)

    def _choice(self, form: Form, name: str, value: str, kind: str, is_checked: bool) -> None:
        if is_checked:
            form.fields.setdefault(name, []).append(value)
        if not is_checked:
            form.other(name, value)
        elif kind == "checkbox":
            form.other(name)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select" and self._form and self._select:
            name, values, chosen = self._select
            self._form.fields[name] = [chosen or (values or [""])[-1]]
            for value in values:
                self._form.other(name, value)
        elif tag == "textarea" and self._form and not self._form.fields[self._area][0]:
            self._form.fields[self._area] = [_typed(self._area, "text")]

    def handle_data(self, data: str) -> None:
        if self._form and self._area and data.strip() and self.get_starttag_text().startswith("<textarea"):
            self._form.fields[self._area] = [data.strip()]


def _typed(name: str, kind: str) -> str:
    return TYPED.get(kind) or next(value for end, value in BY_NAME.items() if name.endswith(end))


def presses(page: str, url: str) -> Iterator[tuple[str, str, dict[str, list[str]]]]:
    """Return every button of every form that changes something, as (its name, the URL, the values sent)."""
    reader = _Forms()
    reader.feed(page)
    for form in (form for form in reader.found if not form.action.endswith("logout/")):
        for name, sent in form.ways():
            yield name, form.action or url, sent
