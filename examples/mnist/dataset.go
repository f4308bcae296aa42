package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A dataset is the handwritten digits to learn from and, apart from them,
// those to be judged by.
type dataset struct{ train, test samples }

// samples are images and what digit each one shows.
type samples struct {
	images []byte // 28×28 gray values each, 0 black, one image after the other
	labels []byte // one each, 0 … 9
}

// The names of the four files, as published.
const (
	trainImages = "train-images-idx3-ubyte.gz"
	trainLabels = "train-labels-idx1-ubyte.gz"
	testImages  = "t10k-images-idx3-ubyte.gz"
	testLabels  = "t10k-labels-idx1-ubyte.gz"
)

// findDataset returns dir or, if it is empty, the first of these folders that
// holds the images to train with: data beside the program, where the demo puts
// it, and the program's own, where gorun --stage-file puts files.
func findDataset(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the folder of the data: %w; name it with -data", err)
	}
	beside := filepath.Dir(program)
	return firstWithData(filepath.Join(beside, "data"), beside)
}

// firstWithData returns the first of dirs that holds the images to train with.
func firstWithData(dirs ...string) (string, error) {
	for _, dir := range dirs {
		_, err := os.Stat(filepath.Join(dir, trainImages))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s is neither in %s; name its folder with -data", trainImages, strings.Join(dirs, " nor in "))
}

// readDataset reads the four files in dir.
func readDataset(dir string) (*dataset, error) {
	train, err := readSamples(filepath.Join(dir, trainImages), filepath.Join(dir, trainLabels))
	if err != nil {
		return nil, err
	}
	test, err := readSamples(filepath.Join(dir, testImages), filepath.Join(dir, testLabels))
	if err != nil {
		return nil, err
	}
	return &dataset{train: train, test: test}, nil
}

// readSamples reads a file of images and the file of their labels.
func readSamples(imagesPath, labelsPath string) (samples, error) {
	images, err := readImagesFile(imagesPath)
	if err != nil {
		return samples{}, err
	}
	labels, err := readLabelsFile(labelsPath)
	if err != nil {
		return samples{}, err
	}
	if count := len(images) / pixels; len(labels) != count {
		return samples{}, fmt.Errorf("%s has %d labels, want one for each of the %d images in %s",
			labelsPath, len(labels), count, imagesPath)
	}
	return samples{images: images, labels: labels}, nil
}

// newSamples returns room for count samples.
func newSamples(count int) samples {
	return samples{images: make([]byte, count*pixels), labels: make([]byte, count)}
}

func (s samples) count() int { return len(s.labels) }

// A batch is room for samples in the form that a network takes.
type batch struct {
	pixels []float32
	labels []uint8
}

func newBatch(capacity int) *batch {
	return &batch{pixels: make([]float32, capacity*pixels), labels: make([]uint8, capacity)}
}

// capacity returns how many samples b has room for.
func (b *batch) capacity() int { return len(b.labels) }

// gather copies the samples with the given indexes into b, no more than it has
// room for, and returns them: gray values scaled to 0 … 1, a row an image, and
// labels. Black stays zero, which addProduct passes over.
func (b *batch) gather(from samples, indexes []int) (x matrix, labels []uint8) {
	x = matrixOf(b.pixels, len(indexes), pixels)
	labels = b.labels[:len(indexes)]
	for i, index := range indexes {
		row := x.row(i)
		for j, gray := range from.images[index*pixels:][:pixels] {
			row[j] = float32(gray) * (1.0 / 255)
		}
		labels[i] = from.labels[index]
	}
	return x, labels
}
