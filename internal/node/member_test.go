package node

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/election"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/forward"
	"github.com/graspd/graspd/internal/status"
)

// TestEntriesOfLately: a node remembers what it has tried to write, each position once, within bounds, until it hears that another one has written.
func TestEntriesOfLately(t *testing.T) {
	r := newRecent(new(logtest.Memory))
	var before commitlog.Chain
	write := func(at int, body []byte) {
		t.Helper()
		for range 2 { // as where the first answer was lost
			if _, err := r.Append(t.Context(), commitlog.Position(at), before, body); err != nil {
				t.Fatal(err)
			}
		}
		before = before.After(body)
	}
	has := func(first, last int) {
		t.Helper()
		for at := first - 1; at <= last+1; at++ {
			x, ok := r.at(commitlog.Position(at))
			if want := at >= first && at <= last; ok != want || ok && x.At != commitlog.Position(at) {
				t.Errorf("entry %d: %v, %d", at, ok, x.At)
			}
		}
	}
	body := []byte("first")
	write(1, body)
	copy(body, "spoil")
	if x, _ := r.at(1); string(x.Body) != "first" || !x.Follows(0, commitlog.Chain{}) {
		t.Errorf("it remembers %q", x.Body)
	}
	for at := 2; at <= recentEntries+10; at++ {
		write(at, []byte("entry"))
	}
	has(11, recentEntries+10)
	write(recentEntries+11, make([]byte, recentBytes))
	has(recentEntries+11, recentEntries+11)
	write(recentEntries+12, []byte("small"))
	has(recentEntries+12, recentEntries+12)
	r.forget()
	has(1, 0)
	write(recentEntries+12, []byte("small"))
	has(recentEntries+12, recentEntries+12)
}

// TestNewsOfTheLog: a follower knows since when it has not had all of what it has heard.
func TestNewsOfTheLog(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	var n news
	for i, c := range []struct {
		head, has commitlog.Position
		level     int
	}{{5, 3, -1}, {5, 5, 1}, {9, 6, 1}, {8, 8, 1}, {9, 9, 4}, {9, 10, 5}} {
		n.hear(at(i), c.head, c.has)
		if level := n.level; c.level < 0 && !level.IsZero() || c.level >= 0 && !level.Equal(at(c.level)) || !n.heard.Equal(at(i)) {
			t.Errorf("step %d: %+v", i, n)
		}
	}
}

