"""Build the contract from the default points in `points.py` and those in a TOML file.

The file is named by CARRIER_CONTRACT. An unknown key, a wrong type or a malformed value prevents
start-up.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from shipping_portal.carrier import shapes
from shipping_portal.carrier.operations import Operation
from shipping_portal.carrier.points import WORDS, Fields
from shipping_portal.carrier.values import normalise_word, read_identifier

CONTACT = ("name", "company", "email", "phone")
ADDRESS = ("line1", "line2", "suburb", "postcode", "state", "country")
PARTS = (*CONTACT, *ADDRESS, "instructions")
MEASURES = ("weight", "weight_units", "length", "width", "height", "dimension_units")
PARCEL = (
    *MEASURES,
    *("description", "product_code", "pickup_date", "packaging", "customer_reference", "order_key"),
    *("partner_field", "cover_amount", "contents", "contents_type"),
)


class ContractError(Exception):
    """Raised when the contract file can't be used. The message says which key and why."""


class Point(NamedTuple):
    """A contract point with its current value."""

    name: str
    value: object
    default: object
    basis: str
    section: str
    overridden: bool


@dataclass(frozen=True)
class Contract(Fields):
    """The contract in force. Build it with `Contract.load`."""

    def __post_init__(self) -> None:
        """Check every point against its rule. Raises ContractError."""
        for point in dataclasses.fields(self):
            try:
                point.metadata["check"](getattr(self, point.name))
            except ValueError as problem:
                raise ContractError(
                    f"The contract's {point.name} cannot be used: {problem}."
                ) from None
        self._keep_paths_apart()
        self._keep_promises()
        self._mean_one_thing()
        if self.link == "signed" and not self.link_page:
            raise ContractError(
                "The contract says link = signed, so link_page must hold the page's address."
            )

    def _keep_paths_apart(self) -> None:
        """Reject a booking value's path that equals or contains another's."""
        names = [f"{side}_{part}" for side in ("sender", "receiver") for part in PARTS] + list(
            PARCEL
        )
        written = {name: getattr(self, name) for name in names if getattr(self, name)}
        for name, path in written.items():
            for other, inside in written.items():
                if name != other and f"{inside}.".startswith(f"{path}."):
                    raise ContractError(
                        f"The contract puts {other} at, or inside, the path of {name}: {path}."
                    )

    def _keep_promises(self) -> None:
        """Reject a contract in which one point rules out what another requires."""
        if Operation.parse(self.quote).method != "GET":
            raise ContractError(
                "The contract's quote asks by query, so it is a GET. Name prices by body in"
                " quote_contents, and set post_quote = true."
            )
        if Operation.parse(self.quote_contents).method == "GET":
            raise ContractError("The contract's quote_contents asks by body, so it can't be a GET.")
        if self.replays and not self.idempotency_header:
            raise ContractError(
                "The contract says replays = true, so idempotency_header must name the key's"
                " header."
            )
        if self.webhook_means == "look" and not self.track:
            raise ContractError("The contract says webhook_means = look, which needs track.")
        if self.cover_origins and not self.cover_amount:
            raise ContractError("The contract turns cover_amount off, so cover_origins must be [].")
        if self.link == "response" and not self.view:
            raise ContractError(
                "The contract says link = response, which needs view to ask for the order."
            )

    def _mean_one_thing(self) -> None:
        """Reject a status with two meanings, and a range that ends before it starts."""
        for names in (
            ("refused_statuses", "stopped_statuses"),
            ("cancel_refused_statuses", "stopped_statuses"),
            ("cancelled_statuses", "stopped_statuses"),
            ("cancelled_statuses", "refused_statuses"),
            ("cancelled_statuses", "cancel_refused_statuses"),
        ):
            both = set(getattr(self, names[0])) & set(getattr(self, names[1]))
            if both:
                raise ContractError(
                    f"The contract has {min(both)} in {names[0]} and in {names[1]}."
                )
        states = (
            self.cancelled_word,
            *filter(None, [self.asked_word]),
            *self.cancel_refused_states,
            *self.refused_states,
            *self.pending_states,
        )
        if len(set(map(normalise_word, states))) < len(states):
            raise ContractError(
                "The contract names a state twice in cancelled_word, asked_word,"
                " cancel_refused_states, refused_states and pending_states."
            )
        if self.hs_code_shortest > self.hs_code_longest:
            raise ContractError("The contract's hs_code_shortest is more than its hs_code_longest.")

    @classmethod
    def load(
        cls, file: Path | str | None = None, points: Mapping[str, Any] | None = None
    ) -> Contract:
        """Return the defaults, overridden by the client's own points and then by the file's.

        Raises ContractError with a message.
        """
        overrides, own = cls.overrides(file), dict(points or {})
        defaults = {point.name: point.value for point in cls(**own).points()}
        if unknown := [_with_nearest(key, defaults) for key in overrides if key not in defaults]:
            what = "a key" if len(unknown) == 1 else "keys"
            raise ContractError(
                f"The contract file has {what} we do not know: {', '.join(unknown)}."
            )
        typed = {key: _check_type(key, value, defaults[key]) for key, value in overrides.items()}
        return cls(**own | typed)

    @staticmethod
    def overrides(file: Path | str | None) -> dict[str, Any]:
        """Return the file's points unchanged. Raises ContractError with a message."""
        try:
            return tomllib.loads(Path(file).read_text(encoding="utf-8")) if file else {}
        except (OSError, ValueError) as problem:
            raise ContractError(f"The contract file cannot be read: {problem}") from None

    def operation(self, name: str) -> Operation | None:
        """Return the operation with that name, or None if the carrier doesn't have it."""
        line = getattr(self, name)
        return Operation.parse(line) if line else None

    def progress(self, word: str) -> str | None:
        """Return the progress a carrier's word means.

        "" means no change; None means an unknown word.
        """
        return self.words.get(normalise_word(word))

    def reference_in(self, value: object) -> str:
        """Return the reference from a carrier's JSON, where it may be text or a whole number.

        It is "" for any other shape.
        """
        return read_identifier(shapes.shape_pattern(self.reference_shape), value)

    def reference_typed(self, typed: str) -> str:
        """Return the reference that somebody typed, in a case the carrier may use.

        It is "" for any other shape.
        """
        return shapes.in_some_case(self.reference_shape, typed)

    @property
    def reference_example(self) -> str:
        """Return an example of a reference, for people."""
        return shapes.spell_reference(self.reference_shape, "7K2QX94M")

    @property
    def nobodys_reference(self) -> str:
        """Return a well-formed reference that no parcel has, for tests and probes."""
        return shapes.spell_reference(self.reference_shape, "0", length=12)

    def pays_duties(self, code: str) -> bool:
        """Return whether duties are prepaid with this product, judging by its code."""
        return bool(self.duties_paid_word) and self.duties_paid_word.upper() in code.upper()

    def ends_with(self, code: str, suffix: str) -> bool:
        """Return whether a product's code ends with this point's suffix."""
        ending: str = getattr(self, suffix)
        return bool(ending) and code.upper().endswith(ending.upper())

    def points(self) -> list[Point]:
        """Return every point with its default and whether the interface document states it."""
        return [self._point(field) for field in dataclasses.fields(self)]

    def _point(self, field: dataclasses.Field[Any]) -> Point:
        default = WORDS if field.name == "words" else field.default
        value = getattr(self, field.name)
        basis, section = field.metadata["basis"], field.metadata["section"]
        return Point(field.name, value, default, basis, section, value != default)


def _with_nearest(key: str, known: Iterable[str]) -> str:
    near = get_close_matches(key, known, n=1)
    return f"{key} (did you mean {near[0]}?)" if near else key


def _check_type(key: str, value: object, default: object) -> object:
    if key == "words":
        if not isinstance(value, dict) or not all(isinstance(word, str) for word in value.values()):
            raise ContractError(
                "The contract's [words] table gives a progress word for each carrier word."
            )
        known = default if isinstance(default, dict) else WORDS
        return known | {normalise_word(word): progress for word, progress in value.items()}
    if isinstance(default, tuple):
        return _check_list(key, value, default)
    if isinstance(default, float) and type(value) is int:
        return float(value)
    if type(value) is not type(default):
        raise ContractError(f"The contract's {key} must be a {type(default).__name__}.")
    return value


def _check_list(key: str, value: object, default: tuple[object, ...]) -> object:
    kind = type(default[0]) if default else str
    if not isinstance(value, list) or any(type(member) is not kind for member in value):
        raise ContractError(f"The contract's {key} must be a list, each member a {kind.__name__}.")
    return tuple(value)
