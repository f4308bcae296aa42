#!/bin/sh
# Measures the launcher beside Hydra, Open MPI and others, in interleaved rounds,
# and prints tables of ratios: start, output, memory and end of a job on this host;
# start on four hosts with real SSH servers; start on a thousand hosts.
#
#     sh bench/launcher.sh [rounds]
#
# Debian's mpich, openmpi-bin and gcc are the peers; root is needed for the four
# hosts, which are made from namespaces. The machine should be idle.
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-15}
dir=$(mktemp -d "$PWD/bench/tmp.XXXXXX") # the hosts made here share only this folder
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
CGO_ENABLED=0 go build -tags=urfave_cli_no_docs -trimpath -ldflags='-s -w' -o "$dir/gorun" ./cmd/gorun
go build -o "$dir" ./bench/... ./internal/testhost/...
export GORUN="$dir/gorun"

"$dir/launch" -gorun "$GORUN" -pairs "$rounds"
"$dir/output" -gorun "$GORUN" -pairs "$rounds"
"$dir/running" -gorun "$GORUN" -pairs "$rounds"
if [ "$(id -u)" = 0 ]; then
	"$dir/hosts" -n 4 -- sh -c '"$0/launch" -gorun "$GORUN" -pairs "$1" -hostfile "$GORUN_HOSTFILE" -F "$TESTHOST_SSH_CONFIG"' "$dir" "$rounds"
else
	echo "four hosts: left out, since they need root"
fi
for hosts in 64 250 1000; do
	echo "$hosts hosts, 8 ranks each, in other processes:"
	"$dir/crowd" -n "$hosts" -slots 8 -- sh -c 'exec "$GORUN" -q -F "$TESTHOST_SSH_CONFIG" --node-timeout 60 true'
done
echo "1000 hosts, all ranks print 16 KiB:"
"$dir/crowd" -n 1000 -slots 8 -- sh -c 'exec "$GORUN" -q -F "$TESTHOST_SSH_CONFIG" --node-timeout 60 true print 16384' >/dev/null
