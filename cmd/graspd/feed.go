package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/graspd/graspd/internal/ingest"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/store"
)

// openImport opens a file that can be read more than once. Standard input, and
// whatever else cannot, is copied into a temporary file first.
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
	if err := os.Remove(f.Name()); err != nil { // it lives as long as it is open
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

// feed submits the events of in line by line and waits until all are decided.
// From the second pass on only those that waited for other events.
func feed(ctx context.Context, door *ingest.Door, in io.Reader, pass int, t *tally, problems io.Writer) error {
	src := door.Source(ingest.SourceConfig{Label: "import", Direct: pass > 1, Bearer: operator})
	defer src.Close()
	var open sync.WaitGroup
	defer open.Wait()
	lines := newLineReader(in, importLine)
	for {
		line, err := lines.next()
		n := lines.n
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("import: line %d: %w", n+1, errInterrupted)
		case err != nil && !errors.Is(err, errLongLine):
			return fmt.Errorf("import: line %d: %w", n+1, err)
		case err == nil && len(line) == 0 || pass > 1 && !t.waits(n):
			continue
		}
		var e *nostr.Event
		if err == nil {
			e, err = nostr.ParseEvent(line)
		}
		if err != nil {
			if t.unreadable++; t.unreadable <= importProblems {
				fmt.Fprintf(problems, "graspd: line %d: %v\n", n, err)
			}
			continue
		}
		open.Add(1)
		if err := src.Submit(ctx, e, store.Direct, func(v policy.Verdict) { t.decided(n, v); open.Done() }); err != nil {
			open.Done()
			return fmt.Errorf("import: stopped at line %d: %w", n, err)
		}
	}
}

// operator stands in for the authors: what was exported may hold protected
// events (NIP-70), which they had brought in person.
func operator(*nostr.Event) policy.Bearer { return policy.Author }

// tally knows the last verdict on every line.
type tally struct {
	unreadable int // owned by the reading goroutine

	mu      sync.Mutex // guards the rest
	verdict [policy.Failed + 1]int
	last    map[int]policy.Outcome // of the lines that may be decided again
	cause   string
}

// decided counts a verdict, and takes back what the line was counted as before.
func (t *tally) decided(line int, v policy.Verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := v.Outcome
	if before, again := t.last[line]; again {
		t.verdict[before]--
		delete(t.last, line)
		if o == policy.Duplicate { // it had been waiting inside
			o = policy.Accept
		}
	}
	t.verdict[o]++
	switch {
	case o.Orphan():
		t.last[line] = o
	case o == policy.Failed:
		t.cause = v.Reason
	}
}

func (t *tally) waits(line int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.last[line]
	return ok
}

// orphans is how many lines may be decided otherwise when others are stored.
func (t *tally) orphans() int { t.mu.Lock(); defer t.mu.Unlock(); return len(t.last) }

func (t *tally) count(o policy.Outcome) int { t.mu.Lock(); defer t.mu.Unlock(); return t.verdict[o] }

// total counts the verdicts on all lines so far.
func (t *tally) total() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, some := range t.verdict {
		n += some
	}
	return n
}

func (t *tally) stored() int { return t.count(policy.Accept) }

func (t *tally) String() string {
	refused := 0
	for o := policy.Withdraw; o <= policy.Discard; o++ {
		refused += t.count(o)
	}
	return fmt.Sprintf("stored %d, known before %d, refused by the rules %d, forged %d, unreadable %d",
		t.stored(), t.count(policy.Duplicate), refused, t.count(policy.Invalid), t.unreadable)
}
