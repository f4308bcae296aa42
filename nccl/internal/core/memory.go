package core

import "sync"

// Memory is one allocation of an engine, kept until it is closed and no call
// uses it. A nil *Memory is memory of the caller's, which nothing here keeps.
type Memory struct {
	Bytes []byte // what Go reaches
	free  func()

	mu     sync.Mutex
	uses   int
	closed bool
}

// NewMemory returns the Memory of bytes. Free is called once, after Close, when
// nothing in flight uses it any more.
func NewMemory(bytes []byte, free func()) *Memory {
	return &Memory{Bytes: bytes, free: free}
}

// Retain notes one more use and reports whether there can be one: false after Close.
func (m *Memory) Retain() bool {
	if m == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.uses++
	return true
}

// Release ends one use.
func (m *Memory) Release() {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.uses--
	last := m.closed && m.uses == 0
	m.mu.Unlock()
	if last {
		m.free()
	}
}

// Close frees the memory, now or after the last use. It does not block and may
// be repeated.
func (m *Memory) Close() {
	m.mu.Lock()
	last := !m.closed && m.uses == 0
	m.closed = true
	m.mu.Unlock()
	if last {
		m.free()
	}
}

// Closed reports whether Close was called.
func (m *Memory) Closed() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}
