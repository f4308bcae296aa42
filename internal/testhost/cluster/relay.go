//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxFrame bounds a frame with room: a TAP device without offloads carries
	// none larger than its MTU of 1500 and a header.
	maxFrame = 1 << 14
	// maxInFlight bounds the frames on their way in one direction; more are
	// dropped, as by a full router.
	maxInFlight = 4096
)

// Delay makes every packet to or from the host take that much longer, so that a
// round trip takes twice that. Zero ends it.
//
// The host's port leaves the bridge for a second one. A TAP device is put on
// each, and this process copies between the two, later:
//
//	br0 ── out ═▶ wait ═▶ in ── second bridge ── port ── host
//	           ◀═ wait ◀═
//
// While it changes, packets are lost.
func (h *Host) Delay(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("delay %v of %s: expected none or a positive one", d, h.Name)
	}
	if err := h.undelay(); err != nil || d == 0 {
		return err
	}
	net := h.cluster.network.namespaces
	outer, inner, second := fmt.Sprintf("out%d", h.index), fmt.Sprintf("in%d", h.index), h.secondBridge()
	r, err := newRelay(net, outer, inner, d)
	if err != nil {
		return fmt.Errorf("delay %s: %w", h.Name, err)
	}
	h.relay = r
	return net.ip(
		"link add "+second+" type bridge forward_delay 0 mcast_snooping 0",
		"link set "+second+" up",
		"link set "+outer+" master "+bridge+" up",
		"link set "+inner+" master "+second+" up",
		"link set "+h.port()+" master "+second)
}

func (h *Host) secondBridge() string { return fmt.Sprintf("delay%d", h.index) }

// undelay puts the host's port back on the bridge if it is not there.
func (h *Host) undelay() error {
	if h.relay == nil {
		return nil
	}
	err := h.cluster.network.namespaces.ip(
		"link set "+h.port()+" master "+bridge,
		"link del "+h.secondBridge())
	err = errors.Join(err, h.relay.close())
	h.relay = nil
	return err
}

// A relay copies frames between two TAP devices. For each direction one
// goroutine reads and stamps them and one writes them when they are due; close
// ends and awaits all four.
type relay struct {
	taps   [2]*os.File
	cancel context.CancelFunc
	wait   sync.WaitGroup
}

// frame is an Ethernet frame on its way.
type frame struct {
	due  time.Time
	data []byte
}

func newRelay(n namespaces, outer, inner string, delay time.Duration) (*relay, error) {
	r := new(relay)
	for i, name := range []string{outer, inner} {
		err := n.enter(func() (err error) {
			r.taps[i], err = openTAP(name)
			return err
		})
		if err != nil {
			if i > 0 {
				r.taps[0].Close()
			}
			return nil, err
		}
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	for i := range r.taps {
		way := make(chan frame, maxInFlight)
		r.wait.Go(func() { receive(r.taps[i], way, delay) })
		r.wait.Go(func() { forward(ctx, r.taps[1-i], way) })
	}
	return r, nil
}

// receive reads frames until the device is closed.
func receive(tap *os.File, way chan<- frame, delay time.Duration) {
	defer close(way)
	buffer := make([]byte, maxFrame)
	for {
		n, err := tap.Read(buffer)
		if err != nil {
			return
		}
		select {
		case way <- frame{time.Now().Add(delay), append([]byte(nil), buffer[:n]...)}:
		default: // full
		}
	}
}

// forward writes frames when they are due, which is in the order of arrival
// since all wait equally long.
func forward(ctx context.Context, tap *os.File, way <-chan frame) {
	for f := range way {
		due := time.NewTimer(time.Until(f.due))
		select {
		case <-due.C:
		case <-ctx.Done():
			due.Stop()
			return
		}
		// A device that is down refuses the frame, and the frame is lost, as it
		// would be on a cut link.
		tap.Write(f.data)
	}
}

func (r *relay) close() error {
	r.cancel()
	err := errors.Join(r.taps[0].Close(), r.taps[1].Close())
	r.wait.Wait()
	return err
}

// openTAP makes a TAP device in the network namespace of the calling thread. It
// exists while the file is open.
func openTAP(name string) (*os.File, error) {
	const clone = "/dev/net/tun"
	fd, err := unix.Open(clone, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", clone, err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("make TAP device %s: %w", name, err)
	}
	// Only now: the runtime's poller refuses the file before it is a device.
	return os.NewFile(uintptr(fd), clone), nil
}
