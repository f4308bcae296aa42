//go:build linux

package endtoend

import (
	"bytes"
	"sync"
)

// counter counts the lines with a word in what is written to it.
type counter struct {
	word string

	mu  sync.Mutex
	all bytes.Buffer
}

func (c *counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all.Write(p)
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Count(c.all.Bytes(), []byte(c.word))
}
