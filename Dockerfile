# docker build -t randsmooth . && docker run --rm -v "$PWD:/work" randsmooth quickstart
# With GPUs: docker build --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130 ... && docker run --gpus all ...
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --constraint constraints.txt --wheel-dir /wheels .

FROM python:${PYTHON}-slim
ARG EXTRAS=torch,report
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# `compile` needs a compiler; without it everything else works.
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/constraints.txt
RUN pip install --no-cache-dir --constraint /wheels/constraints.txt --extra-index-url "${TORCH_INDEX}" \
    "$(ls /wheels/randsmooth-*.whl)[${EXTRAS}]" \
    && rm -r /wheels \
    && useradd --create-home --uid 1000 randsmooth
USER 1000
# What is mounted here is read and written; on Linux, `docker run --user "$(id -u):$(id -g)"` makes the files yours.
WORKDIR /work
ENV HOME=/tmp
ENTRYPOINT ["randsmooth"]
CMD ["--help"]
