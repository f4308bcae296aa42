//go:build linux

package cluster

import (
	"fmt"
	"sync"
	"time"
)

// A Feature is a disturbance that a kernel may be built without.
type Feature struct {
	name  string
	probe func() error
}

// The features to ask for with [Need].
var (
	Slowing  = newFeature("slow links (tbf queue)", probeSlow)
	Dropping = newFeature("packet loss (nftables numgen)", probeDrop)
	Delaying = newFeature("delay (TAP devices)", probeDelay)
)

func newFeature(name string, probe func() error) *Feature {
	return &Feature{name, sync.OnceValue(probe)}
}

// Err returns why this machine lacks the feature, nil if it has it. It tries once
// in a network namespace made for that, as root.
func (f *Feature) Err() error {
	if err := f.probe(); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

func probeSlow() error {
	return inNewNetwork(func(n namespaces) error {
		return n.tc("qdisc add dev lo root tbf rate 1000000bps burst 16384 limit 65536")
	})
}

func probeDrop() error {
	return inNewNetwork(func(n namespaces) error {
		return n.nft("table bridge probe { chain forward { type filter hook forward priority 0; numgen random mod 100 < 1 drop; }; }")
	})
}

func probeDelay() error {
	return inNewNetwork(func(n namespaces) error {
		r, err := newRelay(n, "out0", "in0", time.Millisecond)
		if err != nil {
			return err
		}
		return r.close()
	})
}

func inNewNetwork(probe func(namespaces) error) error {
	n, err := newNetwork()
	if err != nil {
		return err
	}
	defer n.close()
	return probe(n.namespaces)
}
