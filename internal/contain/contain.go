// Package contain keeps a fault of this program to what it was found in. What serves one client or one relay runs under Faults: a
// panic there ends that one, is logged and counted, and everybody else goes on. The store and its writer are not run
// under it: nothing is to be served or acknowledged after a fault in what keeps the events.
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

// Faults are the panics that were contained. It may be used by many goroutines. A nil one contains them as well, silently.
type Faults struct {
	logger *slog.Logger
	now    func() time.Time

	mu     sync.Mutex // guards what follows
	count  uint64
	last   Fault
	places map[string]bool // those whose stack was logged; as many as there are in the source
}

// Fault is one panic.
type Fault struct {
	In    string // what it ended
	Place string // the function and line that panicked
	Value string // what it panicked with; of anything but a runtime error its type alone, as it may hold what strangers sent
	Time  time.Time
}

// Error makes the end of what was at fault.
func (f *Fault) Error() string { return "internal error: " + f.Value }

// New returns Faults that are logged. A nil now is time.Now.
func New(logger *slog.Logger, now func() time.Time) *Faults {
	if now == nil {
		now = time.Now
	}
	return &Faults{logger: cmp.Or(logger, slog.New(slog.DiscardHandler)), now: now, places: map[string]bool{}}
}

// Run returns the error of work; where work panics, a *Fault. in says what work serves.
func (f *Faults) Run(in string, work func() error) (err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler: // a handler's way to say that its client has gone
			panic(v)
		default:
			err = f.note(in, v)
		}
	}()
	return work()
}

// Do is Run for what has no error, and reports whether it came to its end.
func (f *Faults) Do(in string, work func()) bool {
	return f.Run(in, func() error { work(); return nil }) == nil
}

// note is called by the goroutine that panicked, while its stack is there.
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

// Seen returns how many there were, and the last one.
func (f *Faults) Seen() (count uint64, last Fault) {
	if f == nil {
		return 0, Fault{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count, f.last
}

// text names a panic without what strangers may have put into it.
func text(value any) string {
	if err, ok := value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("panic of type %T", value)
}

// site finds the function below the innermost panic.
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
