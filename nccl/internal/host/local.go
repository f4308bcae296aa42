package host

import (
	"github.com/gorun/gorun/nccl/internal/host/control"
	"github.com/gorun/gorun/nccl/internal/host/fabric"
	"github.com/gorun/gorun/nccl/internal/host/sched"
)

// Local returns the Comms of n ranks inside this process.
func Local(n int, conf Config) []*Comm {
	order := ranksInOrder(n)
	comms := make([]*Comm, n)
	members := make([]control.Member, n)
	for i, port := range fabric.Local(n) {
		comms[i] = newComm(sched.Ring{Order: order, Index: i}, port, conf)
		members[i] = comms[i]
	}
	for i, c := range control.Local(members) {
		comms[i].control = c
	}
	return comms
}
