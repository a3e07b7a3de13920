# The image of the manager: docker build -t phalanx:0.1.0 .
#
# Nothing but the program, the libraries it is linked with and the certificates of public authorities; it runs as a
# user without a name or rights, on a root file system that may be read-only. tests/image.sh checks that without
# building it.
ARG BASE=debian:12-slim

FROM ${BASE} AS build
WORKDIR /src
# First the packages, so that a changed source does not fetch them again.
COPY tools/install-packages tools/
RUN tools/install-packages build && apt-get install -y --no-install-recommends make
COPY CMakeLists.txt Makefile ./
COPY cmake cmake
COPY deploy deploy
COPY src src
COPY tests/CMakeLists.txt tests/
RUN make build && strip --strip-unneeded build/phalanx

FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends \
    ca-certificates \
    libboost-container1.81.0 \
    libboost-json1.81.0 \
    libcurl4 \
    libfmt9 \
    libprometheus-cpp-core1.0 \
    libsimdjson14 \
    libssl3 \
    libstdc++6 \
    libyaml-cpp0.7 \
    zlib1g \
  && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*
COPY --from=build /src/build/phalanx /usr/local/bin/phalanx
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/phalanx"]
CMD ["manager"]
