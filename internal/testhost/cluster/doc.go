//go:build linux

// Package cluster makes a cluster of test hosts on one machine. Each host has
// its own network, host name, processes, mounts and System V IPC, its own
// empty /tmp, /dev/shm, /run and homes, and a real sshd in which an ordinary
// user logs in. A test begins with [New]:
//
//	c := cluster.New(t, cluster.Config{Hosts: 4})
//	cmd := c.Command(ctx, gorun, "-hostfile", c.Hostfile, "-np", "4", "./rank")
//	out, err := cmd.CombinedOutput()
//
// and asks the hosts afterwards what was left on them ([Host.Processes],
// [Host.Files]). Programs that are not tests use [Start] and [Cluster.Close].
//
// # Model
//
// A host is a process namespace whose first process is this very binary,
// started again under another name: it mounts, names the host, runs sshd and
// reaps orphans (first.go). Below the private folders is the machine's own root
// file system, read-only, so every installed program is there.
//
// The hosts hang on a bridge that lives in a network namespace of its own, held
// by nothing but an open file of this process. No interface, mount, account or
// file of the machine is touched, and clusters made in parallel do not see each
// other although all of them use [Subnet].
//
//	test process ── holds ──▶ ┌ bridge ──────────────────────┐
//	                          └─ port0 ── port1 ── port2 ─ … ┘
//	                               │        │        │
//	                             eth0     eth0     eth0
//	                             head     node1    node2
//
// The head is the host where users sit: [Cluster.Command] runs there, and it
// alone sees [Cluster.Dir]. It is made like the others and may also be a
// member of a job. Every host resolves the others' names to their addresses,
// and its own to 127.0.1.1, as Debian installs it.
//
// # Failure
//
// [Host.Cut], [Host.CutIncoming], [Host.CutOutgoing], [Host.Drop], [Host.Slow]
// and [Host.Delay] disturb a host's link, [Host.Heal] ends that;
// [Host.Signal] and [Host.PowerOff] end processes and hosts. Delay is a relay
// in user space and loss a packet filter, since kernels are built without the
// netem queue; what a kernel may still lack is asked with [Need].
//
// When the process that made a cluster ends, for whatever reason, SIGKILL
// included, each host's first process reads the end of its standard input and
// leaves, and the kernel kills what ran there.
//
// # Requirements
//
// Linux, root, ip and tc (iproute2), nft, sshd and ssh. New skips the test
// without them, and unless GORUN_TEST_FULL=1 is set.
package cluster
