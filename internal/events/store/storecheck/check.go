package storecheck

import (
	"bytes"
	"context"
	"fmt"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Report says what Check found.
type Report struct {
	Events, Rows               int64 // stored events and their index rows
	Remembered, RememberedRows int64
	Waiting                    int64    // events that wait for git data
	Named                      int64    // rows of SetRow
	Aside                      int64    // events that are put aside
	Problems                   []string // at most maxProblems of them
	More                       bool     // there were more problems than that
}

const maxProblems = 100

// CheckOptions say what a check does besides. With the zero value it does nothing more.
type CheckOptions struct {
	Verifier nostr.Verifier        // checks every signature, on all cores; nil leaves them out
	Progress func(done, all int64) // called now and then with how many events are done, and how many there should be; may be nil
}

// Check reads the whole view and compares the log with everything that is derived from it: every index row, the newest versions, deletions,
// expirations, what is remembered, and the counters. It also compares every event with its id. An error means that Check could not read the
// view.
func Check(ctx context.Context, v *store.View) (Report, error) {
	return CheckWith(ctx, v, CheckOptions{})
}

// CheckWith checks like Check, with options.
func CheckWith(ctx context.Context, v *store.View, o CheckOptions) (Report, error) {
	c := &checker{Reader: v.Reader(), counters: v.Counters(), opt: o, newest: make(map[nostr.PubKey]bool), ages: make(map[nostr.PubKey]layout.MarkCount)}
	steps := []func(context.Context) error{
		c.log, c.ids, c.indexes, c.waits, c.records, c.queue, c.slots, c.announcements, c.expiries, c.requests, c.purges, c.deletions, c.unused, c.named, c.aside, c.counts,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return c.report, fmt.Errorf("check: %w", err)
		}
	}
	return c.report, nil
}

type checker struct {
	index.Reader
	counters layout.Counters
	opt      CheckOptions
	report   Report

	announced, replaceable, expiring int64      // stored events of each sort
	queued                           int64      // records with a Due
	sum                              layout.Seq // the numbers of the stored events, added up

	found waitCounts

	ages map[nostr.PubKey]layout.MarkCount // how many unused deletions each author has

	newest map[nostr.PubKey]bool // authors whose newest request to vanish is stored
}

func (c *checker) problem(format string, args ...any) {
	if len(c.report.Problems) == maxProblems {
		c.report.More = true
		return
	}
	c.report.Problems = append(c.report.Problems, fmt.Sprintf(format, args...))
}

// each calls do with every key of a table.
func (c *checker) each(ctx context.Context, table byte, do func(key, value []byte) error) error {
	return index.EachKey(c.From, table, func(key, value []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return do(key, value)
	})
}

// expect checks that a key is there with a value.
func (c *checker) expect(key, value []byte, what string, args ...any) error {
	have, ok, err := index.Get(c.From, key)
	if err != nil {
		return err
	}
	if !ok {
		c.problem("%s: missing", fmt.Sprintf(what, args...))
	} else if value != nil && !bytes.Equal(have, value) {
		c.problem("%s: wrong", fmt.Sprintf(what, args...))
	}
	return nil
}

// tableCount checks that a table has so many keys.
func (c *checker) tableCount(ctx context.Context, table byte, want int64, what string) error {
	var n int64
	err := c.each(ctx, table, func(_, _ []byte) error { n++; return nil })
	if n != want {
		c.problem("%s: %d there, %d expected", what, n, want)
	}
	return err
}

// ids checks that no id has a row without a stored event. Every stored event has its row, so equal numbers show that.
func (c *checker) ids(ctx context.Context) error {
	return c.tableCount(ctx, layout.TableID, c.report.Events, "id rows")
}

var indexTables = [...]byte{layout.TableTime, layout.TableKind, layout.TableAuthor, layout.TableAuthorKind, layout.TableTag}

func (c *checker) indexes(ctx context.Context) error {
	return c.rowCount(ctx, 0, c.report.Rows, "index rows")
}

// rowCount checks the number of rows in all index tables, or in their flagged twins.
func (c *checker) rowCount(ctx context.Context, flag byte, want int64, what string) error {
	var n int64
	for _, t := range indexTables {
		if err := c.each(ctx, t-flag, func(_, _ []byte) error { n++; return nil }); err != nil {
			return err
		}
	}
	if n != want {
		c.problem("%s: %d there, %d expected", what, n, want)
	}
	return nil
}
