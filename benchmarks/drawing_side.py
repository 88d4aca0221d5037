"""One side of drawing.py: counts noisy copies of one image whenever it is asked to, with the code on its path.

    python benchmarks/drawing_side.py MODEL SAMPLES '{"backend": "torch", "precision": "bf16"}'

MODEL is a file, or the name of an architecture for images of 28 x 28. For each line that it reads it prints the seconds
that it took and the CPU seconds of all its threads. It is also run with older versions of the package, and keeps to
what those have.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch

from randsmooth import models
from randsmooth.certification import Engine
from randsmooth.certification.algorithm import ESTIMATE
from randsmooth.certification.scheduler import count_classes


def main() -> None:
    name, samples, settings = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    torch.manual_seed(0)
    if Path(name).exists():
        from randsmooth.certification import load_model

        model = load_model(Path(name))
    else:
        model = models.build(name, in_channels=1, image_size=28, num_classes=10).eval()
    x = torch.randint(0, 256, (1, 28, 28), generator=torch.Generator().manual_seed(0)) / 255
    engine = Engine(model, sigma=0.5, device=torch.device("cpu"), **settings)
    for _ in sys.stdin:
        start = time.perf_counter(), time.process_time()
        count_classes(engine, x, [(ESTIMATE, samples)])
        took = (now - then for now, then in zip((time.perf_counter(), time.process_time()), start, strict=True))
        print(*took, flush=True)


if __name__ == "__main__":
    main()
