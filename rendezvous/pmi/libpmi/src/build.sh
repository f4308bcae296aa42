#!/bin/sh
# build.sh amd64|arm64 OUTPUT builds the library for an architecture. The same
# compiler makes the same bytes anywhere.
set -eu
case $1 in
amd64) compiler=x86_64-linux-gnu-gcc ;;
arm64) compiler=aarch64-linux-gnu-gcc ;;
esac
exec "$compiler" -shared -fPIC -Os -s -std=gnu99 -Wall -Wextra -Werror \
	-ffreestanding -nostdlib -fvisibility=hidden -fno-stack-protector \
	-fno-asynchronous-unwind-tables -Wl,--build-id=none,--hash-style=gnu \
	-Wl,-z,noexecstack,-z,noseparate-code,-z,now,-z,norelro \
	-o "$2" "$(dirname "$0")/pmi.c"
