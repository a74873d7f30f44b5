# SPDX-License-Identifier: BSD-3-Clause
# Poise for CPUs: the packages of Debian 12, built and installed. In the root of the tree:
#   docker build -f packaging/docker/cpu.Dockerfile -t poise .
#   docker run --rm poise /usr/libexec/poise/elasticity -n 4
FROM debian:12-slim AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends build-essential cmake file libmetis-dev libsuitesparse-dev libsuperlu-dev libopenmpi-dev \
       openmpi-bin zlib1g-dev
COPY . /src
WORKDIR /src
RUN cmake --preset deb \
    && cmake --build --preset deb -j "$(nproc)" \
    && cpack --config build/deb/CPackConfig.cmake -B /packages

FROM debian:12-slim
COPY --from=build /packages/*.deb /packages/
RUN apt-get update \
    && apt-get install -y --no-install-recommends /packages/*.deb \
       build-essential cmake openmpi-bin pkg-config \
    && rm -rf /packages /var/lib/apt/lists/* \
    && useradd --create-home poise
USER poise
WORKDIR /home/poise
