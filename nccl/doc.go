// Package nccl gives communicators and collective operations among the ranks of a job, with the names of NCCL and in Go's
// manner. Start with [Init], [Of] or [Make], [AllReduce] and [Comm.Wait].
package nccl
