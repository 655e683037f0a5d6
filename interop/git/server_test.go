package git

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/interop/wire"
)

// server is a running graspd and somebody who publishes to it.
type server struct {
	service grasp.Service
	http    string // where it listens
	relay   *wire.Client
	owner   nostr.SecretKey
	at      int64 // of the event before, so that none is as old as another
}

// logs collects what a process says.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *logs) Write(p []byte) (int, error) { o.mu.Lock(); defer o.mu.Unlock(); return o.b.Write(p) }
func (o *logs) String() string              { o.mu.Lock(); defer o.mu.Unlock(); return o.b.String() }

var listens = regexp.MustCompile(`listens on ws://(\S+)`)

// serve starts graspd on a free port, with more flags. At the end of the test it has to stop properly, with no word of an error in its log.
func serve(t *testing.T, more ...string) *server {
	t.Helper()
	said := &logs{}
	args := []string{"serve", "--listen", "127.0.0.1:0", "--admin-listen=", "--data", t.TempDir(), "--domain", "grasp.example.org",
		"--disk-floor", "0", "--sync=false"}
	cmd := exec.Command(binary, append(args, more...)...)
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		slow := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		defer slow.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("graspd does not stop properly: %v", err)
		}
		if s := said.String(); t.Failed() || strings.Contains(s, "level=ERROR") || strings.Contains(s, "panic") {
			t.Errorf("graspd says\n%s", s)
		}
	})
	s := &server{owner: nostr.SecretKey{0: 0x1d, 31: 1}, at: time.Now().Unix() - 1000}
	for lines := bufio.NewScanner(out); s.http == "" && lines.Scan(); {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			s.http = "http://" + m[1]
		}
	}
	if s.http == "" {
		t.Fatal("graspd does not listen")
	}
	if s.service, err = grasp.ParseService("grasp.example.org"); err != nil {
		t.Fatal(err)
	}
	if s.relay, err = wire.Dial(t.Context(), "ws"+strings.TrimPrefix(s.http, "http")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.relay.CloseNow)
	return s
}

// sign makes an event of the owner.
func (s *server) sign(t *testing.T, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	t.Helper()
	s.at++
	e := &nostr.Event{CreatedAt: s.at, Kind: kind, Tags: tags}
	if err := s.owner.Sign(e, [32]byte{}); err != nil {
		t.Fatal(err)
	}
	return e
}

// publish sends an event and requires that it is taken.
func (s *server) publish(t *testing.T, e *nostr.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.relay.Send(ctx, nostr.AppendEventMsg(nil, e)); err != nil {
		t.Fatal(err)
	}
	m, err := s.relay.Receive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, is := m.(nostr.OK); !is || got.ID != e.ID || !got.OK {
		t.Fatalf("kind %d: %+v", e.Kind, m)
	}
}

// served requires that an event is served to whoever asks for it.
func (s *server) served(t *testing.T, e *nostr.Event) {
	t.Helper()
	if !s.serves(t, e) {
		t.Errorf("the event of kind %d is not served", e.Kind)
	}
}

// awaits requires that an event is served before long.
func (s *server) awaits(t *testing.T, e *nostr.Event) {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !s.serves(t, e) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("the event of kind %d is never served", e.Kind)
		}
	}
}

func (s *server) serves(t *testing.T, e *nostr.Event) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.relay.Send(ctx, nostr.AppendReq(nil, "one", nostr.Filter{IDs: []nostr.ID{e.ID}})); err != nil {
		t.Fatal(err)
	}
	found := false
	for {
		m, err := s.relay.Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		switch m.(type) {
		case nostr.RelayEvent:
			found = true
		case nostr.EOSE:
			if err := s.relay.Send(ctx, nostr.AppendClose(nil, "one")); err != nil {
				t.Fatal(err)
			}
			return found
		default:
			t.Fatalf("%+v", m)
		}
	}
}

// announce announces a repository and returns its URL.
func (s *server) announce(t *testing.T, d string) (url string, e *nostr.Event) {
	t.Helper()
	clone := s.service.CloneURL(s.owner.PubKey(), d)
	e = s.sign(t, nip34.KindRepository, nostr.Tag{"d", d}, nostr.Tag{"clone", clone}, nostr.Tag{"relays", s.service.RelayURL().String()})
	s.publish(t, e)
	return s.http + strings.TrimPrefix(clone, s.service.WebURL()), e
}

// state publishes which refs a repository is to have: lines of a name and an id.
func (s *server) state(t *testing.T, d string, refs string) *nostr.Event {
	t.Helper()
	tags := []nostr.Tag{{"d", d}, {"HEAD", "ref: refs/heads/main"}}
	for line := range strings.Lines(refs) {
		var name, id string
		if _, err := fmt.Sscan(line, &name, &id); err != nil {
			t.Fatal(err)
		}
		tags = append(tags, nostr.Tag{name, id})
	}
	e := s.sign(t, nip34.KindState, tags...)
	s.publish(t, e)
	return e
}
