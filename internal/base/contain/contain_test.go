package contain_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
)

func crash(p *int) int { return *p }

func TestAPanicIsAnError(t *testing.T) {
	var log bytes.Buffer
	at := time.Unix(1700000000, 0)
	f := contain.New(slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return at })
	err := f.Run("a client", func() error { crash(nil); return nil })
	fault, ok := errors.AsType[*contain.Fault](err)
	if !ok || fault.In != "a client" || !strings.Contains(fault.Place, "contain_test.crash:") || !strings.Contains(err.Error(), "nil pointer") || !fault.Time.Equal(at) {
		t.Errorf("%+v", err)
	}
	if n, last := f.Seen(); n != 1 || last != *fault {
		t.Errorf("%d, %+v", n, last)
	}
	for _, want := range []string{"a fault in graspd ended a connection or a piece of work, and nothing else", `fault_in="a client"`, "stack=", "contain_test.crash"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, log.String())
		}
	}
}

// What has no fault is not touched.
func TestAnErrorStaysAnError(t *testing.T) {
	f := contain.New(nil, nil)
	if err := f.Run("x", func() error { return io.EOF }); err != io.EOF {
		t.Error(err)
	}
	if !f.Do("x", func() {}) {
		t.Error("it did not come to its end")
	}
	if n, _ := f.Seen(); n != 0 {
		t.Errorf("%d faults", n)
	}
}

// A stack is logged once for each place, and a line each time.
func TestStacksAreLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	f := contain.New(slog.New(slog.NewTextHandler(&log, nil)), nil)
	for range 5 {
		f.Do("one", func() { crash(nil) })
	}
	f.Do("two", func() { panic("elsewhere") })
	if n, _ := f.Seen(); n != 6 || strings.Count(log.String(), "stack=\"goroutine") != 2 || strings.Count(log.String(), "\n") != 6 {
		t.Errorf("%d faults, log:\n%s", n, log.String())
	}
}

// A panic may carry what a stranger sent.
func TestNoContentIsLogged(t *testing.T) {
	var log bytes.Buffer
	f := contain.New(slog.New(slog.NewTextHandler(&log, nil)), nil)
	err := f.Run("x", func() error { panic("a secret") })
	if err == nil || strings.Contains(err.Error()+log.String(), "secret") || !strings.Contains(err.Error(), "string") {
		t.Errorf("%v\n%s", err, log.String())
	}
}

// A panic while another one is dealt with is told by its own place.
func TestAPanicInADefer(t *testing.T) {
	f := contain.New(nil, nil)
	f.Do("x", func() {
		defer func() { crash(nil) }()
		panic("first")
	})
	if _, last := f.Seen(); !strings.Contains(last.Place, "contain_test.crash:") {
		t.Errorf("%+v", last)
	}
}

// Without Faults a panic is contained as well.
func TestNilContains(t *testing.T) {
	var f *contain.Faults
	if f.Do("x", func() { panic(1) }) {
		t.Error("it came to its end")
	}
	if n, _ := f.Seen(); n != 0 {
		t.Errorf("%d faults", n)
	}
}

func TestManyAtOnce(t *testing.T) {
	f := contain.New(nil, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { f.Do("x", func() { crash(nil) }) })
	}
	all.Wait()
	if n, _ := f.Seen(); n != 20 {
		t.Errorf("%d faults", n)
	}
}

// A request over which there was a fault gets no answer that looks whole, and one whose handler gives up is no fault.
func TestHandler(t *testing.T) {
	f := contain.New(nil, nil)
	for path, want := range map[string]struct {
		answered bool
		faults   uint64
	}{"/ok": {true, 0}, "/abort": {false, 0}, "/fault": {false, 1}} {
		before, _ := f.Seen()
		s := httptest.NewServer(f.Handler("a request", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/abort":
				panic(http.ErrAbortHandler)
			case "/fault":
				crash(nil)
			}
		})))
		resp, err := http.Get(s.URL + path)
		if err == nil {
			resp.Body.Close()
		}
		s.Close()
		if n, _ := f.Seen(); (err == nil) != want.answered || n-before != want.faults {
			t.Errorf("%s: answered %v, %d faults", path, err == nil, n-before)
		}
	}
}
