package githttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// flight is an answer of a git process on its way. One goroutine writes the answer into a file that has no name, and all clients that asked for it
// read there, each at their own pace. So a process never waits for a client.
type flight struct {
	key   flightKey
	party string
	stop  context.CancelFunc
	ended chan struct{} // closed after the last write

	mu   sync.Mutex // guards the fields below
	file *os.File   // nil before open
	size int64
	over bool
	err  error         // why the flight ended; nil is a whole answer
	more chan struct{} // closed at the next change; nil while no reader waits

	entry // guarded by the cache's mu
}

// finish ends the flight. err is the reason; nil is a whole answer.
func (f *flight) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over, f.err = true, err
	f.wake()
}

// open makes the file and removes its name, so that nothing is left of it when graspd dies.
func (f *flight) open(dir string) error {
	file, err := os.CreateTemp(dir, "flight-*")
	if err != nil {
		return fmt.Errorf("a place for packs: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return errors.Join(fmt.Errorf("a place for packs: %w", err), file.Close())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.file = file
	return nil
}

// Write appends to the answer.
func (f *flight) Write(p []byte) (int, error) {
	n, err := f.file.Write(p) // run has opened it
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size += int64(n)
	f.wake()
	if err != nil {
		return n, fmt.Errorf("a place for packs: %w", err)
	}
	return n, nil
}

// wake wakes all readers that wait. The caller holds mu.
func (f *flight) wake() {
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// read reads the bytes that are there from an offset on, without waiting. Where none are, more closes at the next change. Behind the last byte it
// fails with the reason why the flight ended; with io.EOF for a whole answer.
func (f *flight) read(p []byte, from int64) (n int, more <-chan struct{}, err error) {
	file, there, more, err := f.await(from)
	if there == 0 {
		return 0, more, err
	}
	n, err = file.ReadAt(p[:min(int64(len(p)), there)], from)
	return n, nil, err
}

// await returns the file and how many bytes are there from an offset on, without waiting. Where none are, more closes at the next change. Behind
// the last byte it fails as read does.
func (f *flight) await(from int64) (file *os.File, there int64, more <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.size > from:
		return f.file, f.size - from, nil, nil
	case f.over && f.err != nil:
		return nil, 0, nil, f.err
	case f.over:
		return nil, 0, nil, io.EOF
	case f.more == nil:
		f.more = make(chan struct{})
	}
	return nil, 0, f.more, nil
}

// length returns how many bytes are there.
func (f *flight) length() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size
}

// close closes the file, when nobody reads or writes any more.
func (f *flight) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		_ = f.file.Close() // an error loses nothing: nobody wants the file any more
		f.file = nil
	}
}

// reading is one reader's place in a flight.
type reading struct {
	*flight
	cache *cache
	at    int64
}

// next reads on; see flight.read.
func (r *reading) next(p []byte) (n int, more <-chan struct{}, err error) {
	n, more, err = r.read(p, r.at)
	r.at += int64(n)
	return n, more, err
}

// leave ends the reading. The last reader to leave ends a process that still makes the answer, and waits until that process has ended.
func (r *reading) leave() {
	if r.cache.leave(r.flight) {
		<-r.ended
	}
	r.cache.tidy(r.flight)
}
