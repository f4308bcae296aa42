package placement_test

import (
	"fmt"
	"os"

	"github.com/gorun/gorun/launcher/placement"
)

func ExamplePlace() {
	hosts := []placement.Host{{Name: "node1", Slots: 2}, {Name: "node2", Slots: 2}}
	plan, err := placement.Place(3, hosts, placement.Policy{})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan.Table(os.Stdout)
	// Output:
	// 3 ranks on 2 hosts
	// RANK  NODE  LOCAL  HOST
	// 0     0     0      node1
	// 1     0     1      node1
	// 2     1     0      node2
}

func ExampleCheck() {
	hosts := []placement.Host{{Name: "node1", Slots: 4}, {Name: "node2", Slots: 4}}
	fmt.Println(placement.Check(12, hosts, placement.Policy{}))
	// Output:
	// 12 ranks asked for, 8 slots declared: node1 4 + node2 4
}
