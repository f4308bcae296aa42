// Package placement decides which rank runs where, and what of its host it gets:
// CPUs, GPUs and network adapters. It is pure: a size, hosts and a policy in, a plan
// out. [Check] tells before any login what cannot be placed, [Place] seats the ranks
// once the hosts are known.
//
// # Slots
//
// A host takes ranks up to its slots. Declared slots are a limit: a job that
// exceeds them is refused, with the arithmetic. Where none are declared, a host has
// one for each GPU, if it has any and ranks are given GPUs, else one for each core
// that it lets us use; these only order the filling, and a job that exceeds them is
// placed with a note, unless [Policy.NoOversubscribe] makes them a limit too. A
// declared maximum and [Policy.PerHost] are limits always, and so is what each rank
// is to have for itself: cores, hardware threads, GPUs.
//
// # Order
//
// By slot, hosts are filled one after the other, and neighbouring ranks share
// hosts. By node, ranks are dealt out in turn to the hosts that have a free slot.
// Where more ranks are allowed than there are slots, the same begins anew with
// as many slots again, so that a host with twice the CPUs carries twice the
// surplus. A host that gets no rank is not in the plan. A list of hosts in the order
// of ranks, and a rankfile, say it rank by rank.
//
// # GPUs
//
// Local rank i has GPU i, or, with several for each, the i-th group of them. Every
// rank sees all GPUs that the job may use on its host, its own under the number that
// it takes by itself, or only its own.
//
// # CPUs
//
// Ranks are bound within the CPUs that their host allows, and never to a part of
// what a core allows. Cores are ordered by package, NUMA node and cache, and
// neighbouring ranks have neighbouring cores:
//
//	share                each rank an equal part of the cores, if there is one for each
//	gpu                  the same, of the cores on the NUMA nodes of the rank's GPUs
//	core, hwthread       one each, or as many as were asked for, from the first on
//	l3, numa, package    all of those that have the rank's share in them
//
// Where it is not known how the CPUs lie, each is a core by itself and the host is
// one NUMA node.
package placement
