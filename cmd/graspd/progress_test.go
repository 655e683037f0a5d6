package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/progress"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/test/corpus"
)

// events writes a small file of events for git.example.org and returns its name.
func events(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	for it := range corpus.Stream(corpus.Options{Seed: 2, Repositories: 3, Roots: 12, Others: 20, Since: 1_700_000_000, Until: 1_700_100_000, Service: "wss://git.example.org"}) {
		b.Write(append(it.Event.AppendJSON(nil), '\n'))
	}
	name := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A file, a pipe and the null device are no terminals: nothing is drawn there.
func TestNoProgressInPipes(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if screenOf(null, false) != nil || screenOf(new(bytes.Buffer), false) != nil {
		t.Error("taken for a terminal")
	}
	data := t.TempDir()
	for _, args := range [][]string{{"import", "--domain", "git.example.org", events(t)}, {"check"}, {"export"}} {
		args = append([]string{args[0], "--data", data}, args[1:]...)
		if code, _, errs := call(t, "", nil, args...); code != exitOK || errs != "" {
			t.Errorf("%v: %d, %q", args, code, errs)
		}
	}
}

// What people see of an import: a bar that ends full, and goes away.
func TestProgressOfAnImport(t *testing.T) {
	c := Config{Data: t.TempDir(), Listen: "127.0.0.1:7334", Domain: "git.example.org", Cache: 1 << 20, DiskFloor: 1}
	service, err := c.service()
	if err != nil {
		t.Fatal(err)
	}
	s, door, err := node.OpenDoor(c.door(service, policy.Lists{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	file, err := openImport(t.Context(), events(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	now := time.Unix(1_000_000, 0)
	var drawn, out bytes.Buffer
	p := progress.NewMeter(progress.NewScreen(&drawn, func() int { return 80 }), "importing", "events", func() time.Time { now = now.Add(time.Second); return now })
	if err := runImport(t.Context(), door, service, file, stdio{out: &out, err: &out}, p); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(drawn.String(), "importing ████████████████████████ 100 %") || !strings.HasSuffix(drawn.String(), "\r\x1b[J") {
		t.Errorf("%q", drawn.String())
	}
	if !strings.HasPrefix(out.String(), "stored ") {
		t.Errorf("%q", out.String())
	}
}

func TestCatchupSumsUpTheRelays(t *testing.T) {
	c := countCatchup([]status.Relay{
		{Phase: "live", Want: status.Count{Repositories: 10, Roots: 990}, Confirmed: status.Count{Repositories: 10, Roots: 990}, Counters: status.Counters{Sources: status.Sources{Catchup: 1200, Live: 34}}},
		{Phase: "syncing", Want: status.Count{Repositories: 500, Roots: 500}, Confirmed: status.Count{Repositories: 100, Roots: 400}},
		{Phase: "dialing"}, {Phase: "waiting"},
	})
	if c.live != 1 || c.busy != 2 {
		t.Errorf("%+v", c)
	}
	if got, want := c.line(), "catching up ██████████████████░░░░░░ 1 of 4 relays  1,500 of 2,000 items  1,234 events"; got != want {
		t.Errorf("%s\n%s", got, want)
	}
	if got, want := c.result(12_345*time.Millisecond), "caught up with 1 of 4 relays in 12.3s: 1,234 events are new; the others are tried again (graspd status)"; got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

// The bar of the first catch-up goes when nothing is under way any more, and at the end of the process.
func TestCatchupOnATerminalEnds(t *testing.T) {
	service, err := (&Config{Listen: "127.0.0.1:0"}).service()
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Dir: t.TempDir(), Service: service, Sync: &node.Sync{}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen(Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	var drawn bytes.Buffer
	screen := progress.NewScreen(&drawn, func() int { return 80 })
	window := catchupLook/2 - catchupCalm // it looks twice at most
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serveOn(ctx, Config{SyncBatchWindow: window}, n, l, screen, slog.New(slog.DiscardHandler), manager{}, func(context.Context) {})
	}()
	cancel()
	if err := errors.Join(<-ended, n.Close()); err != nil {
		t.Error(err)
	}
	if drawn.Len() > 0 {
		t.Errorf("%q is shown where no relay is followed", drawn.String())
	}
}
