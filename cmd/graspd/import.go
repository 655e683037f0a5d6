package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/progress"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Bounds of an import.
const (
	importLine     = 4 << 20 // bytes of a line
	importProblems = 20      // unreadable lines that are named one by one
)

// importCommand feeds a file through the door, so that the rules of serve decide.
func importCommand(ctx context.Context, args []string, std stdio, env environment) (err error) {
	var c Config
	rest, problems, err := parse("import", c.doorSettings(), args, env)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		problems = append(problems, fmt.Sprintf("import takes one FILE, or - for standard input, got %q", rest))
	}
	service, err := c.service()
	if err != nil {
		problems = append(problems, err.Error())
	}
	lists, wrong := c.lists()
	if err := misused(append(problems, wrong...)); err != nil {
		return err
	}
	file, err := openImport(ctx, rest[0], std.in)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	screen := screenOf(std.err, c.Quiet)
	std.err = above(screen, std.err)
	defer c.restoreOwner(&err)
	s, door, err := node.OpenDoor(c.door(service, lists, newLogger(c, std.err)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return runImport(ctx, door, service, file, std, progress.NewMeter(screen, "importing", "events", time.Now))
}

// runImport runs the door while the file is fed through it.
func runImport(ctx context.Context, door *ingest.Door, service grasp.Service, file *os.File, std stdio, p *progress.Meter) error {
	doorCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var g errgroup.Group
	g.Go(func() error { return door.Run(doorCtx) })
	t := newTally()
	err := feedAll(ctx, door, &progressReader{ReadSeeker: file, size: sizeOf(file), meter: p, tally: t}, t, std.err)
	p.End()
	stop()
	err = errors.Join(err, g.Wait())
	fmt.Fprintln(std.out, t)
	for _, line := range t.reasons(service) {
		fmt.Fprintln(std.out, line)
	}
	if hint := t.suggestDomain(door.Unlisted(), service); hint != "" && t.count(policy.Unlisted) > 0 {
		fmt.Fprintln(std.out, hint)
	}
	if err == nil && t.nothing() {
		err = errors.New("import: nothing was stored")
	}
	if failed := t.count(policy.Failed); err == nil && failed > 0 {
		err = fmt.Errorf("import: %s could not be stored: %s", safetext.Number(failed, "event", "events"), t.cause)
	}
	return err
}

// feedAll feeds the file again and again, for the events that wait for others, until a pass stores nothing new. An export may name an
// announcement before the announcement itself, and more events may wait than the door keeps.
func feedAll(ctx context.Context, door *ingest.Door, file io.ReadSeeker, t *tally, problems io.Writer) error {
	for pass := 1; ; pass++ {
		before := t.stored()
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("import: %w", err)
		}
		if err := feed(ctx, door, file, pass, t, problems); err != nil {
			return err
		}
		if t.orphans() == 0 || t.stored() == before {
			return nil
		}
	}
}

// progressReader is a file that shows how much of it has been read.
type progressReader struct {
	io.ReadSeeker
	read, size int64
	meter      *progress.Meter
	tally      *tally
}

func (m *progressReader) Read(b []byte) (int, error) {
	n, err := m.ReadSeeker.Read(b)
	m.read += int64(n)
	m.meter.Show(m.read, m.size, int64(m.tally.total()))
	return n, err
}

func (m *progressReader) Seek(offset int64, whence int) (at int64, err error) {
	m.read, err = m.ReadSeeker.Seek(offset, whence)
	return m.read, err
}

func sizeOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}
