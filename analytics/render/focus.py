"""A month as rows of FOCUS 1.3, the FinOps Open Cost and Usage Specification, in CSV.

The rig bills itself: its owner is provider, host and issuer, each day's share of the hardware is
billed as used, and so is electricity. Billed, effective, contracted and list cost are therefore
the same, and each adds up to the month's cost. A card is a capacity reservation: its busy time is
the used part, all other states are the unused one.
"""

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from analytics.render.rows import as_csv
from collector.clock import from_ns as instant
from collector.clock import to_ns

# Provider and publisher are deprecated in 1.3 and demanded by 1.2; a reader of either finds all.
COLUMNS = (
    "BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd",
    "BillingPeriodStart", "CapacityReservationId", "CapacityReservationStatus", "ChargeCategory",
    "ChargeClass", "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart",
    "CommitmentDiscountStatus", "ConsumedQuantity", "ConsumedUnit", "ContractedCost",
    "EffectiveCost", "HostProviderName", "InvoiceId", "InvoiceIssuerName", "ListCost",
    "PricingCategory", "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName",
    "ResourceId", "ResourceName", "ResourceType", "ServiceCategory", "ServiceName",
    "ServiceProviderName", "ServiceSubcategory", "SkuId", "SkuMeter", "SkuPriceDetails",
    "SkuPriceId", "x_CachedInputTokens", "x_InputTokens", "x_Model", "x_OutputTokens", "x_Requests",
    "x_State",
)  # fmt: skip
METERS = {"capital": "Hardware", "energy": "Electricity", "other": "Other costs"}
USED = {"busy", "unattributed"}
STATES = {
    "unattributed": "no request in particular",
    "stranded": "idle while a request waited elsewhere",
    "headroom": "held ready",
    "idle": "idle",
    "off": "off",
    "other": "in other use",
    "unknown": "without a witness",
    "unassigned": "no card in service",
}


def as_rows(month: Mapping[str, Any], charges: Iterable[Mapping[str, Any]]) -> str:
    """The charges (`charges.charges`) of a month's document as FOCUS rows with a header.

    Money has nine decimals, time is in seconds, NULL is empty; text that a spreadsheet would take
    for a formula is defused.
    """
    shared = _shared(month)
    told = ({**shared, **_charge(charge)} for charge in charges)
    return as_csv(COLUMNS, [[row[column] for column in COLUMNS] for row in told])


def _shared(month: Mapping[str, Any]) -> dict[str, Any]:
    """What stands the same in every row."""
    rig, period = month["rig"], month["period"]
    names = ("HostProviderName", "InvoiceIssuerName", "ProviderName", "PublisherName",
             "ServiceProviderName", "BillingAccountId", "BillingAccountName")  # fmt: skip
    return {
        **dict.fromkeys(names, rig),
        "BillingCurrency": month["currency"],
        "BillingPeriodStart": _at(period["from"]),
        "BillingPeriodEnd": _at(period["to"]),
        # A closed month is its own invoice; an open one is on none yet.
        "InvoiceId": f"{rig} {period['name']}" if month["closed"] else None,
        "ChargeCategory": "Usage",
        "ChargeClass": None,
        "CommitmentDiscountStatus": None,  # there is none; rules on quantities name it all the same
        "PricingCategory": "Other",
        "PricingUnit": "Seconds",
        "ResourceName": None,
        "ServiceCategory": "AI and Machine Learning",
        "ServiceName": "Self-hosted inference",
        "ServiceSubcategory": "Generative AI",
    }


def _charge(charge: Mapping[str, Any]) -> dict[str, Any]:
    meter, card, state = METERS[charge["category"]], charge["card"], charge["state"]
    used, busy = state in USED, state == "busy"
    by = (charge["model"] or "a model untold") if busy else STATES[state]
    sku = f"{meter}, {'used' if used else 'unused'}"
    reserved = card is not None and charge["category"] == "capital"
    money, seconds = _decimal(charge["nano"]), _decimal(charge["ns"])
    # Tokens stand once, where the hardware made them; all else is consumed by time. This column
    # knows no unknown: it counts the known ones, and x_OutputTokens tells where there are none.
    tokens = busy and charge["category"] == "capital"
    details = {"x_Model": by} if busy else {"x_State": state}
    return {
        **dict.fromkeys(("BilledCost", "ContractedCost", "EffectiveCost", "ListCost"), money),
        "CapacityReservationId": card if reserved else None,
        "CapacityReservationStatus": ("Used" if used else "Unused") if reserved else None,
        "ChargeDescription": f"{sku}: {by}",
        "ChargeFrequency": "Recurring" if charge["category"] == "other" else "Usage-Based",
        "ChargePeriodStart": _instant(charge["from_ns"]),
        "ChargePeriodEnd": _instant(charge["to_ns"]),
        "ConsumedQuantity": charge["output_tokens"] or 0 if tokens else seconds,
        "ConsumedUnit": "Tokens" if tokens else "Seconds",
        "PricingQuantity": seconds,
        "ResourceId": card,
        "ResourceType": None if card is None else "GPU",
        "SkuId": sku,
        "SkuMeter": meter,
        "SkuPriceDetails": json.dumps(details, ensure_ascii=False),
        "SkuPriceId": f"{sku}: {by}",
        "x_CachedInputTokens": charge["cache_read_tokens"],
        "x_InputTokens": charge["input_tokens"],
        "x_Model": charge["model"],
        "x_OutputTokens": charge["output_tokens"],
        "x_Requests": charge["requests"],
        "x_State": "busy" if used else state,
    }


def _decimal(nano: int) -> Decimal:
    return Decimal(nano).scaleb(-9)


def _at(iso: str) -> str:
    return _instant(to_ns(dt.datetime.fromisoformat(iso)))


def _instant(at_ns: int) -> str:
    return f"{instant(at_ns):%Y-%m-%dT%H:%M:%SZ}"
