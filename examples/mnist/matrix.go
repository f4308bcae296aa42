package main

// A matrix is a window on a slice: element (i, j) is data[i*down+j*right].
// Transposing one moves no data.
type matrix struct {
	rows, cols  int
	down, right int // distance in data to the next row, to the next column
	data        []float32
}

// matrixOf returns the rows×cols matrix whose rows lie one after the other at
// the beginning of data.
func matrixOf(data []float32, rows, cols int) matrix {
	return matrix{rows: rows, cols: cols, down: cols, right: 1, data: data[:rows*cols]}
}

// transposed returns m with rows and columns exchanged, on the same data.
func (m matrix) transposed() matrix {
	return matrix{rows: m.cols, cols: m.rows, down: m.right, right: m.down, data: m.data}
}

// row returns row i of a matrix that is not transposed.
func (m matrix) row(i int) []float32 {
	return m.data[i*m.down:][:m.cols]
}

// copyTo copies m to dst, which has m's shape and is not transposed.
func (m matrix) copyTo(dst matrix) {
	for i := range dst.rows {
		row := dst.row(i)
		for j := range row {
			row[j] = m.data[i*m.down+j*m.right]
		}
	}
}
