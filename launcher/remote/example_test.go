package remote_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/remote"
)

// A host that is this one needs no login.
func ExampleStartLocal() {
	if !remote.IsLocal(hostfiles.Host{Name: "localhost"}) {
		return
	}
	s, err := remote.StartLocal([]string{"/bin/sh", "-c", "tr a-z A-Z"}, os.Stderr)
	if err != nil {
		fmt.Println(err)
		return
	}
	io.WriteString(s, "hello, agent")
	s.CloseWrite()
	reply, _ := io.ReadAll(s)
	fmt.Println(string(reply), s.Wait())
	s.Close()
	// Output: HELLO, AGENT <nil>
}

// The running program starts itself on two hosts, as "PROGRAM agent". It is
// sent where it is not yet.
func ExampleDialer_Dial() {
	ctx := context.Background()
	dialer, err := remote.NewDialer(remote.SSH{Key: "~/.ssh/cluster"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dialer.Close()
	program, err := remote.NewProgram("")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, host := range []hostfiles.Host{{Name: "node1"}, {Name: "node2", Port: 2222}} {
		conn, err := dialer.Dial(ctx, host)
		if err != nil {
			fmt.Println(err) // names the host, and says what to do
			return
		}
		agent, err := conn.StartAgent(ctx, program, remote.Start{Args: []string{"agent"}, Stderr: os.Stderr})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer agent.Close()
	}
}
