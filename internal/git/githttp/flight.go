package githttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// flight is an answer of a git process on its way. One goroutine writes the answer into a file that has no name, and all clients that asked for it
// read there, each at their own pace. So a process never waits for a client.
type flight struct {
	key   flightKey
	stop  context.CancelFunc
	ended chan struct{} // closed after the last write
	hold

	mu      sync.Mutex // guards the fields below
	file    *os.File   // nil before open
	size    int64
	over    bool
	err     error         // why the flight ended; nil is a whole answer
	gaveWay bool          // it has given way: nothing is there any more
	more    chan struct{} // closed at the next change; nil while no reader waits

	entry // guarded by the cache's mu
}

// finish ends the flight. err is the reason; nil is a whole answer.
func (f *flight) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.gaveWay {
		f.over, f.err = true, err
		f.wake()
	}
}

// failed reports whether the flight has ended without a whole answer.
func (f *flight) failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err != nil
}

// yield ends the flight for all of its readers, and frees what it takes at once, so that others have room.
func (f *flight) yield() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.gaveWay {
		f.over, f.err, f.gaveWay = true, errYields, true
		f.clear()
		f.wake()
		f.stop()
		f.giveBack()
	}
}

// clear takes what was written off the disk. The caller holds mu.
func (f *flight) clear() {
	if f.file != nil {
		_ = f.file.Truncate(0) // where that fails, the disk is free when the last reader has left
	}
	f.room.written.Add(-f.size)
	f.size = 0
}

// yielded reports whether the flight has given way.
func (f *flight) yielded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gaveWay
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
	f.room.written.Add(int64(n))
	if f.gaveWay {
		f.clear()
		return 0, errYields
	}
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
	if f.yielded() { // what was read may be none of it
		return 0, nil, errYields
	}
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
		f.room.written.Add(-f.size)
		f.size = 0
	}
}

// reading is one reader's place in a flight.
type reading struct {
	*flight
	cache *cache
	who   reader
	at    int64
	pace  pace
}

// next reads on; see flight.read. It fails with errLate where the reader is too slow to have all of the answer in time.
func (r *reading) next(p []byte) (n int, more <-chan struct{}, err error) {
	n, more, err = r.read(p, r.at)
	r.at += int64(n)
	switch {
	case n > 0:
		if r.progress(int64(n)); r.pace.late(time.Now(), r.at, r.length()-r.at) {
			return 0, nil, errLate
		}
	case more != nil:
		r.progress(caughtUp)
		r.pace.since = time.Time{}
	}
	return n, more, err
}

// leave ends the reading. The last reader to leave ends a process that still makes the answer, and waits until that process has ended.
func (r *reading) leave() {
	if r.cache.leave(r.flight, r.who) {
		<-r.ended
	}
	r.cache.tidy(r.flight)
}
