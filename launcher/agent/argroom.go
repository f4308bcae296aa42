//go:build linux

package agent

import "golang.org/x/sys/unix"

// A program's arguments and environment may take a quarter of its stack's limit,
// at most 6 MiB (execve(2), "Limits on size of arguments and environment"). With
// the usual 8 MiB that is two, which an environment full of functions and paths
// comes to. So an agent whose ranks need more raises its own soft limit, which
// they inherit.
const (
	stackShare = 4
	// ownRoom is what a rank has beside: its own variables, a wrapper, and what the
	// kernel puts on the stack.
	ownRoom = 64 << 10
)

// makeRoom raises this process's stack limit as far as the programs need and it
// may be raised. Where that is not enough, their start says so.
func makeRoom(programs []*program) {
	most := 0
	for _, p := range programs {
		most = max(most, room(p.argv)+room(p.env))
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_STACK, &limit) != nil {
		return
	}
	if need := uint64(most+ownRoom) * stackShare; need > limit.Cur {
		limit.Cur = min(need, limit.Max)
		unix.Setrlimit(unix.RLIMIT_STACK, &limit)
	}
}

// room is what the kernel takes for words: their bytes, an end and a pointer each.
func room(words []string) (n int) {
	for _, w := range words {
		n += len(w) + 1 + 8
	}
	return n
}
