package forward_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/forward"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/test/testkit"
)

// nodes are a node that follows and one that leads, or does not.
type nodes struct {
	leader  forward.Leader
	private *httptest.Server // of the leader
	carrier *forward.Carrier
	public  *httptest.Server // of the one that follows

	at    atomic.Pointer[string] // where the leader is, as the other one knows
	mu    sync.Mutex
	place uint64
	moved chan struct{}
}

func begin(t *testing.T, routes ...front.Route) *nodes {
	t.Helper()
	n := &nodes{moved: make(chan struct{})}
	n.private = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Graspd-Secret") != "secret" || !forward.Is(r) {
			http.Error(w, "who is that?", http.StatusForbidden)
			return
		}
		n.leader.ServeHTTP(w, r)
	}))
	t.Cleanup(n.private.Close)
	n.at.Store(&n.private.URL)
	n.carrier = forward.NewCarrier(forward.Config{Nodes: n, Logger: slog.New(slog.DiscardHandler)})
	f := front.New(front.Config{Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Logger: slog.New(slog.DiscardHandler)})
	f.Handle(n.carrier.Route(front.Route{Name: "all", Door: front.Signed}))
	n.public = httptest.NewServer(f.Handler())
	t.Cleanup(n.public.Close)
	return n
}

// Leader implements forward.Nodes.
func (n *nodes) Leader() string { return *n.at.Load() }

// Authorize implements forward.Nodes.
func (n *nodes) Authorize(h http.Header) { h.Set("Graspd-Secret", "secret") }

// FollowPlace implements forward.Nodes.
func (n *nodes) FollowPlace() (store.Place, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return store.Place{Position: n.place}, n.moved
}

// leads has the other node lead with a handler for its clients.
func (n *nodes) leads(h http.HandlerFunc) {
	f := front.New(front.Config{})
	f.Handle(front.Route{Name: "all", Door: front.Open, Serve: func(w http.ResponseWriter, r *http.Request, c front.Client) {
		w.Header().Set("Client", c.Addr.String())
		h(w, r)
	}})
	n.leader.Lead(forward.Answers{Handler: f.Handler()})
}

func (n *nodes) reach(place uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.place = place
	close(n.moved)
	n.moved = make(chan struct{})
}

func (n *nodes) request(t testing.TB, method, path string, body io.Reader, head ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, n.public.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Body.Close() })
	return a
}

func text(t testing.TB, a *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestARequestOfAClient reaches the leader as its client sent it, with the client's address and nothing that the client says in the name of a node, and
// the answer comes back as it is, each field once.
func TestARequestOfAClient(t *testing.T) {
	n := begin(t)
	n.leads(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method == http.MethodGet {
			return
		}
		if r.Header.Get("Graspd-Client") != "" || r.Header.Get("Graspd-Other") != "" || r.Header.Get("X-Forwarded-For") != "" || r.Host != strings.TrimPrefix(n.public.URL, "http://") {
			t.Errorf("it comes as %v for %s", r.Header, r.Host)
		}
		w.Header().Set("Sent", r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+string(b))
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, "short and stout")
	})
	a := n.request(t, http.MethodPost, "/some/path?and=query", strings.NewReader("body"), "Authorization", "Nostr xyz", "X-Forwarded-For", "203.0.113.9", "Graspd-Client", "203.0.113.7", "Graspd-Other", "x")
	if got := text(t, a); got != "short and stout" || a.StatusCode != http.StatusTeapot || a.Header.Get("Sent") != "POST /some/path?and=query Nostr xyz body" {
		t.Errorf("%s, %q, %v", a.Status, got, a.Header)
	}
	if got := a.Header.Get("Client"); got != "203.0.113.9" {
		t.Errorf("the leader counts %s", got)
	}
	for _, a := range []*http.Response{a, n.request(t, http.MethodGet, "/", nil)} {
		if got := a.Header.Values("Access-Control-Allow-Origin"); len(got) != 1 {
			t.Errorf("fields of %s are doubled, or lost: %q", a.Request.Method, got)
		}
	}
}

