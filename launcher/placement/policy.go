package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gorun/gorun/nccl/topo"
)

// maxRanks bounds the world size, so that a slip of the pen in a number does not
// take the launcher's memory. The largest machines have a tenth of it in GPUs.
const maxRanks = 1 << 20

// The mappings that [Policy.MapBy] can name, and the numberings of [Policy.RankBy].
const (
	BySlot     = "slot"     // fill a host before the next
	ByNode     = "node"     // deal ranks out to the hosts in turn
	ByNUMA     = "numa"     // fill a host before the next, deal its ranks out to its NUMA nodes in turn
	ByPackage  = "package"  // the same, to its packages, which are its sockets
	ByL3       = "l3"       // the same, to the cores that share a cache
	ByGPU      = "gpu"      // fill a host before the next, up to its GPUs
	BySequence = "seq"      // one rank for each time that a host was written, in that order
	ByRankfile = "rankfile" // as Policy.Rankfile says
)

var mappings = []string{BySlot, ByNode, ByNUMA, ByPackage, ByL3, ByGPU, BySequence, ByRankfile}

// What [Policy.BindTo] can name.
const (
	ToNone    = "none"
	ToShare   = "share"    // an equal share of the cores, if there is one for each rank
	ToThread  = "hwthread" // a hardware thread
	ToCore    = "core"
	ToL3      = "l3" // the cores that share a cache
	ToNUMA    = "numa"
	ToPackage = "package"
	ToGPU     = "gpu" // the cores next to the rank's GPUs
)

var bindings = []string{ToNone, ToShare, ToThread, ToCore, ToL3, ToNUMA, ToPackage, ToGPU}

// What [Policy.GPUVisible] can name.
const (
	AllVisible = "all" // what the job may use on the host, the GPU of local rank i as device i
	OwnVisible = "own" // the rank's own only
)

// Values of [Policy.PerHost] and [Policy.GPUsPerRank].
const (
	OnePerGPU = -1
	NoGPUs    = -1
)

// Policy says how ranks are spread over hosts, and what of its host each gets. The
// zero Policy fills slot by slot, gives each rank a GPU where there are some, and
// binds it to the CPUs by its GPU, or else to a share of them.
type Policy struct {
	// MapBy is one of the mappings; "" is BySlot. RankBy is BySlot, which numbers
	// host by host, or ByNode, which numbers across hosts; "": as mapped.
	MapBy, RankBy string

	// BindTo is one of the bindings; "" is ToGPU on hosts whose ranks have GPUs of
	// which it is known where they are, and ToShare on others. Hosts whose CPUs are
	// not known bind nothing.
	BindTo string

	// GPUVisible is AllVisible or OwnVisible; "" is AllVisible, which programs that
	// take the device of their local rank's number need.
	GPUVisible string

	// PerHost is how many ranks a host gets at most, and, if no size is given,
	// how many each host gets. It takes the place of slots that are not declared,
	// and does not raise those that are. 0: as slots allow. OnePerGPU: as many as
	// the host has GPUs for.
	PerHost int

	// GPUsPerRank is how many GPUs each rank has for itself. 0: one, shared if there
	// are not enough. NoGPUs: none.
	GPUsPerRank int

	// CPUsPerRank is how many cores each rank is bound to, or hardware threads with
	// ToThread. 0: by BindTo.
	CPUsPerRank int

	// Rankfile holds the ranks' hosts and cores, for ByRankfile.
	Rankfile []FixedRank

	// Apps holds the numbers of ranks of several programs, which are numbered in
	// this order. Empty: all ranks run one program.
	Apps []int

	// Oversubscribe lets hosts have more ranks than declared slots, though not
	// more than their maximum.
	Oversubscribe bool

	// NoOversubscribe makes slots that are not declared a limit too.
	NoOversubscribe bool
}

// Host is a host as the planner sees it.
type Host struct {
	Name string

	// Slots is the declared number of ranks; 0: not declared. MaxSlots is the
	// number that is never exceeded; 0: none.
	Slots, MaxSlots int

	// Turns are its places in the order in which hosts were written, for
	// BySequence; nil: one, behind the host before it.
	Turns []int

	// CPUs are the hardware threads that ranks may use there; nil: not known.
	CPUs []int

	// Topo tells how the CPUs lie and which GPUs and adapters the job may use; nil:
	// not known. A CPU of which it does not tell is a core by itself.
	Topo *topo.Inventory
}

