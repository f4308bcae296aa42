package nccl

import (
	"fmt"

	"github.com/gorun/gorun/nccl/internal/core"
)

// Op is how elements are reduced. It is a value; there is nothing to free.
type Op interface{ reduction() core.Op }

// BuiltinOp is an Op of NCCL's own. Integers wrap around; where one of two
// floating-point numbers is NaN, Max and Min give the other.
type BuiltinOp int

// The built-in reductions. Avg is Sum divided by Size, truncated toward zero
// for integers.
const (
	Sum BuiltinOp = iota
	Prod
	Max
	Min
	Avg
)

func (o BuiltinOp) reduction() core.Op {
	if o < Sum || o > Avg {
		return noOp
	}
	return core.Op(o)
}

// noOp is the reduction of values that name none.
const noOp core.Op = 255

// String returns the name in lower case.
func (o BuiltinOp) String() string {
	if o < Sum || o > Avg {
		return fmt.Sprintf("op %d", int(o))
	}
	return core.Op(o).String()
}

// reduction returns op's core form; ok is false if it has none.
func reduction(op Op) (r core.Op, ok bool) {
	if op == nil {
		return noOp, false
	}
	r = op.reduction()
	return r, r != noOp
}

// noReduction returns the error of an op that has no core form.
func noReduction(op Op) error {
	if op == nil {
		return invalid("op is nil, want one of sum, prod, max, min, avg")
	}
	return invalid("%v is none of sum, prod, max, min, avg", op)
}
