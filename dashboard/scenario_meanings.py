"""What the figures of a what-if mean, as `meanings`."""

WHAT_IF = (
    "The month again, with other hours or prices in place of those it had. Occupancy, throughput, "
    "the mix of requests and the idle draw stay as measured; the API's bill grows with the hours."
)
IF_HOURS = (
    "How long the rig is in use on an average day: its active windows, pauses shorter than the "
    "configured gap filled. More hours are more requests of the same kind."
)
IF_HARDWARE = (
    "What the hardware cost that lost value in this period, all of it together; what remains of it "
    "at the end of its life stays as declared."
)
IF_KWH = "The average price of what was drawn at the wall, the same for busy and idle time."
IF_PRICE = (
    "All that the period would have cost, divided by the output tokens it would have produced: "
    "the full price with these hours and prices."
)
IF_SAVED = (
    "The API's bill for the requests of these hours minus what the rig would have cost in the "
    "period, everything included."
)
IF_EVEN = (
    "Active hours a day at which the rig at these prices would cost what the API bills for the "
    "same work; never or always where one of them is the cheaper one at any number of hours."
)
