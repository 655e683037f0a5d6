package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/graspd/graspd/internal/test/corpus"
	"github.com/graspd/graspd/internal/test/testkit"
)

const (
	domain  = "relay.example.org" // that repositories list for graspd
	service = "wss://" + domain
)

// ground is what all attacks have in common.
type ground struct {
	options
	dir    string // all files
	events int    // stored in stored
	stored string // a data directory that each relay gets a copy of
	began  time.Time
	w      io.Writer
}

// newGround has the binary store the events with which each of its relays begins.
func newGround(ctx context.Context, o options, w io.Writer) (*ground, error) {
	dir, err := os.MkdirTemp("", "graspd-siege")
	if err != nil {
		return nil, err
	}
	g := &ground{options: o, dir: dir, stored: filepath.Join(dir, "stored"), began: time.Now(), w: w}
	g.say("making, signing and storing about %d events", o.events)
	file := filepath.Join(dir, "corpus.jsonl")
	if g.events, err = write(file, o.events); err == nil {
		err = g.fill(ctx, file)
	}
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *ground) fill(ctx context.Context, file string) error {
	out, err := exec.CommandContext(ctx, g.binary, "import", "--git=false", "--data", g.stored, "--domain", domain, "--disk-floor", "0", "--log-level", "error", "--quiet", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("import: %w: %s", err, out)
	}
	return os.Remove(file)
}

// write makes about n events and keeps what a relay is to hold, a line each.
func write(file string, n int) (held int, err error) {
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := bufio.NewWriter(f)
	var line []byte
	for e := range corpus.Generate(testkit.Usual(n, service)).Events(corpus.Served) {
		line = append(e.AppendJSON(line[:0]), '\n')
		if _, err := b.Write(line); err != nil {
			return 0, err
		}
		held++
	}
	return held, b.Flush()
}

// copy is a data directory of one's own with the events.
func (g *ground) copy(name string) (string, error) {
	data := filepath.Join(g.dir, name)
	return data, os.CopyFS(data, os.DirFS(g.stored))
}

func (g *ground) close() error { return os.RemoveAll(g.dir) }

func (g *ground) say(format string, args ...any) {
	fmt.Fprintf(g.w, "%5.0f s  %s\n", time.Since(g.began).Seconds(), fmt.Sprintf(format, args...))
}
