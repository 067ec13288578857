"""Decide which requests get which fault: the next ones, or a seeded share of all."""

import random
import threading
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

SOCKET_VERBS = (
    "refuse",
    "accept-close",
    "commit-close",
    "commit-rst",
    "commit-hang",
    "sleep-commit",
    "partial-headers",
    "truncate",
    "drip-head",
    "drip-body",
    "garbage",
    "slow",
)
REPLY_VERBS = (
    "html200",
    "empty201",
    "no-ref",
    "bad-ref",
    "replay-other",
    "return-cancelled",
    "pending",
    "gzip-bomb",
    "50MB",
)
STATUS_VERBS = (
    "202",
    "204",
    "301",
    "302",
    "307",
    "308",
    "400",
    "401",
    "402",
    "403",
    "404",
    "408",
    "409",
    "412",
    "413",
    "422",
    "425",
    "429",
    "500",
    "502",
    "503",
    "504",
)
CONTENT_VERBS = ("html", "truncated", "changed")
LABEL_VERBS = (*CONTENT_VERBS, "redirect-elsewhere")
WEBHOOK_VERBS = (
    "dup",
    "reorder",
    "delay",
    "drop",
    "mutate",
    "before-response",
    "after-cancel",
    "storm",
    "old-secret",
)
CONNECTION_VERBS = ("refuse", "slow-tls")
# Faults inside an operation rather than in its reply: the operation itself checks for them.
ENDPOINT_VERBS = (
    *LABEL_VERBS,
    "before-response",
    "after-cancel",
    "pending",
    "replay-other",
    "return-cancelled",
)
HTTP_VERBS = (*SOCKET_VERBS, *REPLY_VERBS, *STATUS_VERBS)
OPERATIONS = (
    "quote",
    "quote_contents",
    "book",
    "view",
    "cancel",
    "track",
    "subscribe",
    "ping",
    "label",
    "file",
    "webhook",
    "connection",
    "any",
)

# The same fault, listed under the operation in which it really happens.
_HAPPENS_IN = {
    ("webhook", "before-response"): "book",
    ("webhook", "after-cancel"): "cancel",
    ("label", "html"): "file",
    ("label", "truncated"): "file",
    ("label", "changed"): "file",
}


@dataclass(frozen=True)
class Fault:
    """One fault to happen now. ``commit`` overrides whether the effect takes place."""

    verb: str
    arg: Any = None
    commit: bool | None = None

    def number(self, default: float) -> float:
        """Return the argument as a number of seconds or copies."""
        return (
            float(self.arg)
            if isinstance(self.arg, int | float | str) and self.arg != ""
            else default
        )


@dataclass
class Rule:
    """Applies ``count`` more times, or always with ``probability``.

    ``match`` is part of a key or name.
    """

    operation: str
    verb: str
    count: int = 0
    probability: float = 0.0
    match: str = ""
    arg: Any = None
    commit: bool | None = None


class Troubles:
    """The active rules. A seeded rule hits the same requests in every run with the same seed."""

    def __init__(self, seed: int = 1, plan: str = "") -> None:
        self.seed = seed
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._asked: Counter[tuple[str, str, str]] = Counter()
        for entry in filter(None, plan.split(",")):
            self.add(_planned_rule(entry.strip()))

    def ask_for(
        self,
        operation: str,
        verb: str,
        count: int = 1,
        probability: float = 0.0,
        match: str = "",
        arg: Any = None,
        commit: bool | None = None,
    ) -> None:
        """Make the next ``count`` matching requests fail, or a share of all (``probability``)."""
        self.add(Rule(operation, str(verb), count, probability, match, arg, commit))

    def add(self, rule: Rule) -> None:
        """Activate a rule. Raises ValueError for an unknown verb or operation."""
        with_labels = (*HTTP_VERBS, *LABEL_VERBS)
        verbs = {
            "webhook": WEBHOOK_VERBS,
            "connection": CONNECTION_VERBS,
            "label": with_labels,
            "file": with_labels,
        }
        if rule.operation not in OPERATIONS:
            raise ValueError(
                f"{rule.operation} is not an operation; known are {', '.join(OPERATIONS)}."
            )
        if rule.verb not in verbs.get(rule.operation, HTTP_VERBS):
            raise ValueError(f"{rule.verb} is not a trouble of {rule.operation}.")
        rule.operation = _HAPPENS_IN.get((rule.operation, rule.verb), rule.operation)
        with self._lock:
            self._rules.append(rule)

    def clear(self) -> None:
        with self._lock:
            self._rules.clear()

    def pick(self, operation: str, *, only: Collection[str] = (), **facts: str) -> Fault | None:
        """Return this request's fault, if any. ``facts``: order_key, reference, receiver."""
        with self._lock:
            for rule in self._rules:
                wanted = not only or rule.verb in only
                meant = rule.operation == operation or (
                    rule.operation == "any" and operation != "connection"
                )
                if not wanted or not meant or not _matches(rule, facts):
                    continue
                if self._strikes(rule, operation, facts):
                    return Fault(rule.verb, rule.arg, rule.commit)
        return None

    def _strikes(self, rule: Rule, operation: str, facts: dict[str, str]) -> bool:
        if rule.probability:
            name = facts.get("order_key") or facts.get("reference") or ""
            self._asked[operation, rule.verb, name] += 1
            ordinal = self._asked[operation, rule.verb, name]
            draw = random.Random(f"{self.seed}:{operation}:{rule.verb}:{name}:{ordinal}").random()
            return draw < rule.probability
        if rule.count <= 0:
            return False
        rule.count -= 1
        return True


def _matches(rule: Rule, facts: dict[str, str]) -> bool:
    return not rule.match or any(
        rule.match.casefold() in value.casefold() for value in facts.values()
    )


def _planned_rule(entry: str) -> Rule:
    """``operation:verb=share`` of the command line."""
    head, _, share = entry.partition("=")
    operation, _, verb = head.partition(":")
    try:
        return Rule(operation, verb, probability=float(share))
    except ValueError:
        raise ValueError(f"{entry} is not written as operation:verb=share.") from None
