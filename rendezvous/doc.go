// Package rendezvous is how the ranks of a job meet: values published once,
// exchanges, barriers, the ring, events. [Open] gives a rank its [Job]; a
// program needs nothing else:
//
//	job, err := rendezvous.Open(ctx, nil)
//	if err != nil {
//		return err
//	}
//	defer job.Close()
//	if job.Rank() == 0 {
//		err = job.Put(ctx, "dataset", []byte(path))
//	}
//
// Package nccl opens a Job by itself; programs that only train need not.
//
// # Model
//
// A job is known by its size and by the plan, which says on which host each rank
// is and how the ranks stand on the ring. A value is published once under a key
// and then never changes, so a rank may ask for it before or after that, and
// whichever way it comes, the first copy is as good as any. An exchange is one
// value from each rank to all of them, and a barrier is an exchange of nothing. A
// value that only a few will ask for is offered instead: it stays on its rank's
// host, and each rank has keys of its own.
//
// What carries all this is a [Backend]: an agent's job socket under gorun, a
// member of the cluster of hosts in the agents themselves, and [Memory] within
// one process. [Local] makes a whole world of the latter, for tests. An agent
// answers its ranks with [Serve], through a socket in the file system and
// through the descriptor that each of them inherits, see [NewDoor].
//
// # Failure
//
// Every call that waits takes a context, and if that ends first, the
// [MissingError] says which ranks, on which hosts, have not come. Suspicion that
// a host is gone is an [Event] and ends nothing. The launcher's verdict is an
// Event too, and what [Job.Lost] waits for.
//
// # Security
//
// The job socket answers processes of the job's user only, and root. Lengths are
// bounded before anything is allocated, in both directions, and so is what a job
// may publish. Values are not secret within the job.
package rendezvous
