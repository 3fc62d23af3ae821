"""Where the figures of the settings page come from: the file itself, and what it comes to."""

from rig.walk import Place

PLACE = Place(
    metrics={
        "USD of value lost a day": "{lost_nano:headline}",
        "USD per kWh": "{tariff.price_per_kwh}",
        "W of host power": "{tariff.host_watts:count}",
        "active gap": "15 min",
    }.items(),
    sentences=[
        "The rig cost **{price} USD** and loses **{lost_nano:headline} USD** of its value a day; a "
        "kWh costs **{tariff.price_per_kwh} USD** since 1 October 2026, and the host draws "
        "{tariff.host_watts} W beside its cards.",
        "A pause shorter than **15 min** belongs to active hours: the cards are kept ready. A "
        "longer one is idle time.",
        "This changes **October 2026** from **{before.0.cost_per_mtok.full.output:headline}** to "
        "**{after.0.cost_per_mtok.full.output:headline}** and **November 2026 so far** from "
        "**{before.1.cost_per_mtok.full.output:headline}** to "
        "**{after.1.cost_per_mtok.full.output:headline}** USD per million output tokens.",
    ],
    tables=[
        ("file.hardware", {
            "name": "{name}", "price": "{price}", "in_service": "{in_service} 00:00:00",
            "life_years": "{life_years}",
        }),
        ("file.electricity", {
            "from": "{from} 00:00:00", "price_per_kwh": "{price_per_kwh}",
            "host_watts": "{host_watts}",
        }),
        ("file.other_costs", {
            "name": "{name}", "from": "{from} 00:00:00", "per_month": "{per_month}",
        }),
    ],
)  # fmt: skip
