package launcher

import (
	"fmt"
	"strings"
)

// rankList names ranks that are in order: "rank 3", "ranks 0-3, 7". It counts
// what is too much to read.
func rankList(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	return "ranks " + rankRanges(ranks)
}

// rankRanges names ranks that are in order, without the word.
func rankRanges(ranks []int) string {
	const shown = 8
	var ranges []string
	for i := 0; i < len(ranks); {
		if len(ranges) == shown {
			return fmt.Sprintf("%s and %d more", strings.Join(ranges, ", "), len(ranks)-i)
		}
		end := i + 1
		for end < len(ranks) && ranks[end] == ranks[end-1]+1 {
			end++
		}
		switch text := fmt.Sprint(ranks[i]); end - i {
		case 1:
			ranges = append(ranges, text)
		case 2:
			ranges = append(ranges, text, fmt.Sprint(ranks[i+1]))
		default:
			ranges = append(ranges, fmt.Sprintf("%s-%d", text, ranks[end-1]))
		}
		i = end
	}
	return strings.Join(ranges, ", ")
}
