package reduce

import "github.com/gorun/gorun/nccl/internal/core"

func sum[T core.Element](dst, a, b []byte) {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	for len(d) >= 8 && len(x) >= 8 && len(y) >= 8 {
		d8, x8, y8 := (*[8]T)(d), (*[8]T)(x), (*[8]T)(y)
		d8[0] = x8[0] + y8[0]
		d8[1] = x8[1] + y8[1]
		d8[2] = x8[2] + y8[2]
		d8[3] = x8[3] + y8[3]
		d8[4] = x8[4] + y8[4]
		d8[5] = x8[5] + y8[5]
		d8[6] = x8[6] + y8[6]
		d8[7] = x8[7] + y8[7]
		d, x, y = d[8:], x[8:], y[8:]
	}
	for i := range d {
		d[i] = x[i] + y[i]
	}
}

func prod[T core.Element](dst, a, b []byte) {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	for len(d) >= 8 && len(x) >= 8 && len(y) >= 8 {
		d8, x8, y8 := (*[8]T)(d), (*[8]T)(x), (*[8]T)(y)
		d8[0] = x8[0] * y8[0]
		d8[1] = x8[1] * y8[1]
		d8[2] = x8[2] * y8[2]
		d8[3] = x8[3] * y8[3]
		d8[4] = x8[4] * y8[4]
		d8[5] = x8[5] * y8[5]
		d8[6] = x8[6] * y8[6]
		d8[7] = x8[7] * y8[7]
		d, x, y = d[8:], x[8:], y[8:]
	}
	for i := range d {
		d[i] = x[i] * y[i]
	}
}

func maxOf[T core.Element](dst, a, b []byte) {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	for len(d) >= 8 && len(x) >= 8 && len(y) >= 8 {
		d8, x8, y8 := (*[8]T)(d), (*[8]T)(x), (*[8]T)(y)
		d8[0] = max(x8[0], y8[0])
		d8[1] = max(x8[1], y8[1])
		d8[2] = max(x8[2], y8[2])
		d8[3] = max(x8[3], y8[3])
		d8[4] = max(x8[4], y8[4])
		d8[5] = max(x8[5], y8[5])
		d8[6] = max(x8[6], y8[6])
		d8[7] = max(x8[7], y8[7])
		d, x, y = d[8:], x[8:], y[8:]
	}
	for i := range d {
		d[i] = max(x[i], y[i])
	}
}

func minOf[T core.Element](dst, a, b []byte) {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	for len(d) >= 8 && len(x) >= 8 && len(y) >= 8 {
		d8, x8, y8 := (*[8]T)(d), (*[8]T)(x), (*[8]T)(y)
		d8[0] = min(x8[0], y8[0])
		d8[1] = min(x8[1], y8[1])
		d8[2] = min(x8[2], y8[2])
		d8[3] = min(x8[3], y8[3])
		d8[4] = min(x8[4], y8[4])
		d8[5] = min(x8[5], y8[5])
		d8[6] = min(x8[6], y8[6])
		d8[7] = min(x8[7], y8[7])
		d, x, y = d[8:], x[8:], y[8:]
	}
	for i := range d {
		d[i] = min(x[i], y[i])
	}
}

func maxNumber[T float32 | float64](dst, a, b []byte) {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	for i := range d {
		d[i] = larger(x[i], y[i])
	}
}

func minNumber[T float32 | float64](dst, a, b []byte) {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	for i := range d {
		d[i] = -larger(-x[i], -y[i])
	}
}

// larger returns the larger of two numbers, or the one that is a number.
func larger[T float32 | float64](x, y T) T {
	if y > x || x != x {
		return y
	}
	return x
}
