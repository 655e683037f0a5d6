package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// openImport opens a file so that it can be read more than once. It first copies standard input, and any other file that can be read only
// once, into a temporary file.
func openImport(ctx context.Context, name string, stdin io.Reader) (*os.File, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f, nil
		}
		defer f.Close()
		in = f
	}
	f, err := os.CreateTemp("", "graspd-import-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil { // the system keeps it while it is open
		return nil, errors.Join(err, f.Close())
	}
	copied := make(chan error, 1)
	go func() { _, err := io.Copy(f, in); copied <- err }() // ends with its input, or with the process
	select {
	case err = <-copied:
	case <-ctx.Done():
		err = errInterrupted
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

var errInterrupted = errors.New("interrupted")

// feed submits the events of in, which stand in lines or in one array, one by one and waits until all are decided. From the second pass on it submits only the events that
// wait for others.
func feed(ctx context.Context, door *ingest.Door, in io.Reader, pass int, t *tally, problems io.Writer) error {
	src := door.Source(ingest.SourceConfig{Label: "import", Direct: pass > 1, Bearer: asAuthor})
	defer src.Close()
	var open sync.WaitGroup
	defer open.Wait()
	lines := entriesOf(in, importLine)
	submitted, first := 0, "" // first says what the file looks like, if its first line is no event
	for {
		line, err := lines.next()
		n, what := lines.count()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("import: %s %d: %w", what, n+1, errInterrupted)
		case err != nil && !errors.Is(err, errLongLine):
			return fmt.Errorf("import: %s %d: %w", what, n+1, err)
		case err == nil && len(line) == 0 || pass > 1 && !t.waits(n):
			continue
		}
		var e *nostr.Event
		if err == nil {
			e, err = nostr.ParseEvent(eventIn(line))
		}
		if err != nil {
			if t.unreadable++; t.unreadable <= importProblems {
				fmt.Fprintf(problems, "graspd: %s %d: %v\n", what, n, err)
			}
			if n == 1 {
				first = looksLike(line)
			}
			if t.unreadable == importProblems && submitted == 0 {
				return fmt.Errorf("import: this is no file of events, one JSON object a line: of the first %d %ss none is one%s", n, what, first)
			}
			continue
		}
		submitted++
		open.Add(1)
		if err := src.Submit(ctx, e, store.Direct, func(v policy.Verdict) { t.decided(n, e.Kind, v); open.Done() }); err != nil {
			open.Done()
			return fmt.Errorf("import: stopped at %s %d: %w", what, n, err)
		}
	}
}

// asAuthor counts the operator as the author of each event: an export may hold protected events (NIP-70), which only their authors may bring.
func asAuthor(*nostr.Event) policy.Bearer { return policy.Author }
