package node

import (
	"bytes"
	"context"
	"sync"

	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// Bounds of the entries that a node keeps for those that follow it. Who is further behind reads the bucket.
const (
	recentEntries = 512
	recentBytes   = 32 << 20
)

// recent is a log that remembers what this node has written lately, or tried to write.
type recent struct {
	commitlog.Log

	mu      sync.Mutex // guards all below
	entries []commitlog.Entry
	bytes   int
}

func newRecent(l commitlog.Log) *recent { return &recent{Log: l} }

// Append implements commitlog.Log.
func (r *recent) Append(ctx context.Context, at commitlog.Position, before commitlog.Chain, body []byte) (commitlog.Result, error) {
	r.keep(at, before, body)
	return r.Log.Append(ctx, at, before, body)
}

func (r *recent) keep(at commitlog.Position, before commitlog.Chain, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.entries); n > 0 && r.entries[n-1].At >= at { // it is tried again
		return
	}
	r.entries = append(r.entries, commitlog.NewEntry(at, before, bytes.Clone(body)))
	r.bytes += len(body)
	drop := 0
	for len(r.entries)-drop > recentEntries || r.bytes > recentBytes && len(r.entries)-drop > 1 {
		r.bytes -= len(r.entries[drop].Body)
		r.entries[drop] = commitlog.Entry{}
		drop++
	}
	r.entries = r.entries[drop:]
}

// at returns what this node has tried to write at a position. It is in the log where the store has it.
func (r *recent) at(at commitlog.Position) (commitlog.Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) == 0 || at < r.entries[0].At || at > r.entries[len(r.entries)-1].At {
		return commitlog.Entry{}, false
	}
	return r.entries[at-r.entries[0].At], true
}

// forget forgets all, as another node has written what this one tried to.
func (r *recent) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries, r.bytes = nil, 0
}
