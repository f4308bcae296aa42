// Package core holds what package nccl and its engines share: element types,
// reductions, one collective as a value ([Call]), and the interfaces [Comm],
// [Stream] and [Mark] that an engine provides.
//
// Engines import core and never nccl; nccl imports engines and dresses what
// they say in types of its own. Nothing here knows how data moves.
package core

import "fmt"

// Type is the type of the elements of a call. The numbers are those of
// ncclDataType_t, whose gaps are types that no engine has yet.
type Type uint8

// The element types.
const (
	Int8    Type = 0
	Uint8   Type = 1
	Int32   Type = 2
	Uint32  Type = 3
	Int64   Type = 4
	Uint64  Type = 5
	Float32 Type = 7
	Float64 Type = 8
)

// Types lists every element type.
var Types = []Type{Int8, Uint8, Int32, Uint32, Int64, Uint64, Float32, Float64}

// Element is the constraint that the Go types of the element types satisfy.
type Element interface {
	int8 | uint8 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// TypeOf returns the Type of T.
func TypeOf[T Element]() Type {
	var zero T
	switch any(zero).(type) {
	case int8:
		return Int8
	case uint8:
		return Uint8
	case int32:
		return Int32
	case uint32:
		return Uint32
	case int64:
		return Int64
	case uint64:
		return Uint64
	case float32:
		return Float32
	default:
		return Float64
	}
}

// Size returns the bytes of one element.
func (t Type) Size() int {
	switch t {
	case Int8, Uint8:
		return 1
	case Int32, Uint32, Float32:
		return 4
	default:
		return 8
	}
}

// String returns the name of the Go type.
func (t Type) String() string {
	switch t {
	case Int8:
		return "int8"
	case Uint8:
		return "uint8"
	case Int32:
		return "int32"
	case Uint32:
		return "uint32"
	case Int64:
		return "int64"
	case Uint64:
		return "uint64"
	case Float32:
		return "float32"
	case Float64:
		return "float64"
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Op is a reduction. The numbers are those of ncclRedOp_t.
type Op uint8

// The reductions.
const (
	Sum Op = iota
	Prod
	Max
	Min
	Avg
)

// Ops lists every reduction.
var Ops = []Op{Sum, Prod, Max, Min, Avg}

// String returns the reduction's name in lower case.
func (o Op) String() string {
	switch o {
	case Sum:
		return "sum"
	case Prod:
		return "prod"
	case Max:
		return "max"
	case Min:
		return "min"
	case Avg:
		return "avg"
	}
	return fmt.Sprintf("op %d", uint8(o))
}

// Kind is which collective a call is.
type Kind uint8

// The collectives.
const (
	AllReduce Kind = iota
	AllGather
	ReduceScatter
	Broadcast
	Barrier
)

// String returns the collective's name as package nccl spells it.
func (k Kind) String() string {
	switch k {
	case AllReduce:
		return "AllReduce"
	case AllGather:
		return "AllGather"
	case ReduceScatter:
		return "ReduceScatter"
	case Broadcast:
		return "Broadcast"
	case Barrier:
		return "Barrier"
	}
	return fmt.Sprintf("collective %d", uint8(k))
}

// Call is one collective operation as one rank asks for it. Package nccl has
// checked it: lengths agree, root is a rank, dst and src are the same or apart
// as the collective allows.
type Call struct {
	Kind Kind
	Type Type
	Op   Op  // of AllReduce and ReduceScatter
	Root int // of Broadcast

	// Count is elements: of the whole for AllReduce and Broadcast, of one
	// rank's part for AllGather and ReduceScatter.
	Count int

	Dst, Src       []byte  // Src is nil where this rank has none to give
	DstMem, SrcMem *Memory // what keeps Dst and Src; nil for memory of the caller's
}

// String describes what must be equal on all ranks, as "AllReduce float32[1024] sum".
func (c *Call) String() string {
	switch c.Kind {
	case Barrier:
		return c.Kind.String()
	case Broadcast:
		return fmt.Sprintf("%v %v[%d] root %d", c.Kind, c.Type, c.Count, c.Root)
	case AllGather:
		return fmt.Sprintf("%v %v[%d]", c.Kind, c.Type, c.Count)
	}
	return fmt.Sprintf("%v %v[%d] %v", c.Kind, c.Type, c.Count, c.Op)
}

// Release says that nothing of the call touches its buffers any more. The
// engine calls it once for every call submitted.
func (c *Call) Release() {
	c.DstMem.Release()
	c.SrcMem.Release()
}
