// Package cgroup keeps the processes of a job in a control group of their own,
// where the host lets it. [Locate] finds the groups of this process, [New]
// makes one below, and [Group.Kill] ends all that is in it at once, whatever
// sessions, parents and environments the processes have made for themselves.
//
// # What is needed
//
// Only version 2 of control groups kills as a whole, from Linux 5.14 on. A
// group can be made where the user may write to the group that this process is
// in, which the manager of the host has then delegated to it: below systemd's
// Delegate=, in a container with a control group namespace of its own, as
// root. Everywhere else New fails, and a job is ended without it. Hosts with
// version 1, or with both, are such hosts; of them only the memory counters are
// read.
//
// The rule that a group with processes distributes no resources (cgroups(7),
// "no internal processes") does not stand against this: the group made here has
// no controllers, and this process stays where it is.
package cgroup
