package host

import "math"

// addressLimit is how many bytes a process may address, at most: a slice of
// more than about that cannot be made, and trying panics.
const addressLimit = min(1<<46, math.MaxInt/2)
