package sim

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
)

// The order in which the parts of a graspd have to end: against the flow of data, and last those that tell about the others.
var (
	endsInOrder  = []string{"public listener", "disk", "readiness", "relay", "lists of the engine", "engine", "reports", "moderator", "door"}
	gitParts     = []string{"git sync", "hosting"} // after the engine
	privateParts = []string{"page history", "private listener"}
)

// ends is a log handler that notes which parts of a graspd have ended, and passes every line on.
type ends struct {
	slog.Handler
	heard *heardEnds
}

type heardEnds struct {
	mu    sync.Mutex
	parts []string
}

func newEnds(h slog.Handler) *ends { return &ends{h, &heardEnds{}} }

// Enabled returns true, so that Handle sees the lines about ends on every level.
func (e *ends) Enabled(context.Context, slog.Level) bool { return true }

// Handle notes the end of a part, and passes a line on that the next handler wants.
func (e *ends) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "ended" {
		r.Attrs(func(a slog.Attr) bool {
			e.heard.mu.Lock()
			defer e.heard.mu.Unlock()
			e.heard.parts = append(e.heard.parts, a.Value.String())
			return true
		})
	}
	if !e.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return e.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (e *ends) WithAttrs(a []slog.Attr) slog.Handler { return &ends{e.Handler.WithAttrs(a), e.heard} }

// WithGroup implements slog.Handler.
func (e *ends) WithGroup(name string) slog.Handler { return &ends{e.Handler.WithGroup(name), e.heard} }

// check fails the test where the parts have not ended in the right order.
func (e *ends) check(t testing.TB, git, private bool) {
	t.Helper()
	want := endsInOrder
	if git {
		want = slices.Insert(slices.Clone(want), slices.Index(want, "engine")+1, gitParts...)
	}
	if private {
		want = slices.Concat(want, privateParts)
	}
	e.heard.mu.Lock()
	defer e.heard.mu.Unlock()
	if !slices.Contains(e.heard.parts, "readiness") { // it is a part only where there are bootstrap relays
		want = slices.DeleteFunc(slices.Clone(want), func(p string) bool { return p == "readiness" })
	}
	if !slices.Equal(e.heard.parts, want) {
		t.Errorf("the parts ended in the order %q, want %q", e.heard.parts, want)
	}
}
