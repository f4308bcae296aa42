package main

// nearestFlag returns the name of a flag that name is probably a slip of, ""
// if none is near.
func nearestFlag(name string) string {
	// One slip in three letters; more would guess at anything.
	best, bound := "", max(1, len(name)/3)+1
	for _, group := range flagGroups {
		for _, f := range group.flags {
			for _, known := range f.names {
				if len(known) == 1 {
					continue // one letter is near to every short word
				}
				if d := distance(name, known); d < bound {
					best, bound = known, d
				}
			}
		}
	}
	return best
}

// distance is the Levenshtein distance of two words, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // distances of a[:i] to every b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
