"""What every number on the pages means, in a sentence or two: the help texts."""

FULL = (
    "Everything the rig cost in the period (hardware, electricity, other costs, the hours it "
    "stood idle too) divided by the output tokens it produced. The only price of the rig that "
    "may stand beside an API bill."
)
ACTIVE = (
    "The cost of the time in which a card worked on requests, divided by the output tokens. "
    "Idle hours and capacity held ready are left out."
)
MARGINAL = (
    "Only the electricity that requests draw beyond the idle draw, divided by the output tokens: "
    "what one more million costs now that the rig is bought."
)
API = (
    "What the same requests would have cost at the API's prices, input billed too, divided by the "
    "same output tokens. Cached input is what the provider's own cache would have hit where that "
    "can be simulated, else what was hit here."
)
SAVED_FULL = (
    "API bill for the same requests minus the full cost of the rig in the period. "
    "Answers whether buying it was right; where the API would have been cheaper, it says how much "
    "more the rig cost."
)
SAVED_MARGINAL = (
    "API bill for the same requests minus the electricity they drew beyond idle. "
    "Answers whether sending them to the rig was right, now that it is bought."
)
SAVED = {"full": SAVED_FULL, "marginal": SAVED_MARGINAL}
OUTPUT = (
    "Tokens that the rig generated in requests that ended in the period, as the engines reported."
)
WATERFALL = (
    "The full price, split by what the cards were doing while the money was spent. Busy time is "
    "split again: the part that ran as fast as the cards have shown they can (at peak) and the "
    "speed that was missing (below peak). The steps add up to the full price exactly."
)
TREND = (
    "Bars: the rig's full price per million output tokens in each month with data. Marks: the API "
    "bill for that month's requests over the same tokens. A paler bar is a month still running."
)
COST = (
    "Hardware: the value that assets lost in the period, and rents. Electricity: measured energy "
    "of cards and host at the tariff in force. Other: what else is declared, like space, "
    "internet or the cost of capital."
)
HOURS = (
    "Share of the cards' time that lies in active windows: stretches of work with pauses shorter "
    "than the configured gap (15 minutes unless set)."
)
OCCUPANCY = "Share of active time in which a card had at least one request."
THROUGHPUT = (
    "Output tokens per busy second, against the peak rate of the cards: the best 60 busy seconds "
    "of the last 90 days, or a declared benchmark."
)
STRIPS = (
    "Each row is a card, each cell 15 minutes. A cell is filled by the share of time in each "
    "state; time that nothing witnessed is hatched, time to come is blank."
)
STRANDED = (
    "Ten seconds or more in which requests waited for one card while others of its pool stood by "
    "without any; priced at what those cost in that time. The page Routing lists all of the month."
)
GROUPS_FULL = (
    "The group's share of everything the rig cost: its busy cost, plus idle and other time in the "
    "same proportion."
)
GROUPS_BUSY = "Cost of the card time that the group's requests took."
GROUPS_REQUESTS = "Requests that ended in the period; retries of one request count once."
BILL_SAME_HITS = (
    "API bill for the same requests, cached input billed as cached where it was so here."
)
BILL_SIMULATED = (
    "API bill for the same requests with the provider's own cache, replayed on the prompts' "
    "prefixes by its rules; unknown where no request told its prefixes or no rules are known."
)
BILL_NO_CACHE = "API bill for the same requests if no input had been served from a cache."
UNPRICED = (
    "Requests that could not be priced; they are in none of its bills, so that bills, and what was "
    "saved, are at least what is said."
)
OUTPUT_ONLY = (
    "The API's output price alone, as people quote it. It leaves out the input, so it makes the "
    "API look cheaper than the bill would be."
)
VALUE_LOST = (
    "What all assets in service lose in value on the present day, each by its own method, and what "
    "rents cost if the host is up all day."
)
TARIFF = (
    "The price of a kWh at the wall that is in force today: one price, windows of the day, or a "
    "price series. Measured energy is divided by the power supply's efficiency, multiplied by the "
    "overhead and by this."
)
HOST = (
    "What the host draws beside the cards while it is up: processor, memory, fans, disks. "
    "Metered at the wall, or declared, because no card reports it."
)
GAP = (
    "Pauses between requests shorter than this count as headroom, longer ones as idle time. It "
    "moves cost between these two states and changes no total."
)
CAPITAL = (
    "What was bought, with its price and how its value falls, and what is rented. What a month "
    "uses up is its hardware cost; what a sale does not bring back is lost on its day."
)
OTHER = (
    "What is paid for beside hardware and electricity: an amount a month, one paid at once, or a "
    "yearly rate on the value that the assets bind."
)
SOURCES = (
    "What the running collector says of itself: whether it can keep events, when each card was "
    "last read, and whether each engine answered when it was last asked."
)
CHANGES = (
    "What was changed on this page. Each earlier version of the file is kept beside it; an undo "
    "brings the last one back and is listed as well."
)
FULL_HERE = "Everything the rig cost in the period: hardware, electricity, other costs."
MARGINAL_HERE = "The electricity that the period's requests drew beyond the cards' idle draw."
HERE_OR_THERE = (
    "What decides from now on, as the rig is bought: its electricity beyond idle for a million "
    "output tokens, beside the API's bill for the same requests."
)
PAYBACK = (
    "The API's bill less own cost, month by month since the first purchase, added up. Against full "
    "it answers whether buying was right, against marginal whether running it was."
)
EVEN = (
    "Where own cost and the bill are the same, one thing changed at a time and all else as "
    "measured: occupancy, throughput, the mix of requests, the idle draw."
)
EVEN_HOURS = "Hours a day in active windows at which the rig costs as much as the API's bill."
EVEN_UTILIZATION = "Share of all card time spent computing at which both cost the same."
EVEN_TOKENS = "Output tokens a day, at the measured rate, at which both cost the same."
EVEN_HARDWARE = (
    "What the hardware might have cost for both to be the same, its residual value unchanged."
)
EVEN_KWH = "The average price of a kWh at the wall at which both would cost the same."
EVEN_PAYBACK = (
    "Months until what an API would have billed, less what the rig costs beside its purchase, "
    "adds up to the price of what was bought."
)
DAY_REQUESTS = (
    "Requests that ended on this day and are looked at; of one that was tried again only the try "
    "that counts."
)
DAY_COST = (
    "What the requests that are looked at cost on this day: their share, by card time, of "
    "hardware, electricity and other costs while the cards were busy."
)
CARD_TIME = "Its share of the card's time: while several requests compute, each takes an even part."
REQUEST_COST = (
    "The request's share, by card time, of what its cards cost while they were busy: hardware, "
    "electricity and other costs."
)
TOOK = "From its arrival to its last byte."
WAITED = "From its arrival at the engine until it computed: as told, else by the engine's slots."
FIRST = "From where it began to compute to its first token."
NEW = "Input that no cache served, without what is known to be recomputed."
RECOMPUTED = (
    "Input that no cache served although a card of the pool had computed it before; told only for "
    "requests with prefix keys."
)
CACHED = "Input that the engine served from its cache; it takes no card time."
GENERATED = "Tokens that the engine generated."
LINE = (
    "The request among those that shared its card: pale bars are its neighbours. Beneath, the mean "
    "power between two readings; hatched where it is not known."
)
REQUEST_BILLS = (
    "What each price sheet asks for this one request. The simulated bill counts what the "
    "provider's cache would still have held of the requests before it."
)
QUALITY = "What is not known about this period, and which figures that touches."
REPORT = (
    "The same as `rigledger report --format html` writes: one file without anything to load. While "
    "a month runs, the last full one's."
)