// Check returns the error with which [Place] would refuse to seat size ranks,
// whatever the hosts turn out to be. Whom it refuses need not be reached.
func Check(size int, hosts []Host, p Policy) error {
	unknown := slices.Clone(hosts)
	for i := range unknown {
		unknown[i].CPUs, unknown[i].Topo = nil, nil
	}
	_, _, err := prepare(size, unknown, p)
	return err
}

// Foreseeable reports whether declared numbers alone decide how many ranks each
// host gets, so that [Place] seats them alike before the hosts are known.
func Foreseeable(hosts []Host, p Policy) bool {
	if p.PerHost == OnePerGPU || p.MapBy == ByGPU {
		return false
	}
	return p.PerHost > 0 || p.MapBy == ByRankfile || p.MapBy == BySequence ||
		!slices.ContainsFunc(hosts, func(h Host) bool { return h.Slots == 0 })
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
		if size == 0 {
			return 0, nil, errors.New("expected a GPU on one of the hosts to count ranks by, found none")
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
	if p.PerHost < OnePerGPU {
		problem("expected at least 1 rank per host, found %d", p.PerHost)
	}
	if p.GPUsPerRank < NoGPUs {
		problem("expected at least 1 GPU per rank, found %d", p.GPUsPerRank)
	}
	if p.CPUsPerRank < 0 {
		problem("expected at least 1 core per rank, found %d", p.CPUsPerRank)
	}
	for _, choice := range []struct {
		value, what string
		of          []string
	}{
		{p.MapBy, "a mapping by", mappings},
		{p.RankBy, "a numbering by", []string{BySlot, ByNode}},
		{p.BindTo, "a binding to", bindings},
		{p.GPUVisible, "visible GPUs to be", []string{AllVisible, OwnVisible}},
	} {
		if choice.value != "" && !slices.Contains(choice.of, choice.value) {
			last := len(choice.of) - 1
			problem("expected %s %s or %s, found %q", choice.what, strings.Join(choice.of[:last], ", "), choice.of[last], choice.value)
		}
	}
	if p.Oversubscribe && p.NoOversubscribe {
		problem("expected hosts to have more ranks than slots or not to, found both")
	}
	if p.GPUsPerRank == NoGPUs && (p.PerHost == OnePerGPU || p.MapBy == ByGPU || p.BindTo == ToGPU || p.GPUVisible != "") {
		problem("expected GPUs for the ranks, which are counted, mapped, bound or shown by them")
	}
	if p.MapBy == ByRankfile {
		problems = append(problems, validateRankfile(size, hosts, p)...)
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
		if h.Slots < 0 || h.MaxSlots < 0 {
			problem("%s: slots=%d and max_slots=%d must not be negative", h.Name, h.Slots, h.MaxSlots)
		}
	}
	return errors.Join(problems...)
}

// defaultSize is the world size that is used if none is given: that of the
// programs, else what fits the hosts. It stops counting beyond maxRanks.
func defaultSize(hosts []Host, p Policy) int {
	size := 0
	add := func(n int) { size = min(size+min(n, maxRanks+1), maxRanks+1) }
	for _, n := range p.Apps {
		add(n)
	}
	if len(p.Apps) > 0 {
		return size
	}
	if p.MapBy == ByRankfile {
		return len(p.Rankfile)
	}
	for _, h := range hosts {
		n := slots(h, p)
		if most, ok := perHost(h, p); ok {
			n = most
		}
		if p.MapBy == BySequence {
			n = turns(h)
		}
		add(n)
	}
	return size
}

// Alone is the size of a job that names no hosts on the one that it runs on: a rank
// for each GPU, or for as many as each is to have, else 1.
func Alone(h Host, p Policy) int {
	if n, each := len(gpus(h, p)), max(p.GPUsPerRank, 1); n >= each {
		return n / each
	}
	return 1
}
