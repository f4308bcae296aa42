package wire

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Message is a pointer to one of the structs of the message table.
type Message any

// table lists every message; the position is its type on the wire.
var table = []Message{
	// agent to launcher
	&Hello{}, &Examined{}, &FoundPorts{}, &Probed{}, &Block{}, &Ready{}, &Facts{}, &FileWanted{}, &Started{}, &NotStarted{}, &Output{}, &OutputEnd{},
	&InputTaken{}, &Joined{}, &Asked{}, &Exited{}, &Notice{}, &Suspected{}, &Done{}, &Paused{}, &Stack{}, &StacksTaken{}, &Cleaned{},
	// launcher to agent
	&File{}, &FileData{}, &Examine{}, &FindPorts{}, &Probe{}, &ShowEnv{}, &Start{}, &Begin{}, &Proceed{}, &Meet{}, &Input{}, &InputEnd{}, &Resize{}, &Signal{}, &Stop{},
	&Credit{}, &Report{}, &Pause{}, &Resume{}, &TakeStacks{}, &Clean{},
	// both ways
	&Heartbeat{}, &Echo{}, &Relay{},
}

// Magic is the first field of the first message.
const Magic = "gorun-wire"

// TableHash identifies the messages that this program speaks.
func TableHash() string { return tableHash() }

// tableHash is computed on first use: it reflects over the whole table, and
// most processes that link this package are ranks' parents in a hurry.
var tableHash = sync.OnceValue(hashTable)

func describe(t reflect.Type, b *strings.Builder) {
	switch t.Kind() {
	case reflect.Struct:
		b.WriteString(t.Name() + "{")
		for f := range t.Fields() {
			if f.IsExported() {
				b.WriteString(f.Name + " ")
				describe(f.Type, b)
				b.WriteString(";")
			}
		}
		b.WriteString("}")
	case reflect.Slice:
		b.WriteString("[]")
		describe(t.Elem(), b)
	default:
		b.WriteString(t.Kind().String())
	}
}

func hashTable() string {
	var b strings.Builder
	for _, m := range table {
		describe(reflect.TypeOf(m).Elem(), &b)
		b.WriteString("\n")
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(b.String())))[:16]
}
