"""llama.cpp's own HTTP server in a process: `llama_server.py MODEL SLOTS CONTEXT`.

Prints its address once it listens and ends with its standard input.
"""

import os
import sys

import xllamacpp


def main(model: str, slots: int, context: int) -> None:
    """Serve until standard input ends."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = slots
    parameters.n_ctx = context
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.endpoint_metrics = True
    parameters.endpoint_slots = True
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    # Tearing the server down in order may wait for requests; nothing here is worth that.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
