package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// The IDX format, as its authors describe it at
// http://yann.lecun.com/exdb/mnist: big-endian 32-bit words, then bytes.
//
//	images  0x00000803  count  rows  columns  count·rows·columns pixels
//	labels  0x00000801  count  count labels
const (
	imagesMagic = 0x0803 // unsigned bytes in 3 dimensions
	labelsMagic = 0x0801 // unsigned bytes in 1 dimension
)

const (
	side    = 28          // rows and columns of an image
	pixels  = side * side // in an image
	classes = 10          // labels are 0 … 9

	// maxImages bounds what a header can make us read: 205 MB of pixels.
	// The largest set in this format, EMNIST's digits, has 240,000.
	maxImages = 1 << 18
)

// readImagesFile returns the pixels of all images of a gzipped IDX file, one
// image after the other. Its errors name the file.
func readImagesFile(path string) ([]byte, error) { return readFile(path, readImages) }

// readLabelsFile returns the labels of a gzipped IDX file. Its errors name the
// file.
func readLabelsFile(path string) ([]byte, error) { return readFile(path, readLabels) }

// readFile passes the contents of a gzipped file to read.
func readFile(path string, read func(io.Reader) ([]byte, error)) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err // names the path
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	content, err := read(z)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}

// readImages reads IDX images of 28×28 pixels, up to the end of r.
func readImages(r io.Reader) ([]byte, error) {
	var header [4]uint32
	if err := readHeader(r, header[:], imagesMagic, "images"); err != nil {
		return nil, err
	}
	if rows, cols := header[2], header[3]; rows != side || cols != side {
		return nil, fmt.Errorf("images have %d×%d pixels, want %d×%d", rows, cols, side, side)
	}
	return readBody(r, int64(header[1])*pixels)
}

// readLabels reads IDX labels of ten classes, up to the end of r.
func readLabels(r io.Reader) ([]byte, error) {
	var header [2]uint32
	if err := readHeader(r, header[:], labelsMagic, "labels"); err != nil {
		return nil, err
	}
	labels, err := readBody(r, int64(header[1]))
	if err != nil {
		return nil, err
	}
	for i, label := range labels {
		if label >= classes {
			return nil, fmt.Errorf("label %d is %d, want 0 to %d", i, label, classes-1)
		}
	}
	return labels, nil
}

// readHeader reads the words of an IDX header and checks the first two, the
// magic number and the count.
func readHeader(r io.Reader, header []uint32, magic uint32, what string) error {
	if err := binary.Read(r, binary.BigEndian, header); err != nil {
		return fmt.Errorf("reading the IDX header: %w", noEOF(err))
	}
	if header[0] != magic {
		return fmt.Errorf("magic number is %#08x, want %#08x for IDX %s", header[0], magic, what)
	}
	if count := header[1]; count == 0 || count > maxImages {
		return fmt.Errorf("header announces %d %s, want 1 to %d", count, what, maxImages)
	}
	return nil
}

// readBody reads size bytes and the end of r, with which gzip verifies its
// check sum. Memory grows with what is there, not with what was announced.
func readBody(r io.Reader, size int64) ([]byte, error) {
	var body bytes.Buffer
	n, err := io.Copy(&body, io.LimitReader(r, size+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("after %d of %d bytes: %w", n, size, err)
	case n < size:
		return nil, fmt.Errorf("ends after %d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	case n > size:
		return nil, fmt.Errorf("goes on after the %d bytes that its header announces", size)
	}
	return body.Bytes(), nil
}

// noEOF makes an end of file an unexpected one.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
