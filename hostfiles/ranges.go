package hostfiles

import (
	"fmt"
	"strconv"
	"strings"
)

// maxDigits bounds a number in a range, so that it fits an int64.
const maxDigits = 18

// expand returns the names for which a pattern such as n[01-16,20].lan stands,
// and reports whether it is one.
func (p *parser) expand(pattern string, column int) ([]string, bool) {
	names := []string{""}
	rest := pattern
	for {
		literal, after, ranged := strings.Cut(rest, "[")
		// Before the product: a line may be megabytes long.
		if len(names[0])+len(literal) > maxName {
			p.refuse(column, fmt.Sprintf("a host of at most %d bytes", maxName), pattern)
			return nil, false
		}
		names = product(names, []string{literal})
		if !ranged {
			break
		}
		at := column + len(pattern) - len(after) // of what follows the bracket
		list, after, closed := strings.Cut(after, "]")
		if !closed {
			p.refuse(at-1, "\"]\" at the end of a range", "["+list)
			return nil, false
		}
		numbers, ok := p.numbers(list, at)
		if !ok {
			return nil, false
		}
		if len(names)*len(numbers) > maxHosts-p.ranged {
			p.refuseHosts(column, pattern)
			return nil, false
		}
		names = product(names, numbers)
		rest = after
	}
	for _, name := range names {
		if !validName(name) {
			p.refuse(column, "a host: letters, digits, \"-\", \"_\" and \".\", or an IP address", name)
			return nil, false
		}
	}
	if strings.Contains(pattern, "[") {
		p.ranged += len(names)
	}
	return names, true
}

// numbers returns the numbers of a range's list, as 01-16,20 at column, padded
// to the width of the first of their span.
func (p *parser) numbers(list string, column int) ([]string, bool) {
	var numbers []string
	for span := range strings.SplitSeq(list, ",") {
		first, last, isSpan := strings.Cut(span, "-")
		if !isSpan {
			last = first
		}
		lo, ok := rangeNumber(first)
		hi, ok2 := rangeNumber(last)
		widths := len(first) == len(last) || last != "" && last[0] != '0'
		if !ok || !ok2 || lo > hi || !widths {
			p.refuse(column, "numbers, as 7 or 01-16, in a range", span)
			return nil, false
		}
		if hi-lo >= int64(maxHosts-len(numbers)) {
			p.refuseHosts(column, span)
			return nil, false
		}
		for n := lo; n <= hi; n++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(first), n))
		}
		column += len(span) + 1
	}
	return numbers, true
}

// refuseHosts notes that found stands for more hosts than one job may have.
func (p *parser) refuseHosts(column int, found string) {
	p.refuse(column, fmt.Sprintf("at most %d hosts", maxHosts), found)
}

func rangeNumber(s string) (int64, bool) {
	if s == "" || len(s) > maxDigits || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// product returns every head followed by every tail, the tails running faster.
func product(heads, tails []string) []string {
	all := make([]string, 0, len(heads)*len(tails))
	for _, head := range heads {
		for _, tail := range tails {
			all = append(all, head+tail)
		}
	}
	return all
}
