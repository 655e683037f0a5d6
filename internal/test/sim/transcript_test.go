package sim_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// transcript is what one fake relay and its client say to each other, one frame
// per line, with the time since it was begun and names instead of ids.
type transcript struct {
	t     *testing.T
	w     *sim.World
	names map[string]string // by id, public key or address
	order []string

	mu     sync.Mutex // guards all below
	zero   time.Time
	on     bool
	subs   map[string]string
	counts map[byte]int
	lines  []string
}

// newTranscript listens at a relay.
func newTranscript(t *testing.T, w *sim.World, f *testkit.FakeRelay) *transcript {
	x := &transcript{t: t, w: w, names: map[string]string{}, subs: map[string]string{}, counts: map[byte]int{}}
	f.Tap = func(_ int, up bool, frame []byte) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.on {
			x.line(map[bool]string{true: "> ", false: "< "}[up] + x.render(up, frame))
		}
	}
	return x
}

// name makes the transcript call an event, and its author's address of it, so.
func (x *transcript) name(name string, e *nostr.Event) *nostr.Event {
	x.call(e.ID.String(), name)
	return e
}

func (x *transcript) call(text, name string) {
	x.names[text] = name
	x.order = append(x.order, text)
}

// begin starts the clock and the writing.
func (x *transcript) begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.zero, x.on = time.Now(), true
}

// say adds a line of what happens besides.
func (x *transcript) say(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.line("# " + fmt.Sprintf(format, args...))
}

func (x *transcript) line(s string) {
	x.lines = append(x.lines, fmt.Sprintf("%9s  %s", time.Since(x.zero).Truncate(time.Millisecond), s))
}

// render writes a frame for people.
func (x *transcript) render(up bool, frame []byte) string {
	var words []string
	if up {
		m, err := nostr.ParseClient(frame)
		if err != nil {
			x.t.Fatal(err)
		}
		words = x.client(m)
	} else {
		m, err := nostr.ParseRelay(frame)
		if err != nil {
			x.t.Fatal(err)
		}
		words = x.answer(m)
	}
	return strings.Join(words, " ")
}

func (x *transcript) client(m nostr.ClientMessage) []string {
	switch m := m.(type) {
	case nostr.Req:
		words := []string{"REQ", x.sub(m.Sub)}
		for _, f := range m.Filters {
			words = append(words, x.filter(f))
		}
		return words
	case nostr.Close:
		return []string{"CLOSE", x.sub(m.Sub)}
	case nostr.NegOpen:
		return []string{"NEG-OPEN", x.sub(m.Sub), x.filter(m.Filter), x.reconciled(m.Msg)}
	case nostr.NegMsg:
		return []string{"NEG-MSG", x.sub(m.Sub), x.reconciled(m.Msg)}
	case nostr.NegClose:
		return []string{"NEG-CLOSE", x.sub(m.Sub)}
	}
	return []string{fmt.Sprintf("%T", m)}
}

func (x *transcript) answer(m nostr.RelayMessage) []string {
	switch m := m.(type) {
	case nostr.RelayEvent:
		return []string{"EVENT", x.sub(m.Sub), x.names[m.Event.ID.String()]}
	case nostr.EOSE:
		return []string{"EOSE", x.sub(m.Sub)}
	case nostr.NegMsg:
		return []string{"NEG-MSG", x.sub(m.Sub), x.reconciled(m.Msg)}
	}
	return []string{fmt.Sprintf("%T", m)}
}

// sub counts subscriptions by their kind: l is live, s stored, n a reconciliation.
func (x *transcript) sub(id string) string {
	if x.subs[id] == "" {
		x.counts[id[0]]++
		x.subs[id] = fmt.Sprint(id[:1], x.counts[id[0]])
	}
	return x.subs[id]
}

var timeBound = regexp.MustCompile(`"(since|until)":(\d+)`)

// filter writes names for ids, and times as they lie to the beginning.
func (x *transcript) filter(f nostr.Filter) string {
	s := string(f.AppendJSON(nil))
	for _, text := range x.order {
		s = strings.ReplaceAll(s, text, x.names[text])
	}
	zero := x.w.Unix() - int64(time.Since(x.zero).Seconds())
	return timeBound.ReplaceAllStringFunc(s, func(m string) string {
		p := timeBound.FindStringSubmatch(m)
		at, err := strconv.ParseInt(p[2], 10, 64)
		if err != nil {
			x.t.Fatal(err)
		}
		return fmt.Sprintf(`"%s":%v`, p[1], time.Duration(at-zero)*time.Second)
	})
}

// reconciled tells what a message of NIP-77 names: events, or nothing but fingerprints.
func (x *transcript) reconciled(msg []byte) string {
	text := hex.EncodeToString(msg)
	var named []string
	for _, id := range x.order {
		if len(id) == 64 && strings.Contains(text, id) {
			named = append(named, x.names[id])
		}
	}
	if len(named) == 0 {
		return fmt.Sprintf("<%d bytes>", len(msg))
	}
	return "<" + strings.Join(named, " ") + ">"
}

// compare holds what was said against the golden file.
func (x *transcript) compare(name, title string) {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	got := []byte(title + "\n\n" + strings.Join(x.lines, "\n") + "\n")
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			x.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		x.t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	n := different(a, b)
	x.t.Errorf("%s, line %d (go test -update writes it anew)\ngot  %s\nwant %s", path, n+1, line(a, n), line(b, n))
}
