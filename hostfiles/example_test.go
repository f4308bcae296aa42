package hostfiles_test

import (
	"fmt"
	"strings"

	"github.com/gorun/gorun/hostfiles"
)

func ExampleParse() {
	hosts, err := hostfiles.Parse("hosts", strings.NewReader(`
		# two boxes behind a bastion, and a laptop
		lee@gpu[01-02] slots=8 jump=bastion
		laptop:1
	`))
	fmt.Println(err)
	for _, h := range hosts {
		fmt.Println(h)
	}
	// Output:
	// <nil>
	// gpu01 slots=8 user=lee jump=bastion
	// gpu02 slots=8 user=lee jump=bastion
	// laptop slots=1
}

func ExampleParseList() {
	_, err := hostfiles.ParseList("node1:8,node2:eight")
	fmt.Println(err)
	// Output:
	// host list:1:15: expected a number of slots after ":" (an IPv6 address before it needs brackets), found "eight"
}

func ExampleExclude() {
	hosts, err := hostfiles.ParseList("node[1-3]")
	if err != nil {
		fmt.Println(err)
		return
	}
	hosts, err = hostfiles.Exclude(hosts, "node2,node3:0,4")
	fmt.Println(hosts, err)
	// Output:
	// [node1 node3 gpus=^0,4] <nil>
}
