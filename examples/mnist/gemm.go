package main

// addProduct adds the matrix product a·b to c. Only a may be transposed.
//
// Each row of c is a sum of rows of b, weighted by a row of a, so the inner
// loop runs along rows that lie in cache. Weights that are zero are passed
// over: four of five pixels of a digit are black, and ReLU blanks half of a
// hidden layer, which makes this several times quicker here than a product
// that multiplies by all of them. (0·Inf is 0 here, not NaN.)
//
// The order of the additions depends on the operands alone, not on time,
// goroutines or processors: equal operands give equal bits. Compilers may fuse
// a multiplication and an addition, which rounds once instead of twice; Go's
// does so on arm64 and on amd64 from GOAMD64=v3, so bits are equal between
// programs that were built for one architecture and level.
func addProduct(c, a, b matrix) {
	var weights [unroll]float32
	var rows [unroll][]float32
	for i := range c.rows {
		sum := c.row(i)
		n := 0
		for k, at := 0, i*a.down; k < a.cols; k, at = k+1, at+a.right {
			weight := a.data[at]
			if weight == 0 {
				continue
			}
			weights[n], rows[n] = weight, b.row(k)
			if n++; n == unroll {
				addRows(sum, &weights, &rows)
				n = 0
			}
		}
		for k, row := range rows[:n] {
			addRow(sum, weights[k], row)
		}
	}
}

// unroll is how many rows addRows adds at once. Four take a load each and
// share the load and the store of the sum, which leaves the multipliers as the
// limit; eight are not quicker.
const unroll = 4

// addRows adds four rows, each times its weight, to sum.
func addRows(sum []float32, weights *[unroll]float32, rows *[unroll][]float32) {
	// The lengths are made equal here to keep bounds checks out of the loop.
	w0, r0 := weights[0], rows[0][:len(sum)]
	w1, r1 := weights[1], rows[1][:len(sum)]
	w2, r2 := weights[2], rows[2][:len(sum)]
	w3, r3 := weights[3], rows[3][:len(sum)]
	for j := range sum {
		sum[j] += w0*r0[j] + w1*r1[j] + w2*r2[j] + w3*r3[j]
	}
}

// addRow adds row, times weight, to sum.
func addRow(sum []float32, weight float32, row []float32) {
	row = row[:len(sum)]
	for j := range sum {
		sum[j] += weight * row[j]
	}
}
