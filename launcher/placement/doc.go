// Package placement decides which rank runs where. It is pure: a size, hosts and
// a policy in, a plan out. [Check] tells before any login what cannot be placed,
// [Place] seats the ranks once the hosts are known.
//
// # Slots
//
// A host takes ranks up to its slots. Declared slots are a limit: a job that
// exceeds them is refused, with the arithmetic. Where none are declared, a host
// has a slot for each CPU that it lets us use; these only order the filling, and
// a job that exceeds them is placed with a note. A declared maximum and
// [Policy.PerHost] are limits always.
//
// # Order
//
// By slot, hosts are filled one after the other, and neighbouring ranks share
// hosts. By node, ranks are dealt out in turn to the hosts that have a free slot.
// Where more ranks are allowed than there are slots, the same begins anew with
// as many slots again, so that a host with twice the CPUs carries twice the
// surplus. A host that gets no rank is not in the plan.
package placement
