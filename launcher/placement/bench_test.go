package placement_test

import (
	"fmt"
	"testing"

	"github.com/gorun/gorun/launcher/placement"
)

// BenchmarkPlace seats a job on a thousand of the largest hosts that are common.
func BenchmarkPlace(b *testing.B) {
	large := shape{packages: 2, nodes: 1, cores: 64, threads: 2, gpus: []int{0, 0, 0, 0, 1, 1, 1, 1}, nics: []int{0, 0, 0, 0, 1, 1, 1, 1}}
	var hosts []placement.Host
	for i := range 1000 {
		hosts = append(hosts, large.host(fmt.Sprint("n", i)))
	}
	for b.Loop() {
		if _, err := placement.Place(0, hosts, placement.Policy{}); err != nil {
			b.Fatal(err)
		}
	}
}
