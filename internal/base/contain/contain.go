// Package contain keeps a fault of this program to the work in which it happens. Work for one client or one relay runs under Faults: a panic
// there ends that work alone, and is logged and counted. The store and its writer do not run under it: the relay must neither serve nor
// acknowledge anything after a fault in what keeps the events.
package contain

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Faults contains panics, and counts and logs them. Many goroutines may use it. A nil Faults contains panics too, but silently.
type Faults struct {
	logger *slog.Logger
	now    func() time.Time

	mu     sync.Mutex // guards the fields below
	count  uint64
	last   Fault
	places map[string]bool // places whose stack was logged; the source has only so many
}

// Fault is one panic.
type Fault struct {
	In    string // the work that it ended
	Place string // the function and line that panicked
	Value string // the text of a runtime error; of any other value only the type, as the value may hold what strangers sent
	Time  time.Time
}

// Error makes a Fault the error with which the work ends.
func (f *Fault) Error() string { return "internal error: " + f.Value }

// New returns Faults that log to logger. A nil logger is silent, and a nil now is time.Now.
func New(logger *slog.Logger, now func() time.Time) *Faults {
	if now == nil {
		now = time.Now
	}
	return &Faults{logger: cmp.Or(logger, slog.New(slog.DiscardHandler)), now: now, places: map[string]bool{}}
}

// Run runs work and returns its error; a *Fault where work panics. in says whom or what work serves.
func (f *Faults) Run(in string, work func() error) (err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler: // a handler says by this that its client has gone
			panic(v)
		default:
			err = f.note(in, v)
		}
	}()
	return work()
}

// Do runs work that returns no error as Run does, and reports whether work came to its end.
func (f *Faults) Do(in string, work func()) bool {
	return f.Run(in, func() error { work(); return nil }) == nil
}

// note counts and logs a panic. The goroutine that panicked calls it while its stack is still there.
func (f *Faults) note(in string, value any) *Fault {
	fault := &Fault{In: in, Place: site(), Value: text(value)}
	if f == nil {
		return fault
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fault.Time = f.now()
	f.count++
	f.last = *fault
	stack := "logged before"
	if !f.places[fault.Place] {
		f.places[fault.Place] = true
		stack = string(debug.Stack())
	}
	f.logger.Error("a fault in graspd ended a connection or a piece of work, and nothing else", "fault_in", in, "place", fault.Place, "cause", fault.Value, "stack", stack)
	return fault
}

// Seen returns how many faults there were, and the last one.
func (f *Faults) Seen() (count uint64, last Fault) {
	if f == nil {
		return 0, Fault{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count, f.last
}

// text describes the value of a panic, without anything that strangers may have put into it.
func text(value any) string {
	if err, ok := value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("panic of type %T", value)
}

// site returns the function and the line of the innermost panic.
func site() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	panicked := false
	for {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if panicked && !inRuntime {
			return fmt.Sprintf("%s:%d", f.Function, f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return "unknown"
		}
	}
}