// TestWhoIsOutOfTouch: a node that has heard of the log neither lately nor since its start, which is some time ago.
func TestWhoIsOutOfTouch(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, c := range []struct {
		since, heard time.Time
		want         bool
	}{
		{ago(time.Second), time.Time{}, false}, {ago(2 * time.Second), time.Time{}, false}, {ago(3 * time.Second), time.Time{}, true},
		{ago(time.Hour), ago(2 * time.Second), false}, {ago(time.Hour), ago(2*time.Second + 1), true},
	} {
		m := &Member{since: c.since, news: news{heard: c.heard}}
		if got := m.outOfTouch(now); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestTheSecretOfTheNodes is the same for all, whoever asks first, and one that is no secret is refused.
func TestTheSecretOfTheNodes(t *testing.T) {
	memory := new(objecttest.Memory)
	one, other := &Bucket{Objects: objects.Watch(memory)}, &Bucket{Objects: objects.Watch(memory)}
	first, err := one.secret(t.Context())
	if err != nil || len(first) < secretBytes {
		t.Fatal(first, err)
	}
	if second, err := other.secret(t.Context()); err != nil || second != first {
		t.Error(second, err)
	}
	if err := memory.Delete(t.Context(), secretObject); err != nil {
		t.Fatal(err)
	}
	if _, err := memory.Put(t.Context(), secretObject, strings.NewReader("short")); err != nil {
		t.Fatal(err)
	}
	if text, err := one.secret(t.Context()); err == nil {
		t.Errorf("%q is a secret", text)
	}
}

// TestOnlyNodesMayAsk: without the secret nobody hears anything, and a node that follows sends nothing.
func TestOnlyNodesMayAsk(t *testing.T) {
	m := &Member{keeper: &keeper{logger: slog.New(slog.DiscardHandler)}, secret: "the secret", client: newClient(), gone: make(chan struct{})}
	close(m.gone) // so that nothing waits for the election
	own := openLoggedIn(t, t.TempDir(), new(logtest.Memory))
	s := httptest.NewServer(m.server().Handler)
	defer s.Close()
	for _, c := range []struct {
		secret, method, path string
		values               url.Values
		code                 string
	}{
		{"", http.MethodGet, logPath, url.Values{"after": {"1"}, "node": {"x"}}, "403"},
		{"the secres", http.MethodGet, logPath, url.Values{"after": {"1"}, "node": {"x"}}, "403"},
		{"", http.MethodPost, leadPath, url.Values{"position": {"1"}}, "403"},
		{"the secret", http.MethodGet, logPath, url.Values{"after": {"1"}, "node": {"x"}}, "503"},
		{"the secret", http.MethodGet, logPath, url.Values{"after": {"-1"}, "node": {"x"}}, "400"},
		{"the secret", http.MethodGet, logPath, url.Values{"after": {"1"}}, "400"},
		{"the secret", http.MethodPost, leadPath, url.Values{"position": {"x"}}, "400"},
		{"the secret", http.MethodGet, leadPath, url.Values{"position": {"1"}}, "405"},
		{"", http.MethodPost, nodesPath, url.Values{"node": {`{"node":"x"}`}}, "403"},
		{"the secret", http.MethodPost, nodesPath, url.Values{"node": {`{"node":"x"}`}}, "503"},
		{"the secret", http.MethodPost, nodesPath, url.Values{"node": {`{"node":""}`}}, "400"},
		{"the secret", http.MethodPost, nodesPath, url.Values{"node": {`{`}}, "400"},
	} {
		asks := &Member{keeper: &keeper{store: own}, secret: c.secret, client: m.client}
		if _, err := asks.ask(t.Context(), c.method, s.URL+c.path, c.values); err == nil || !strings.Contains(err.Error(), ": "+c.code+" ") {
			t.Errorf("%s %s %v: %v", c.method, c.path, c.values, err)
		}
	}
}

// TestANodeOfAnEarlierTerm: a node that leads answers none that knows a later term, and looks whether it was deposed. The one that leads tells it.
func TestANodeOfAnEarlierTerm(t *testing.T) {
	log := new(logtest.Memory)
	leads := func() *Member {
		m := &Member{
			keeper: &keeper{Bucket: &Bucket{Objects: objects.Watch(new(objecttest.Memory))}, store: openLoggedIn(t, t.TempDir(), log), logger: slog.New(slog.DiscardHandler)},
			secret: "the secret", client: newClient(), in: make(chan election.Input, 10), led: make(chan struct{}),
		}
		close(m.led)
		return m
	}
	old := leads()
	s := httptest.NewServer(old.server().Handler)
	defer s.Close()
	old.URL = s.URL
	looks := func() bool {
		t.Helper()
		select {
		case in := <-old.in:
			return in == election.Later{}
		default:
			return false
		}
	}
	carried := func(by *Member, path string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Graspd-Client", "-")
		others{by}.Authorize(r.Header)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a
	}
	old.answers.Lead(forward.Answers{Handler: http.NotFoundHandler()})
	if a := carried(old, "/"); a.StatusCode != http.StatusNotFound || looks() {
		t.Errorf("of the same term: %s", a.Status)
	}
	next := leads()
	if a := carried(next, "/"); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Graspd-Not-Yet") == "" || !looks() {
		t.Errorf("of a later term: %s %v", a.Status, a.Header)
	}
	if _, err := next.ask(t.Context(), http.MethodGet, s.URL+logPath, url.Values{"after": {"1"}, "node": {"x"}}); err == nil || !strings.Contains(err.Error(), ": 503 ") || !looks() {
		t.Errorf("a stream: %v", err)
	}
	next.tellLeader(t.Context())
	if looks() {
		t.Error("it is told by one that does not know it")
	}
	next.nodes.Tell(time.Now(), status.ClusterNode{Node: old.URL, Leads: true})
	next.tellLeader(t.Context())
	if !looks() {
		t.Error("it is not told")
	}
	next.nodes.Tell(time.Now(), status.ClusterNode{Node: old.URL})
	next.tellLeader(t.Context())
	if looks() {
		t.Error("it is told although it follows")
	}
}

// TestAStreamOfTheLog: who follows gets each entry once, in order, and a sign of life at the end; who is too far behind is told to read the bucket.
func TestAStreamOfTheLog(t *testing.T) {
	memory := new(logtest.Memory)
	r := newRecent(memory)
	s := openLoggedIn(t, t.TempDir(), r)
	for range 3 {
		if err := s.KeepNotes(map[string][]byte{"x": []byte(time.Now().String())}, nil); err != nil {
			t.Fatal(err)
		}
	}
	var sent bytes.Buffer
	bucket := &Bucket{Objects: objects.Watch(new(objecttest.Memory))}
	w := stream{m: &Member{keeper: &keeper{Bucket: bucket, store: s}, recent: r}, w: &sent, c: http.NewResponseController(&sink{httptest.NewRecorder()}), after: 2}
	if _, err := w.send(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []commitlog.Position{3, 4, 0} {
		f, err := commitlog.ReadFrame(&sent)
		if err != nil || f.Head != 4 || f.Term != 1 || (f.Entry == nil) != (want == 0) || f.Entry != nil && f.Entry.At != want {
			t.Errorf("want %d: %+v, %v", want, f, err)
		}
		if f.Entry == nil {
			continue
		}
		if x, err := memory.Read(context.Background(), want); err != nil || x.Chain != f.Entry.Chain || !bytes.Equal(x.Body, f.Entry.Body) {
			t.Errorf("entry %d is not that of the log: %v", want, err)
		}
	}
	r.forget()
	w.after = 2
	if _, err := w.send(); !errors.Is(err, errBehind) {
		t.Error(err)
	}
}

// TestALeaderWithoutItsBucket gives no sign of life once the bucket has not answered for five seconds, so that a node that reaches it leads; and does
// again when it answers.
func TestALeaderWithoutItsBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := new(objecttest.Memory)
		away := false
		memory.Fault = func(objecttest.Request) objecttest.Fault { return objecttest.Fault{Lost: away} }
		o := objects.Watch(memory)
		s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem(), Log: new(logtest.Memory)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		m := &Member{keeper: &keeper{Bucket: &Bucket{Objects: o}, store: s}, recent: newRecent(new(logtest.Memory))}
		w := stream{m: m, w: io.Discard, c: http.NewResponseController(&sink{httptest.NewRecorder()})}
		for _, c := range []struct {
			away bool
			last time.Duration
			err  error
		}{{false, time.Hour, nil}, {true, 5*time.Second - 1, nil}, {true, 1, errAway}, {true, time.Hour, errAway}, {false, 0, nil}, {true, time.Second, nil}} {
			away = c.away
			if _, err := o.Head(t.Context(), "name"); errors.Is(err, objects.ErrNone) == away {
				t.Fatal(err)
			}
			time.Sleep(c.last)
			if _, err := w.send(); err != c.err {
				t.Errorf("%+v: %v", c, err)
			}
		}
	})
}

