package pmi

// What clients are told at get_maxes, everybody's numbers. PMI-2 has them in its
// header (pmi2.h) in place of a request.
const (
	maxName  = 256  // bytes of the name of a key space
	maxKey   = 64   // bytes of a key
	maxValue = 1024 // bytes of a value
)