COST_ACTIVE = (
    "What the cards cost in the time in which they had requests: the busy part of hardware, "
    "electricity and other costs."
)
COST_MARGINAL = (
    "The electricity that requests drew beyond the idle draw. Unknown where no card was read, no "
    "idle draw was seen or no price is set."
)
UNALLOCATED = (
    "Cost that no request carries: of pools that did no work, and of assets that stood on no card "
    "in service."
)
ENERGY = (
    "Energy at the cards by their own counters or power readings, and beyond them by a wall meter "
    "or a declared constant. Time without a reading is unknown, never idle power."
)
COST_MONTHS = (
    "Each month's cost by what was paid for, for at most twelve months since the first purchase or "
    "request. A paler bar is a month still running; a + says that not all of it is known."
)
THREE_COSTS = (
    "The same requests three ways. Marginal: only what they drew beyond idle. Active: what their "
    "card time cost. Full: with their share of all the time around it. Full costs and what no "
    "request carries add up to the period's cost."
)
PARTS = {
    "capital": "value that assets lost, and rents",
    "energy": "measured energy at the tariff in force",
    "other": "what else is declared",
}
PRICES = {
    "full": "its share of everything the rig cost",
    "active": "cost of the time in which it was computed",
    "marginal": "electricity beyond idle; hatched where unknown",
}
INPUT = "Tokens that requests sent, cached ones included, as the engines reported."
CARD_TIME = (
    "Time that cards spent on the requests: while several compute on a card, each takes its part "
    "of the moment."
)
CARD_COST = "What the card cost in the period, whatever it did."
CSV = "All figures of this table and more, with nothing rounded, for spreadsheets."
BUSY_SHARE = (
    "Share of the cards' time in service in which they had at least one request, cards weighted by "
    "their peak rates. Time that nobody watched counts as not busy here."
)
CHAIN = (
    "Hours, occupancy and throughput one after another: the share of what the cards could put out "
    "that is left after each. Multiplied they are the tokens that came out. What each loses is a "
    "part of the full price; with what is left at peak and what no card carries they add up to it."
)
MONTH_STRIPS = (
    "Each row is a card, each cell a day of the month in the rig's time zone. A cell is filled by "
    "the share of time in each state; time that nothing witnessed is hatched, days to come are "
    "blank."
)
WEEK = (
    "All cards and all days of the period laid over one week. The share is busy time ÷ the time "
    "that somebody witnessed, in hours of the rig's wall clock."
)
AT_ONCE = (
    "For how long a pool of cards had one request, two, and so on, whether they waited or were "
    "computed. Beyond the line are more requests than the pool has slots: some of them wait."
)
NEEDED = (
    "The recorded arrivals once more on fewer engines: a request takes as long as it took and "
    "waits where all slots are taken. Colder caches and slower batches of fewer engines are not "
    "replayed, and each day begins with free slots."
)
EVERY_CARD = "Each card's time by state, its three layers and what it cost."

STATES = {
    "busy": "at least one request on the card",
    "stranded": "no request here while one waited elsewhere in the pool",
    "headroom": "nobody waiting, within an active hour",
    "idle": "outside active hours",
    "other": "the card worked for something else",
    "off": "powered off, suspended, or its engine down",
    "unknown": "nothing witnessed this time",
}