// sink is a response that has deadlines.
type sink struct{ *httptest.ResponseRecorder }

func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// openLoggedIn opens a store with a log, and has it lead.
func openLoggedIn(t *testing.T, dir string, l commitlog.Log) *store.Store {
	t.Helper()
	s, err := OpenStore(dir, store.Options{Log: l, Floor: 1, InodeFloor: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Lead([]byte("one")); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRulesWhereAnotherNodeWrites: a node that follows shows by its own settings, also once they are read again, and by the operator's decisions.
func TestRulesWhereAnotherNodeWrites(t *testing.T) {
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	denies := func(n byte) policy.Lists { return policy.Lists{DenyPubKeys: policy.PubKeys{{n}: {}}} }
	c := Config{Dir: t.TempDir(), Service: service, Lists: denies(1), Bucket: &Bucket{Objects: objects.Watch(new(objecttest.Memory)), Name: "b"}}
	if err := Prepare(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	m, err := Join(t.Context(), c, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c.Member = m
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	wants := func(x ruling, keys ...byte) {
		t.Helper()
		rules, changed := x.FollowRules()
		deny := rules.Lists.DenyPubKeys
		for _, k := range keys {
			if _, is := deny[nostr.PubKey{k}]; !is {
				t.Errorf("%d is not denied", k)
			}
		}
		if len(deny) != len(keys) || changed != nil {
			t.Errorf("denied are %v, %v", deny, changed)
		}
	}
	wants(n.rules, 1)
	n.Set(t.Context(), Settings{Lists: denies(2)})
	wants(n.rules, 2)

	c.Dir, c.Bucket, c.Member = t.TempDir(), nil, nil
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, stop := context.WithCancel(t.Context())
	var door sync.WaitGroup
	door.Go(func() { _ = w.Door.Run(ctx) }) // the decision tells
	defer door.Wait()
	defer stop()
	x := &elsewhere{cfg: n.cfg, store: w.Store}
	x.force.Store(new(Settings))
	wants(x)
	if _, err := w.Moderator.Bar(ctx, moderation.Order{Subject: moderation.Of(nostr.PubKey{3}), By: "somebody"}); err != nil {
		t.Fatal(err)
	}
	wants(x, 3)
}
