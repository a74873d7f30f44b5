# SPDX-License-Identifier: BSD-3-Clause
# Poise for NVIDIA GPUs of compute capability 8.0, 9.0 and later: the packages of Ubuntu 24.04, built and
# installed. cuSPARSE, which some options open, is in the image. In the root of the tree:
#   docker build -f packaging/docker/cuda.Dockerfile -t poise-cuda .
#   docker run --rm --gpus all poise-cuda /usr/libexec/poise/elasticity -n 4 -device cuda
FROM nvidia/cuda:12.6.3-devel-ubuntu24.04 AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends build-essential cmake file libmetis-dev libsuitesparse-dev libsuperlu-dev libopenmpi-dev \
       openmpi-bin zlib1g-dev
COPY . /src
WORKDIR /src
RUN cmake --preset deb -D POISE_CUDA=ON -D "CMAKE_CUDA_ARCHITECTURES=80;90" \
    && cmake --build --preset deb -j "$(nproc)" \
    && cpack --config build/deb/CPackConfig.cmake -B /packages

FROM nvidia/cuda:12.6.3-runtime-ubuntu24.04
COPY --from=build /packages/*.deb /packages/
RUN apt-get update \
    && apt-get install -y --no-install-recommends /packages/*.deb \
       build-essential cmake openmpi-bin pkg-config \
    && rm -rf /packages /var/lib/apt/lists/* \
    && useradd --create-home poise
USER poise
WORKDIR /home/poise
