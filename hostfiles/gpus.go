package hostfiles

import (
	"slices"
	"strconv"
	"strings"
)

// getGPUs returns the value of gpus=, "" if the host may use all.
func getGPUs(h *Host) string {
	if len(h.SkipGPUs) > 0 {
		return "^" + formatIndexes(h.SkipGPUs)
	}
	return formatIndexes(h.GPUs)
}

// setGPUs reads the value of gpus=.
func setGPUs(h *Host, value string) bool {
	list, skip := strings.CutPrefix(value, "^")
	indexes, ok := parseIndexes(list)
	h.GPUs, h.SkipGPUs = indexes, nil
	if skip {
		h.GPUs, h.SkipGPUs = nil, indexes
	}
	return ok
}

// parseIndexes reads a list such as "0-3,7" in the order it is written. An
// index that comes twice makes it none.
func parseIndexes(list string) ([]int, bool) {
	var indexes []int
	for span := range strings.SplitSeq(list, ",") {
		first, last, isSpan := strings.Cut(span, "-")
		if !isSpan {
			last = first
		}
		lo, ok := decimal(first, maxGPU)
		hi, ok2 := decimal(last, maxGPU)
		if !ok || !ok2 || lo > hi {
			return nil, false
		}
		for i := lo; i <= hi; i++ {
			if slices.Contains(indexes, i) {
				return nil, false
			}
			indexes = append(indexes, i)
		}
	}
	return indexes, true
}

// formatIndexes returns indexes as parseIndexes reads them.
func formatIndexes(indexes []int) string {
	var b strings.Builder
	for len(indexes) > 0 {
		run := 1
		for run < len(indexes) && indexes[run] == indexes[run-1]+1 {
			run++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(indexes[0]))
		if run > 1 {
			b.WriteString("-" + strconv.Itoa(indexes[run-1]))
		}
		indexes = indexes[run:]
	}
	return b.String()
}
