package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	domain    = "relay.example.org" // that repositories list for every graspd here
	service   = "wss://" + domain
	fullSize  = 150_000
	leastSize = 300
)

// world is what the parts have in common. What several need is made when the first asks for it.
type world struct {
	options
	report  report
	before  string   // the page of before
	worse   []string // rows that are worse than there, and may not be
	dir     string   // all files
	w       io.Writer
	began   time.Time
	proxy   *proxy
	town    *relays // stand-ins for other relays
	corpus  *collection
	stored  string // data directory with the whole corpus
	through ingested
	pair    *pair
	towns   map[int]string // data directories with unsigned events, by repositories
	closers []func() error
}

func newWorld(o options, w io.Writer) (*world, error) {
	before, err := pageBefore(o.root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "graspd-bench")
	if err != nil {
		return nil, err
	}
	p, err := newProxy()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	x := &world{options: o, before: before, dir: dir, w: w, began: time.Now(), proxy: p, towns: map[int]string{}}
	x.closers = append(x.closers, p.leave)
	x.report.command = strings.TrimSpace("make bench " + benchArgs(o))
	x.report.head = append(x.report.head, machine())
	if o.events != fullSize {
		x.report.head = append(x.report.head, fmt.Sprintf("**A trial with %d events**: the targets are meant for %d.", o.events, fullSize))
	}
	return x, nil
}

// benchArgs are the arguments that change the figures, as make takes them.
func benchArgs(o options) string {
	var a []string
	if o.events != fullSize {
		a = append(a, fmt.Sprint("-events ", o.events))
	}
	if o.only != "" {
		a = append(a, "-only "+o.only)
	}
	if o.renew {
		a = append(a, "-renew")
	}
	if len(a) == 0 {
		return ""
	}
	return "BENCH='" + strings.Join(a, " ") + "'"
}

// close stops everything and removes the files.
func (w *world) close() error {
	var errs []error
	for i := len(w.closers) - 1; i >= 0; i-- {
		errs = append(errs, w.closers[i]())
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

// say tells whoever waits what is going on.
func (w *world) say(format string, args ...any) {
	fmt.Fprintf(w.w, "%8s  %s\n", time.Since(w.began).Round(100*time.Millisecond), fmt.Sprintf(format, args...))
}

// path is a new place for files.
func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

const anyPort = "127.0.0.1:0"

// graspd starts the binary on a data directory, on a free port; it is stopped at the end if it still runs then.
func (w *world) graspd(ctx context.Context, data string, args ...string) (*process, error) {
	return w.graspdAt(ctx, anyPort, data, args...)
}

// graspdAt starts it at an address.
func (w *world) graspdAt(ctx context.Context, at, data string, args ...string) (*process, error) {
	g, err := start(ctx, w.binary, at, data, args...)
	if err == nil {
		w.closers = append(w.closers, g.stop)
	}
	return g, err
}

var errSlow = errors.New("it takes too long")

// patience bounds a wait whose end is what is measured, so that a fault does not make the run last for ever.
func patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, 15*time.Minute, errSlow)
}
