# puffer-sdk in a container: `make demo`, from an empty folder to a trained policy.
#
#     docker build -t puffer-sdk .                          on a CPU
#     docker build -t puffer-sdk-cuda \
#         --build-arg BASE=nvidia/cuda:12.6.3-devel-ubuntu24.04 .
#     docker run --rm puffer-sdk                            the demo
#     docker run --rm --gpus all puffer-sdk-cuda            the same beside a GPU
#     docker run --rm -it -v "$PWD:/work" -w /work puffer-sdk puffer-sdk check my_env
#
# `make container-test` runs these steps in a clean Debian, without docker.
ARG BASE=debian:bookworm-slim
FROM ${BASE}

# Versions are the base's: an image of today has today's security fixes
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        binutils ca-certificates g++ gcc git libc6-dev make python3 python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --shell /bin/bash puffer \
    && chmod 755 /home/puffer \
    && install -d -o puffer -g puffer /home/puffer/puffer-sdk

# Environments are code: nothing in here runs as root. The user was made above, whatever its number
# hadolint ignore=DL3066
USER puffer
WORKDIR /home/puffer/puffer-sdk
COPY --chown=puffer:puffer . .
ENV PATH=/home/puffer/puffer-sdk/.venv/bin:$PATH

# Installs, and shows once that it works; the compiled trainer stays in the image's cache
RUN make demo DEMO=/home/puffer/first && rm -rf /home/puffer/first

CMD ["make", "demo", "DEMO=/home/puffer/demo"]
