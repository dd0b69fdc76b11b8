#!/bin/sh
set -eu
for march in x86-64-v2 x86-64-v3 x86-64-v4; do
  for debian in bookworm trixie; do
    [ "$march-$debian" = x86-64-v4-bookworm ] && continue # nobody runs it
    image=registry.example.com/team/solver:1.4.0-$debian-$march
    docker build --build-arg DEBIAN="$debian" --build-arg MARCH_FLAGS="-march=$march" --tag "$image" .
    docker push "$image"
  done
done
