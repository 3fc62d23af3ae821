"""What the numbers of a routing decision mean: the help texts of two pages."""

AT_STAKE = (
    "The cost of the time in which cards stood by while a request of their pool waited, and of "
    "computing prompts that another card of the pool had computed last. No choice of card could "
    "have saved more than that; how much it really could is not known."
)
DECISIONS = (
    "Attempts that told a routing decision, on the day they ended. A request that was tried on two "
    "cards has two."
)
FOUND = (
    "Of the tokens that the router believed to be cached on the card it chose, the share that the "
    "engine reported as cached. Estimated hits count on neither side."
)
REGRETTED = (
    "Decisions whose first token came later than another card was estimated to need. The other "
    "card's time is an estimate, so this is a hint and no proof."
)
AGREED = (
    "How often a second policy, that only watches (`router.shadow`), would have chosen the same "
    "card."
)
SHARES = (
    "Requests by the card on which they ended, day by day, decided by this router or not; retries "
    "of one request count once. An even split is no aim: a warm card can be worth a longer queue."
)
HITS = (
    "Every decision by the hit that was predicted for the chosen card and the hit that its engine "
    "reported. A circle holds the decisions of a range no wider than a quarter of its lower bound; "
    "its area goes with their number."
)
REGRET = (
    "The time to the first token less the least that any other candidate was estimated to need. "
    "Above zero another card might have been quicker."
)
CAUSES = (
    "Why prompt tokens were computed and not read from a cache, as their prefix keys tell, and "
    "what the cards cost while they computed them. Another card: it was the last to compute them "
    "within two days. Lost: this card was, and has them no more. Rewritten: the conversation's "
    "earlier history was replaced. New: nobody of the pool had computed them."
)
HERDING = (
    "A spell in which a request waited on one card while others of its pool stood by. Its cost is "
    "what those others cost meanwhile. Ten seconds are what computing a prompt of 32,000 tokens "
    "anew takes on a desktop card: who waits longer would have been sooner on the free card."
)
GANTT = (
    "Each card of the pool with its requests, one above the other where they overlap. Those that "
    "waited in the episode are strong; where a card stood by it is red."
)
POLICIES = "Decisions by the rule that made them and the reason that it gave."
DECISION = (
    "What the router knew when it chose: for each candidate the tokens of this prompt believed to "
    "be in its cache, the tokens of others not yet at their first token, the requests on it, and "
    "the time to the first token as estimated."
)
PREDICTED = "Tokens of this prompt that the router believed to be cached on the chosen card."
PENDING = "Uncached tokens of other requests there that were not yet at their first token."
IN_FLIGHT = "Requests that were on it, waiting or computing."
ESTIMATE = "Time to the first token there, as the router estimated it when it chose."
REPORTED = "Tokens of this prompt that the engine reported as cached."
ESTIMATED = (
    "The engine reported no hit. This is what the time to the first token leaves to it, at the "
    "speed that cold prompts had; it counts as no hit that was."
)
MISS = (
    "Input that was computed and not read from a cache, by why, with the card time and the cost of "
    "computing it. They add up to the request's input."
)
