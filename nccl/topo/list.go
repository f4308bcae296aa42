package topo

import (
	"slices"
	"strconv"
	"strings"
)

// ParseList reads a list of CPUs as the kernel writes it, "0-3,8", and reports
// whether it is one. Numbers from 8192 on are not. An empty list has no CPU.
func ParseList(s string) ([]int, bool) {
	var list []int
	for span := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		if span == "" {
			continue
		}
		first, last, isSpan := strings.Cut(span, "-")
		if !isSpan {
			last = first
		}
		lo, err := strconv.ParseUint(first, 10, 16)
		hi, err2 := strconv.ParseUint(last, 10, 16)
		if err != nil || err2 != nil || lo > hi || hi >= maxCPUs || len(list)+int(hi-lo) >= maxCPUs {
			return nil, false
		}
		for n := lo; n <= hi; n++ {
			list = append(list, int(n))
		}
	}
	return list, true
}

// FormatList writes a list of CPUs as the kernel does in Cpus_allowed_list: sorted,
// "0-3,8". It does not change list.
func FormatList(list []int) string {
	list = slices.Sorted(slices.Values(list))
	var b strings.Builder
	for len(list) > 0 {
		run := 1
		for run < len(list) && list[run] == list[run-1]+1 {
			run++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(list[0]))
		if run > 1 {
			b.WriteString("-" + strconv.Itoa(list[run-1]))
		}
		list = list[run:]
	}
	return b.String()
}
