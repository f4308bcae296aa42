package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxRanks bounds the world size, so that a slip of the pen in a number does not
// take the launcher's memory. The largest machines have a tenth of it in GPUs.
const maxRanks = 1 << 20

// The mappings that [Policy.MapBy] can name.
const (
	BySlot = "slot" // fill a host before the next
	ByNode = "node" // deal ranks out to the hosts in turn
)

var mappings = []string{BySlot, ByNode}

// Policy says how ranks are spread over hosts. The zero Policy fills slot by
// slot.
type Policy struct {
	// MapBy is [BySlot] or [ByNode]; "" is BySlot.
	MapBy string

	// PerHost is how many ranks a host gets at most, and, if no size is given,
	// how many each host gets. It takes the place of slots that are not declared,
	// and does not raise those that are. 0: as slots allow.
	PerHost int

	// Apps holds the numbers of ranks of several programs, which are numbered in
	// this order. Empty: all ranks run one program.
	Apps []int

	// Oversubscribe lets hosts have more ranks than declared slots, though not
	// more than their maximum.
	Oversubscribe bool
}

// Host is a host as the planner sees it.
type Host struct {
	Name string

	// Slots is the declared number of ranks; 0: not declared. MaxSlots is the
	// number that is never exceeded; 0: none.
	Slots, MaxSlots int

	// CPUs is the number of hardware threads that ranks may use there; 0: not
	// known.
	CPUs int
}

// Check returns the error with which [Place] would refuse to seat size ranks,
// whatever the hosts' CPUs turn out to be. What depends on CPUs is never
// refused, so a job that passes before the hosts are reached can be placed after.
func Check(size int, hosts []Host, p Policy) error {
	_, _, err := prepare(size, hosts, p)
	return err
}

// prepare validates the request and returns the world size and each host's room.
func prepare(size int, hosts []Host, p Policy) (int, []room, error) {
	if err := validate(size, hosts, p); err != nil {
		return 0, nil, err
	}
	if size == 0 {
		if size = defaultSize(hosts, p); size > maxRanks {
			return 0, nil, fmt.Errorf("expected at most %d ranks, found more", maxRanks)
		}
	}
	rooms := make([]room, len(hosts))
	total := 0
	for i, h := range hosts {
		rooms[i] = roomOn(h, size, p)
		if total < size { // no overflow, and the sum is exact where it is reported
			total += rooms[i].limit
		}
	}
	if total < size {
		return 0, nil, capacityError(size, total, rooms, hosts)
	}
	return size, rooms, nil
}

// validate returns all that is wrong with the request by itself.
func validate(size int, hosts []Host, p Policy) error {
	var problems []error
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf(format, args...))
	}
	if len(hosts) == 0 {
		problem("no hosts to place ranks on")
	}
	if len(hosts) > maxRanks {
		problem("expected at most %d hosts, found %d", maxRanks, len(hosts))
	}
	if size > maxRanks {
		problem("expected at most %d ranks, found %d", maxRanks, size)
	}
	if size < 0 {
		problem("expected a number of ranks of at least 1, found %d", size)
	}
	if p.PerHost < 0 {
		problem("expected at least 1 rank per host, found %d", p.PerHost)
	}
	if p.MapBy != "" && !slices.Contains(mappings, p.MapBy) {
		problem("expected a mapping by %s, found %q", strings.Join(mappings, " or "), p.MapBy)
	}
	sum := 0
	for i, n := range p.Apps {
		if n < 1 {
			problem("expected at least 1 rank of program %d, found %d", i+1, n)
		}
		sum += min(n, maxRanks+1) // no overflow: there are fewer programs than arguments
	}
	if size > 0 && len(p.Apps) > 0 && sum != size {
		problem("expected %d ranks of %d programs together, found %d", size, len(p.Apps), sum)
	}
	for _, h := range hosts {
		if h.Slots < 0 || h.MaxSlots < 0 || h.CPUs < 0 {
			problem("%s: slots=%d, max_slots=%d and %d CPUs must not be negative", h.Name, h.Slots, h.MaxSlots, h.CPUs)
		}
	}
	return errors.Join(problems...)
}

// defaultSize is the world size that is used if none is given: that of the
// programs, else what fits the hosts. It stops counting beyond maxRanks.
func defaultSize(hosts []Host, p Policy) int {
	size := 0
	for _, n := range p.Apps {
		size = min(size+min(n, maxRanks+1), maxRanks+1)
	}
	if len(p.Apps) > 0 {
		return size
	}
	for _, h := range hosts {
		n := slots(h)
		if p.PerHost > 0 {
			n = p.PerHost
		}
		size = min(size+min(n, maxRanks+1), maxRanks+1)
	}
	return size
}
