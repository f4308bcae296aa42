//go:build linux

// Package slurm runs Slurm on test hosts: a controller on the head and a node
// daemon on every other host, with munge between them as in a real cluster. A
// test begins with [New] and starts what users would type by [Cluster.Command]:
//
//	s := slurm.New(t, slurm.Config{Nodes: 3})
//	out, err := s.Command(ctx, "salloc", "-N", "2", "srun", "hostname").Output()
//
// # Model
//
// The programs are Debian's packages slurm-wlm and munge. Every host is one of
// package cluster, so that each daemon has a network, a host name and processes
// of its own and no option for several daemons on one machine is needed. The
// configuration is written to /run of each host, the munge key with it; both
// are gone with the host. Nodes may claim more processors and GPUs than there
// are, since nothing binds anybody to them.
//
// # Failure
//
// Daemons run in the foreground as children of the test and die with their
// hosts. What they wrote is in [Cluster.Log], which New logs if the test fails.
package slurm
