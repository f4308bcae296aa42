package host

import "math/bits"

// cpuSet is a set of CPUs: CPU 0 is the lowest bit of the first byte. At most
// maxCPUs count, so that a length fits a byte.
type cpuSet []byte

const maxCPUs = 255 * 8

// set adds CPU i.
func (s *cpuSet) set(i int) {
	if i >= maxCPUs {
		return
	}
	for len(*s) <= i/8 {
		*s = append(*s, 0)
	}
	(*s)[i/8] |= 1 << (i % 8)
}

// add adds the CPUs of another set.
func (s *cpuSet) add(o cpuSet) {
	for len(*s) < len(o) {
		*s = append(*s, 0)
	}
	for i, b := range o {
		(*s)[i] |= b
	}
}

// count returns how many CPUs there are.
func (s cpuSet) count() int {
	n := 0
	for _, b := range s {
		n += bits.OnesCount8(b)
	}
	return n
}
