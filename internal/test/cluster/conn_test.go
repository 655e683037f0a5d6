package cluster_test

import (
	"context"
	"errors"
	"sync"

	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// conn is a process's way to the log. The process may freeze before a request is sent and before its answer is heard, and the answer may be lost.
type conn struct {
	l *life

	mu      sync.Mutex
	wrote   map[uint64]commitlog.Entry // what the process has wanted to write
	claimed uint64                     // up to there the audit knows of it
}

var errAway = errors.New("the log does not answer")

// Append implements commitlog.Log.
func (c *conn) Append(ctx context.Context, at commitlog.Position, before commitlog.Chain, body []byte) (commitlog.Result, error) {
	c.mu.Lock()
	c.wrote[uint64(at)] = commitlog.NewEntry(at, before, append([]byte(nil), body...))
	c.mu.Unlock()
	if !c.way("before it appends") {
		return commitlog.Unknown, commitlog.ErrClosed
	}
	if c.away() {
		return commitlog.Unknown, errAway
	}
	r, err := c.l.w.log.Append(ctx, at, before, body)
	if !c.way("before it hears what became of an append") {
		return commitlog.Unknown, commitlog.ErrClosed
	}
	if c.away() {
		return commitlog.Unknown, errAway
	}
	return c.l.w.plant.result(r, err)
}

// Read implements commitlog.Log.
func (c *conn) Read(ctx context.Context, at commitlog.Position) (commitlog.Entry, error) {
	if !c.way("before it reads the log") {
		return commitlog.Entry{}, commitlog.ErrClosed
	}
	if c.away() || c.l.wild(20, "a read") {
		return commitlog.Entry{}, errAway
	}
	x, err := c.l.w.log.Read(ctx, at)
	if !c.way("before it hears what the log has") {
		return commitlog.Entry{}, commitlog.ErrClosed
	}
	return x, err
}

// way is one way of a request.
func (c *conn) way(where string) bool {
	c.l.w.mu.Lock()
	slow := c.l.w.slow
	c.l.w.mu.Unlock()
	return c.l.wait(c.l.chance(where).some(slow), nil) && c.l.pass(150, where, nil)
}

func (c *conn) away() bool { return !c.l.w.carries(c.l.node.name, theLog) }

func (c *conn) written(at uint64) (commitlog.Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.wrote[at]
	return x, ok
}

// forget forgets what was not written.
func (c *conn) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.wrote)
}