// TestBodiesAreStreamed: the leader has the beginning of a body before its end is sent, and a client that of an answer.
func TestBodiesAreStreamed(t *testing.T) {
	n := begin(t)
	came, goOn := make(chan string, 2), make(chan struct{})
	n.leads(func(w http.ResponseWriter, r *http.Request) {
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			came <- lines.Text()
		}
		io.WriteString(w, "one\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-goOn
		io.WriteString(w, "two\n")
	})
	r, w := io.Pipe()
	var writes sync.WaitGroup
	writes.Go(func() {
		for _, line := range []string{"one", "two"} {
			io.WriteString(w, line+"\n")
			if got := <-came; got != line {
				t.Errorf("%q came", got)
			}
		}
		w.Close()
	})
	a := n.request(t, http.MethodPost, "/", r)
	writes.Wait()
	back := bufio.NewReader(a.Body)
	if line, err := back.ReadString('\n'); line != "one\n" {
		t.Fatalf("%q, %v", line, err)
	}
	close(goOn)
	if line, err := back.ReadString('\n'); line != "two\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

// TestARequestWaitsForALeader: while none is known, cannot be dialled, or does not answer for clients yet; its body is whole then. A leader that stands
// still is left for the next one.
func TestARequestWaitsForALeader(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	over := make(chan struct{})
	stands := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer stands.Close()
	defer close(over)
	for name, first := range map[string]string{"none": "", "gone": gone.URL, "not yet": "itself", "stands still": stands.URL} {
		t.Run(name, func(t *testing.T) {
			n := begin(t)
			if first != "itself" {
				n.at.Store(&first)
			}
			later := time.AfterFunc(300*time.Millisecond, func() {
				n.leads(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
				n.at.Store(&n.private.URL)
			})
			defer later.Stop()
			a := n.request(t, http.MethodPost, "/", io.MultiReader(strings.NewReader("a body of "), strings.NewReader("unknown length")))
			if got := text(t, a); got != "a body of unknown length" {
				t.Errorf("%s %q", a.Status, got)
			}
		})
	}
}

// TestOnlyWhatWasNotReadIsSentOnceMore: a request of which a leader has read something is not repeated.
func TestOnlyWhatWasNotReadIsSentOnceMore(t *testing.T) {
	n := begin(t)
	tries := 0
	n.leads(func(_ http.ResponseWriter, r *http.Request) {
		tries++
		io.ReadAll(r.Body)
		panic(http.ErrAbortHandler)
	})
	a := n.request(t, http.MethodPost, "/", strings.NewReader("body"))
	if a.StatusCode != http.StatusServiceUnavailable || tries != 1 || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s after %d tries", a.Status, tries)
	}
}

// TestWhoAsksTooOften hears so from the node that they ask, and nothing is carried.
func TestWhoAsksTooOften(t *testing.T) {
	n := begin(t)
	tries := 0
	n.leads(func(http.ResponseWriter, *http.Request) { tries++ })
	f := front.New(front.Config{Rates: front.Rates{Requests: 1}, Logger: slog.New(slog.DiscardHandler)})
	f.Handle(n.carrier.Route(front.Route{Name: "all", Door: front.Signed}))
	refused := 0
	for range 50 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = "203.0.113.9:1"
		w := httptest.NewRecorder()
		f.Handler().ServeHTTP(w, r)
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "" {
			refused++
		}
	}
	if refused == 0 || tries+refused != 50 {
		t.Errorf("of 50 requests %d were carried, and %d refused", tries, refused)
	}
}

