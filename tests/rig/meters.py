"""A tiny HTTP server that speaks as wall meters do: Shelly of both generations, Tasmota, Home
Assistant. Answers are as the devices' manuals show them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Device:
    """`with Device(answers) as device`: GET at `device.url`; `answers` by path, changeable."""

    def __init__(self, answers: dict[str, Any], token: str | None = None) -> None:
        self.answers = answers
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.asked.append(self.path)
                if token is not None and self.headers["Authorization"] != f"Bearer {token}":
                    self.answer(401, b"401: Unauthorized")
                elif self.path not in outer.answers:
                    self.answer(404, b"Not found")
                else:
                    self.answer(200, json.dumps(outer.answers[self.path]).encode())

            def answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for at in range(0, len(body), 100):
                    part = body[at : at + 100]
                    self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "Device":
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def shelly_gen2(watts: float, watt_hours: float) -> dict[str, Any]:
    """A Plus Plug S."""
    switch = {
        "id": 0, "source": "HTTP_in", "output": True, "apower": watts, "voltage": 231.4,
        "current": 1.92, "aenergy": {"total": watt_hours, "by_minute": [6521.1, 6490.7, 6501.0],
        "minute_ts": 1791187260}, "temperature": {"tC": 41.2, "tF": 106.2},
    }  # fmt: skip
    about = {
        "name": None, "id": "shellyplusplugs-a8032abe54dc", "mac": "A8032ABE54DC", "slot": 0,
        "model": "SNPL-00112EU", "gen": 2, "fw_id": "20260901-090000/1.7.0", "ver": "1.7.0",
        "app": "PlusPlugS", "auth_en": False, "auth_domain": None,
    }  # fmt: skip
    status = {"ble": {}, "cloud": {"connected": False}, "switch:0": switch, "sys": {"uptime": 9}}
    return {"/shelly": about, "/rpc/Shelly.GetStatus": status}


def shelly_gen3_energy_meter(watts: float, watt_hours: float) -> dict[str, Any]:
    """An EM Gen3: two channels, each with its counter beside it."""
    told = {
        "em1:0": {"id": 0, "current": 0.02, "voltage": 231.0, "act_power": 1.4, "aprt_power": 4.6},
        "em1:1": {"id": 1, "current": 2.0, "voltage": 231.0, "act_power": watts, "pf": 0.98},
        "em1data:0": {"id": 0, "total_act_energy": 12.5, "total_act_ret_energy": 0.0},
        "em1data:1": {"id": 1, "total_act_energy": watt_hours, "total_act_ret_energy": 0.0},
    }
    about = {"id": "shellyemg3-34987a45b1d8", "mac": "34987A45B1D8", "gen": 3, "app": "EMG3"}
    return {"/shelly": about, "/rpc/Shelly.GetStatus": told}


def shelly_gen1(watts: float, watt_minutes: int) -> dict[str, Any]:
    """A Plug S of the first generation."""
    about = {"type": "SHPLG-S", "mac": "7C87CEB5A2F1", "auth": False, "fw": "20230913-113421",
             "num_outputs": 1, "num_meters": 1}  # fmt: skip
    meter = {"power": watts, "overpower": 0.0, "is_valid": True, "timestamp": 1791187260,
             "counters": [440.1, 441.0, 439.9], "total": watt_minutes}  # fmt: skip
    return {"/shelly": about, "/status": {"wifi_sta": {"connected": True}, "meters": [meter]}}


def shelly_em(watts: float, watt_hours: float) -> dict[str, Any]:
    """An EM of the first generation: it counts Wh."""
    about = {"type": "SHEM", "mac": "C45BBE78A1B2", "auth": False, "num_emeters": 2}
    channel = {"power": watts, "reactive": -10.2, "pf": -0.9, "voltage": 230.7, "is_valid": True,
               "total": watt_hours, "total_returned": 0.0}  # fmt: skip
    return {"/shelly": about, "/status": {"emeters": [channel, {**channel, "is_valid": False}]}}


def tasmota(watts: Any, kilowatt_hours: Any) -> dict[str, Any]:
    """`Status 8` of a plug; lists where it has several channels."""
    energy = {"TotalStartTime": "2026-09-01T10:00:00", "Total": kilowatt_hours, "Yesterday": 8.1,
              "Today": 3.2, "Power": watts, "ApparentPower": 460, "ReactivePower": 43,
              "Factor": 0.99, "Voltage": 231, "Current": 1.98}  # fmt: skip
    told = {"StatusSNS": {"Time": "2026-10-05T08:00:00", "ENERGY": energy}}
    return {"/cm?cmnd=Status%208": told}


def home_assistant(entity: str, state: str, unit: str, **more: Any) -> dict[str, Any]:
    """The state of one sensor."""
    attributes = {"unit_of_measurement": unit, "friendly_name": "Rig", **more}
    told = {"entity_id": entity, "state": state, "attributes": attributes,
            "last_changed": "2026-10-05T08:00:00+00:00", "context": {"id": "01J"}}  # fmt: skip
    return {f"/api/states/{entity}": told}
