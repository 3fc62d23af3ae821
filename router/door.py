"""The front door: one port over all engines, which chooses one for each request."""

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import aiohttp
from aiohttp import web

from collector import guard
from collector.clock import boot_ns
from collector.events import Attempt
from collector.settings import EngineSettings
from router import health
from router.choice import Choice, Chooser
from router.forward import REQUEST_ID, refusal, upload
from router.gate import Gate
from router.minding import mind
from router.models import Models
from router.passing import Booking, Limits, Passing, Unanswered, invite
from router.receipt import Hold, Receipt, Refused
from router.slots import told_slots
from router.upstream import Answer, Body
from router.watch import Watch

ANSWERS_KEPT = 10_000
ASKED_EVERY_S = 60.0
# By its path, one model is asked for.
MODEL = "/v1/models/"


class Door(Gate):
    """The handler of the one port that clients know."""

    def __init__(
        self,
        chooser: Chooser,
        booking: Booking,
        limits: Limits,
        receipt: Receipt,
        *,
        token: str | None = None,
        only_here: bool = False,
    ) -> None:
        """As `Gate`. `chooser` picks engines; `token` is what clients must show, if any."""
        super().__init__("the router", booking, limits, only_here=only_here)
        self._chooser = chooser
        self._receipt = receipt
        self._token = token
        self._choices: dict[int, Choice] = {}
        self._asking = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self.models = Models(self._asking)
        self.health = health.Health(self._asking, chooser.health, chooser.gone)
        # Which engine keeps the state of an answer that a later request may go on from.
        self._made_by: OrderedDict[str, str] = OrderedDict()

    def minding(self) -> Iterator[Coroutine[None, None, None]]:
        """Watches over the engines' health, their models and their slots, each until cancelled."""
        yield mind("checking the engines' health", self.check_health, health.EVERY_S)
        yield mind("asking for models", self.ask_models, ASKED_EVERY_S)
        yield mind("asking for slots", self.ask_slots, ASKED_EVERY_S)

    async def close(self) -> None:
        """Ask the engines no more."""
        await self._asking.close()

    async def check_health(self) -> None:
        """Ask every engine in force for its health."""
        await asyncio.gather(*(self.health.check(each) for each in self._chooser.engines()))

    async def ask_models(self) -> None:
        """Ask the engines which models they serve."""
        await self.models.refresh(self._chooser.engines())

    async def ask_slots(self) -> None:
        """Ask the engines how many requests they compute at once."""
        engines = self._chooser.engines()
        told = await asyncio.gather(*(told_slots(self._asking, each) for each in engines))
        for engine, slots in zip(engines, told, strict=True):
            if slots is not None:
                self._chooser.told_slots(engine.name, slots)

    def _refused(self, request: web.BaseRequest) -> web.Response | None:
        if refused := super()._refused(request):
            return refused
        if self._token is not None and not _shown(request, self._token):
            return refusal(401, "Show the router's token: Authorization: Bearer <token>.")
        return None

    async def _exchange(self, passing: Passing) -> web.StreamResponse:
        if self._token is not None:
            passing.headers.popall("Authorization", None)
            passing.headers.popall("X-Api-Key", None)
        if passing.watch.operation is None:
            return await self._aside(passing)
        with self._receipt.holding() as hold:
            try:
                await invite(passing.request)
                body = await self._receipt.body(passing.request, passing.watch, hold)
            except Refused as refused:
                return refused.response
            # Decoded, it takes room; nobody keeps it beyond the choice.
            self._choose(passing, passing.watch.copy.document(body))
            return await self._answered(passing, body)

    def _choose(self, passing: Passing, asked: Mapping[str, Any]) -> None:
        watch = passing.watch
        choice = self._chooser.choose(
            asked,
            watch.operation or "other",
            model=watch.copy.model,
            pinned=self._made_by.get(str(asked.get("previous_response_id"))),
            now_ns=boot_ns(),
            served=self.models.names,
        )
        watch.conversation = choice.conversation
        self._take(passing, choice)

    def _take(self, passing: Passing, choice: Choice) -> None:
        self._choices[id(passing)] = choice
        passing.told = ((b"X-Rigledger-Engine", choice.engine.name.encode()),)

    async def _answered(self, passing: Passing, body: bytes) -> web.StreamResponse:
        """The answer of the chosen engine, or of another where that one takes nothing."""
        while True:
            engine = self._choices[id(passing)].engine
            try:
                answer = await self._ask(passing, engine, body)
            except Unanswered as failed:
                if failed.refused:
                    self.health.unreachable(engine.name)
                    if self._again(passing):
                        continue
                return failed.response
            self.health.answered(engine.name, answer.status, body)
            async with answer:
                if answer.status != 503 or not self._again(passing, answer):
                    return await self._pass_back(passing, answer)

    def _again(self, passing: Passing, answer: Answer | None = None) -> bool:
        """Whether another engine is asked, once, for a request that this one has not begun."""
        choice = self._choices[id(passing)]
        other = self._chooser.instead(choice, boot_ns())
        if other is None:
            return False
        if answer is not None:
            passing.watch.answered(answer.status, answer.headers)
            passing.watch.end("upstream_error")
        self._settle(passing)
        first = passing.watch
        passing.watch = Watch(
            passing.request.method,
            passing.request.raw_path,
            passing.headers,
            passing.headers.get(REQUEST_ID),
        )
        passing.watch.attempt_no = first.attempt_no + 1
        passing.watch.copy = first.copy
        passing.watch.conversation = first.conversation
        self._take(passing, other)
        return True

    async def _aside(self, passing: Passing) -> web.StreamResponse:
        """What asks for no tokens: answered here, or by an engine that serves its model."""
        request = passing.request
        path = _path(request)
        if request.method == "GET" and path == "/health":
            return self._own_health()
        if request.method == "GET" and path in ("/v1/models", "/models"):
            await self.models.refresh(self._chooser.engines(), _authority(passing))
            return web.Response(
                body=self.models.merged(self._chooser.engines()), content_type="application/json"
            )
        await invite(request)
        with self._receipt.holding() as hold:
            try:
                data = await self._aside_body(passing, hold)
            except Refused as refused:
                return refused.response
            return await self._answered_aside(passing, data)

    async def _aside_body(self, passing: Passing, hold: Hold) -> Body:
        """Held back until it has told its model, where it matters which engine gets it. Raises
        Refused."""
        request, watch = passing.request, passing.watch
        serving = {self.models.names(engine) for engine in self._chooser.engines()}
        if len(serving) == 1 or not request.body_exists:
            return upload(request, watch)
        body = await self._receipt.body(request, watch, hold)
        watch.copy.look(body)
        return body

    async def _answered_aside(self, passing: Passing, data: Body) -> web.StreamResponse:
        path = _path(passing.request)
        made_by = self._made_by.get(path.removeprefix("/v1/responses/").partition("/")[0])
        model = passing.watch.copy.model
        if path.startswith(MODEL):
            model = unquote(path.removeprefix(MODEL))
        engine = self._chooser.any(made_by, model, self.models.names)
        try:
            answer = await self._ask(passing, engine, data)
        except Unanswered as failed:
            if failed.refused:
                self.health.unreachable(engine.name)
            return failed.response
        async with answer:
            return await self._pass_back(passing, answer)

    def _own_health(self) -> web.Response:
        """Well while any engine is in."""
        engines = {
            engine.name: self.health.reason(engine.name) for engine in self._chooser.engines()
        }
        well = any(reason is None for reason in engines.values())
        told = {
            "status": "ok" if well else "no engine is in",
            "engines": {name: reason or "in" for name, reason in engines.items()},
        }
        return web.json_response(told, status=200 if well else 503)

    def _passed(self, passing: Passing, chunk: bytes, at_ns: int) -> None:
        super()._passed(passing, chunk, at_ns)
        choice = self._choices.get(id(passing))
        if choice is not None and not choice.began and passing.watch.has_begun:
            choice.began = True
            self._chooser.first_token(choice, at_ns)

    def _settle(self, passing: Passing) -> None:
        try:
            super()._settle(passing)
        finally:
            choice = self._choices.pop(id(passing), None)
            if choice is not None:  # no event came of it; what it reserved is free again
                self._chooser.given_up(choice, boot_ns())

    def _event(self, passing: Passing, engine: EngineSettings) -> Attempt:
        event = super()._event(passing, engine)
        choice = self._choices.get(id(passing))
        if choice is None:
            return event
        if event.response_id:
            self._remember(event.response_id, engine.name)
        told = self._chooser.finished(choice, event, passing.watch.told, boot_ns())
        del self._choices[id(passing)]
        return told

    def _remember(self, response_id: str, engine: str) -> None:
        self._made_by[response_id] = engine
        if len(self._made_by) > ANSWERS_KEPT:
            self._made_by.popitem(last=False)


def _path(request: web.BaseRequest) -> str:
    return request.raw_path.partition("?")[0].rstrip("/")


def _authority(passing: Passing) -> dict[str, str]:
    """The client's own right to see a list of models."""
    names = ("Authorization", "X-Api-Key")
    return {name: passing.headers[name] for name in names if name in passing.headers}


def _shown(request: web.BaseRequest, token: str) -> bool:
    """Whether the client shows the token, as OpenAI's or as Anthropic's clients show a key."""
    shown = request.headers.get("X-Api-Key")
    headers = {"Authorization": f"Bearer {shown}"} if shown else request.headers
    return guard.refuse_token(headers, token) is None