// door is a real one upon a store, whose commits count as positions.
func (n *nodes) door(t *testing.T) (*store.Store, *log) {
	t.Helper()
	s, err := store.Open(store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	at := &log{asked: make(chan struct{}, 3)}
	n.leader.Lead(forward.Answers{Door: doorTo(t, s), Log: at})
	return s, at
}

// doorTo is a real door to a store, which it closes.
func doorTo(t *testing.T, s *store.Store) *ingest.Door {
	t.Helper()
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	d := ingest.New(ingest.Config{Store: s, Rules: policy.Rules{Service: service}})
	ctx, end := context.WithCancel(t.Context())
	var g sync.WaitGroup
	g.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() {
		end()
		g.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// log is how far a commit log is.
// A batch has been decided once the place of the log is asked for, which asked hears as often as it has room.
type log struct {
	atomic.Uint64
	asked chan struct{}
}

func (l *log) LogPlace() store.Place {
	select {
	case l.asked <- struct{}{}:
	default:
	}
	return store.Place{Position: l.Load()}
}

func (*log) Deposed() <-chan struct{} { return nil }

// runs has the carrier of a node send events until the test ends.
func (n *nodes) runs(t *testing.T) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var g sync.WaitGroup
	g.Go(func() {
		if err := n.carrier.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	end = func() { stop(); g.Wait() }
	t.Cleanup(end)
	return end
}

func events(n int) (all []*nostr.Event) {
	now := time.Now().Unix()
	all = append(all, testkit.Announcement(testkit.Key(1), now-100, "proj", "wss://relay.example.org"))
	for i := range n - 1 {
		all = append(all, testkit.Issue(testkit.Key(2), now-50+int64(i), testkit.RepositoryAddress(testkit.Key(1), "proj"), "an <issue> & more"))
	}
	return all
}

func submit(t testing.TB, s *forward.Source, e *nostr.Event) <-chan policy.Verdict {
	t.Helper()
	heard := make(chan policy.Verdict, 2)
	if err := s.Submit(t.Context(), e, store.Direct, func(v policy.Verdict) { heard <- v }); err != nil {
		t.Fatal(err)
	}
	return heard
}

func within(t testing.TB, heard <-chan policy.Verdict) policy.Verdict {
	t.Helper()
	select {
	case v := <-heard:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("no verdict")
		return policy.Verdict{}
	}
}

// TestEventsAreDecidedElsewhere, as the leader decides, and each is answered once this node has it. What is forged goes nowhere.
func TestEventsAreDecidedElsewhere(t *testing.T) {
	n := begin(t)
	s, at := n.door(t)
	at.Store(7)
	n.runs(t)
	all := events(20)
	mine := n.carrier.Source(ingest.SourceConfig{Label: "203.0.113.9", Party: "client 203.0.113.9"})
	first := submit(t, mine, all[0])
	select {
	case v := <-first:
		t.Fatalf("%+v before this node has it", v)
	case <-time.After(300 * time.Millisecond):
	}
	n.reach(6)
	select {
	case v := <-first:
		t.Fatalf("%+v before this node has it", v)
	case <-time.After(50 * time.Millisecond):
	}
	n.reach(7)
	if v := within(t, first); v.Outcome != policy.Accept {
		t.Fatalf("%+v", v)
	}
	var later []<-chan policy.Verdict
	for _, e := range all[1:] {
		later = append(later, submit(t, mine, e))
	}
	for _, heard := range later {
		if v := within(t, heard); v.Outcome != policy.Accept {
			t.Errorf("%+v", v)
		}
	}
	if v := within(t, submit(t, mine, all[3])); v.Outcome != policy.Duplicate || !v.OK() {
		t.Errorf("once more: %+v", v)
	}
	if v := within(t, submit(t, mine, testkit.Issue(testkit.Key(2), time.Now().Unix(), "30617:"+testkit.Key(9).PubKey().String()+":other", "x"))); v.OK() || v.Reason == "" {
		t.Errorf("of nothing here: %+v", v)
	}
	forged := *all[0]
	forged.Content = "another"
	if v := within(t, submit(t, mine, &forged)); v.Outcome != policy.Invalid || !strings.HasPrefix(v.Reason, "invalid: ") {
		t.Errorf("forged: %+v", v)
	}
	if got := s.Stats().Events; got != int64(len(all)) {
		t.Errorf("%d events are stored", got)
	}
}

// TestNobodyHearsOKOfWhatIsNotHere: where the leader has stored an event and this node does not come so far, who published it is told to try again.
func TestNobodyHearsOKOfWhatIsNotHere(t *testing.T) {
	t.Parallel()
	n := begin(t)
	s, at := n.door(t)
	at.Store(7)
	end := n.runs(t)
	n.reach(6)
	mine := n.carrier.Source(ingest.SourceConfig{Label: "a", Party: "a"})
	began := time.Now()
	if v := within(t, submit(t, mine, events(1)[0])); v.OK() || !strings.Contains(v.Reason, "has not heard of that yet; try again") || time.Since(began) < forward.Patience {
		t.Errorf("%+v after %v", v, time.Since(began))
	}
	began = time.Now()
	if v := within(t, submit(t, mine, testkit.Issue(testkit.Key(2), time.Now().Unix(), "30617:"+testkit.Key(9).PubKey().String()+":other", "x"))); v.Outcome == policy.Failed || v.OK() || time.Since(began) > forward.Patience/2 {
		t.Errorf("what is refused: %+v after %v", v, time.Since(began))
	}
	last := submit(t, mine, events(2)[1])
	for range 3 { // the last one is stored there too, and nobody has heard
		<-at.asked
	}
	if got := s.Stats().Events; got != 2 {
		t.Errorf("%d events are stored", got)
	}
	end()
	if v := within(t, last); v.OK() || !strings.HasPrefix(v.Reason, "error: ") {
		t.Errorf("%+v", v)
	}
}

// TestWhoBringsAnEventIsTold: a protected event (NIP-70) comes from its author alone.
func TestWhoBringsAnEventIsTold(t *testing.T) {
	n := begin(t)
	n.door(t)
	n.runs(t)
	all := events(1)
	guarded := testkit.Sign(testkit.Key(2), time.Now().Unix(), 1621, "text", nostr.Tag{"a", testkit.RepositoryAddress(testkit.Key(1), "proj")}, nostr.Tag{"-"})
	as := func(by policy.Bearer) *forward.Source {
		return n.carrier.Source(ingest.SourceConfig{Label: "a", Party: "a", Bearer: func(*nostr.Event) policy.Bearer { return by }})
	}
	within(t, submit(t, as(policy.Stranger), all[0]))
	if v := within(t, submit(t, as(policy.Stranger), guarded)); !strings.HasPrefix(v.Reason, "auth-required:") {
		t.Errorf("by a stranger: %+v", v)
	}
	if v := within(t, submit(t, as(policy.Author), guarded)); v.Outcome != policy.Accept {
		t.Errorf("by the author: %+v", v)
	}
}

// TestEventsWaitForALeader, and are answered by the next one; with none for long people hear so, and where the node ends they hear that.
func TestEventsWaitForALeader(t *testing.T) {
	t.Parallel()
	n := begin(t)
	none := ""
	n.at.Store(&none)
	end := n.runs(t)
	s := n.carrier.Source(ingest.SourceConfig{Label: "a", Party: "a"})
	heard := submit(t, s, events(1)[0])
	n.door(t)
	select {
	case v := <-heard:
		t.Fatalf("%+v without a leader", v)
	case <-time.After(300 * time.Millisecond):
	}
	n.at.Store(&n.private.URL)
	if v := within(t, heard); v.Outcome != policy.Accept {
		t.Fatalf("%+v", v)
	}
	n.leader.Retire()
	began := time.Now()
	if v := within(t, submit(t, s, events(2)[1])); v.Reason != "error: "+ingest.NoWriter || time.Since(began) < forward.Patience {
		t.Errorf("%+v after %v", v, time.Since(began))
	}
	last := submit(t, s, events(3)[2])
	end()
	if v := within(t, last); v.OK() || !strings.HasPrefix(v.Reason, "error: this node ends") {
		t.Errorf("%+v", v)
	}
	if err := s.Submit(t.Context(), events(1)[0], store.Direct, func(policy.Verdict) {}); !errors.Is(err, ingest.ErrStopped) {
		t.Error(err)
	}
}

// TestADeposedLeaderDecidesNothing: events that reach a node which another one has deposed are decided by the next one that is asked.
func TestADeposedLeaderDecidesNothing(t *testing.T) {
	n := begin(t)
	shared := new(logtest.Memory)
	leads := func(by string) *store.Store {
		s, err := store.Open(store.Options{Dir: t.TempDir(), Log: shared})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Lead([]byte(by)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	old := leads("a")
	n.leader.Lead(forward.Answers{Door: doorTo(t, old), Log: old})
	next := leads("b")
	door := doorTo(t, next)
	n.reach(100)
	n.runs(t)
	heard := submit(t, n.carrier.Source(ingest.SourceConfig{Label: "a", Party: "a"}), events(1)[0])
	<-old.Deposed()
	select {
	case v := <-heard:
		t.Fatalf("%+v", v)
	case <-time.After(300 * time.Millisecond):
	}
	n.leader.Lead(forward.Answers{Door: door, Log: next})
	if v := within(t, heard); v.Outcome != policy.Accept || next.Stats().Events != 1 {
		t.Errorf("%+v, and %d events are stored", v, next.Stats().Events)
	}
}

// TestRoomForEvents: a client has so many events on their way, and waits with the next one; others do not. Who holds places gives them back.
func TestRoomForEvents(t *testing.T) {
	n := begin(t)
	none := ""
	n.at.Store(&none) // nothing is decided
	s, other := n.carrier.Source(ingest.SourceConfig{Label: "a", HoldPlaces: true}), n.carrier.Source(ingest.SourceConfig{Label: "b"})
	e := events(1)[0]
	for range 256 {
		submit(t, s, e)
	}
	short, cut := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cut()
	if err := s.Submit(short, e, store.Direct, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one more than a client may have: %v", err)
	}
	submit(t, other, e)
	s.Release(e.Size())
	submit(t, s, e)
	s.Close()
	if err := s.Submit(t.Context(), e, store.Direct, nil); !errors.Is(err, ingest.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestWhatIsNoBatch is refused, and without the secret nothing is answered at all.
func TestWhatIsNoBatch(t *testing.T) {
	n := begin(t)
	n.door(t)
	ask := func(secret, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.private.URL+"/events", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Graspd-Secret", secret)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		return a.StatusCode
	}
	many := "[" + strings.Repeat("{},", 300) + "{}]"
	for body, want := range map[string]int{"": 400, "{": 400, "[{}]": 200, "[]": 200, many: 400} {
		if got := ask("secret", body); got != want {
			t.Errorf("%.20q: %d, want %d", body, got, want)
		}
	}
	if got := ask("other", "[]"); got != http.StatusForbidden {
		t.Error(got)
	}
}
