package forward

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of events on their way. Who has as many as a client may have waits until some are answered, and so does everybody where all have so many bytes.
const (
	senders      = 4        // requests under way
	batchEvents  = 256      // of a request
	batchBytes   = 4 << 20  // of a request; one event may be larger
	batchShare   = 16       // events of one client in a request, where others wait
	clientEvents = 256      // of a client that are not answered
	allBytes     = 64 << 20 // of all clients
	askPatience  = 10 * time.Second
)

// events are those of clients that are to be decided by the node that leads.
type events struct {
	mu    sync.Mutex
	turns []*Source     // who has some that are not sent, whose turn is next first
	bytes int           // of all that are not answered
	come  chan struct{} // has something where turns may have
	room  chan struct{} // closed, and another one made, when there may be room
	ended bool
}

func (x *events) init() { x.come, x.room = make(chan struct{}, 1), make(chan struct{}) }

// Source is the queue of one client. It does what an ingest.Source does, by way of the node that leads.
type Source struct {
	x       *Carrier
	conf    ingest.SourceConfig
	waiting []*event // not sent
	places  int      // events that are not answered and, where places are held, released
	closed  bool
}

type event struct {
	of    *Source
	e     *nostr.Event
	by    policy.Bearer
	came  time.Time
	reply func(policy.Verdict)
}

// Source returns the queue of a client.
func (x *Carrier) Source(c ingest.SourceConfig) *Source { return &Source{x: x, conf: c} }

// Submit checks an event, and takes it to have it decided elsewhere; reply hears how once this node has what was stored. Submit waits for room. It fails
// where reply will hear nothing.
func (s *Source) Submit(ctx context.Context, e *nostr.Event, _ store.Source, reply func(policy.Verdict)) error {
	if wrong := ingest.Forged((&nostr.Checker{Verifier: s.x.c.Verifier}).Check(e)); wrong != nil {
		reply(*wrong)
		return s.hold()
	}
	w := &event{of: s, e: e, came: time.Now(), reply: reply}
	if s.conf.Bearer != nil {
		w.by = s.conf.Bearer(e)
	}
	for {
		room, err := s.enter(w)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hold counts an event that is answered already.
func (s *Source) hold() error {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	if s.conf.HoldPlaces {
		s.places++
	}
	return nil
}

func (s *Source) enter(w *event) (room <-chan struct{}, err error) {
	x := s.x
	x.mu.Lock()
	defer x.mu.Unlock()
	size := w.e.Size()
	switch {
	case x.ended:
		return nil, ingest.ErrStopped
	case s.closed:
		return nil, ingest.ErrClosed
	case s.places >= clientEvents || x.bytes > 0 && x.bytes+size > allBytes:
		return x.room, nil
	}
	s.places++
	x.bytes += size
	if s.waiting = append(s.waiting, w); len(s.waiting) == 1 {
		x.turns = append(x.turns, s)
	}
	x.ring()
	return nil, nil
}

// ring wakes a sender. The lock is held.
func (x *events) ring() {
	select {
	case x.come <- struct{}{}:
	default:
	}
}

// roomy wakes who waits for room. The lock is held.
func (x *events) roomy() {
	close(x.room)
	x.room = make(chan struct{})
}

// Release gives the place of an event back whose verdict its client has.
func (s *Source) Release(int) {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	s.places--
	s.x.roomy()
}

// Close ends the queue. What it has is decided all the same.
func (s *Source) Close() {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	s.closed = true
	s.x.roomy()
}

// take takes what is to be sent next, of each client in turns.
func (x *events) take() (batch []*event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	bytes := 0
	for len(x.turns) > 0 && len(batch) < batchEvents && bytes < batchBytes {
		s := x.turns[0]
		x.turns = x.turns[1:]
		n := 0
		for n < len(s.waiting) && n < batchShare && len(batch) < batchEvents && (bytes == 0 || bytes+s.waiting[n].e.Size() <= batchBytes) {
			bytes += s.waiting[n].e.Size()
			batch = append(batch, s.waiting[n])
			n++
		}
		if s.waiting = s.waiting[n:]; len(s.waiting) > 0 {
			x.turns = append(x.turns, s)
		}
		if n == 0 {
			break
		}
	}
	if len(x.turns) > 0 {
		x.ring()
	}
	return batch
}

// answer tells of an event how it was decided.
func (x *events) answer(w *event, v policy.Verdict) {
	w.reply(v)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.bytes -= w.e.Size()
	if !w.of.conf.HoldPlaces {
		w.of.places--
	}
	x.roomy()
}

// Run sends events until ctx ends, and answers what is left then.
func (x *Carrier) Run(ctx context.Context) error {
	var all errgroup.Group
	for range senders {
		all.Go(func() error { x.send(ctx); return nil })
	}
	err := all.Wait()
	x.mu.Lock()
	x.ended = true
	x.roomy()
	x.mu.Unlock()
	for batch := x.take(); len(batch) > 0; batch = x.take() {
		x.give(batch, verdictEnds)
	}
	x.work.Wait()
	return err
}

// Verdicts on what no node has decided, or this one has not heard of yet.
var (
	verdictAway = policy.Verdict{Outcome: policy.Failed, Reason: "error: " + ingest.NoWriter}
	verdictEnds = policy.Verdict{Outcome: policy.Failed, Reason: "error: this node ends, and does not know whether it was taken; try again"}
)

func (x *events) give(batch []*event, v policy.Verdict) {
	for _, w := range batch {
		x.answer(w, v)
	}
}

// send is one of the senders.
func (x *Carrier) send(ctx context.Context) {
	for {
		select {
		case <-x.come:
		case <-ctx.Done():
			return
		}
		for batch := x.take(); len(batch) > 0; {
			decided, err := x.ask(ctx, batch)
			switch {
			case err == nil:
				x.tell(ctx, batch, decided)
				batch = nil
			case ctx.Err() != nil:
				x.give(batch, verdictEnds)
				batch = nil
			default:
				x.c.Logger.Debug("events were not decided by the node that leads", "count", len(batch), "error", err)
				batch = x.wait(ctx, batch)
			}
		}
	}
}

// wait waits before a batch is sent again, and answers what has waited for too long.
func (x *Carrier) wait(ctx context.Context, batch []*event) (left []*event) {
	_ = sleep.For(ctx, look) // then ask says so
	for _, w := range batch {
		if time.Since(w.came) >= Patience {
			x.unanswered.Add(1)
			x.answer(w, verdictAway)
			continue
		}
		left = append(left, w)
	}
	return left
}

// tell answers a batch once this node has what the other one has stored of it, or does not hear of that.
func (x *Carrier) tell(ctx context.Context, batch []*event, decided decisions) {
	x.follow(ctx, decided.Position)
	x.decided.Add(uint64(len(batch)))
	for i, w := range batch {
		d := decided.Verdicts[i]
		v := policy.Verdict{Outcome: d.Outcome, Reason: d.Reason}
		if w.of.conf.Charge != nil && d.Steps > 0 {
			w.of.conf.Charge(d.Steps)
		}
		x.answer(w, v)
	}
}

// follow waits until this node has the commit log up to a position, or for Patience.
func (x *Carrier) follow(ctx context.Context, position uint64) {
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		at, moved := x.c.Nodes.FollowPlace()
		if at.Position >= position {
			return
		}
		select {
		case <-moved:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// offer is an event for the node that leads.
type offer struct {
	Label  string          `json:"label"` // of the client
	Party  string          `json:"party"`
	Bearer policy.Bearer   `json:"bearer"`
	Event  json.RawMessage `json:"event"`
}

// decisions are what became of offers, in their order.
type decisions struct {
	Position uint64     `json:"position"` // up to there the commit log has what was stored
	Verdicts []decision `json:"verdicts"`
}

type decision struct {
	Outcome policy.Outcome `json:"outcome"`
	Reason  string         `json:"reason"`
	Steps   int            `json:"steps"` // of work, for which the client pays
}

// ask has the node that leads decide a batch.
func (x *Carrier) ask(ctx context.Context, batch []*event) (d decisions, err error) {
	offers := make([]offer, len(batch))
	for i, w := range batch {
		offers[i] = offer{w.of.conf.Label, w.of.conf.Party, w.by, w.e.AppendJSON(nil)}
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // six bytes for one
	if err := to.Encode(offers); err != nil {
		return d, err
	}
	leader := x.c.Nodes.Leader()
	if leader == "" {
		return d, errNotYet
	}
	ctx, end := context.WithTimeout(ctx, askPatience)
	defer end()
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	defer x.watch(leader, cut)()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, leader+eventsPath, &text)
	if err != nil {
		return d, err
	}
	x.c.Nodes.Authorize(r.Header)
	a, err := x.client.Do(r)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, a.Body.Close()) }()
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(a.Body, 200)) // it is for the log alone
		return d, fmt.Errorf("%s: %s", a.Status, text)
	}
	if err := json.NewDecoder(io.LimitReader(a.Body, batchBytes)).Decode(&d); err != nil {
		return d, err
	}
	if len(d.Verdicts) != len(batch) {
		return d, fmt.Errorf("%d of %d events are decided", len(d.Verdicts), len(batch))
	}
	return d, nil
}

// decide answers a batch of another node. Each client has a queue of its own at the door.
func (a *Answers) decide(w http.ResponseWriter, r *http.Request) {
	var offers []offer
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4*batchBytes)).Decode(&offers); err != nil || len(offers) > batchEvents {
		http.Error(w, fmt.Sprintf("%d events: %v", len(offers), err), http.StatusBadRequest)
		return
	}
	d := decisions{Verdicts: make([]decision, len(offers))}
	clients := map[[2]string][]int{}
	for i, o := range offers {
		key := [2]string{o.Party, o.Label}
		clients[key] = append(clients[key], i)
	}
	var all errgroup.Group
	for key, mine := range clients {
		all.Go(func() error { return a.decideOf(r.Context(), key[0], key[1], offers, mine, d.Verdicts) })
	}
	if err := all.Wait(); err != nil {
		w.Header().Set(notYetHead, "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	d.Position = a.Log.LogPlace().Position
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d) // the node asks again
}

// decideOf has those events decided that one client brings.
func (a *Answers) decideOf(ctx context.Context, party, label string, offers []offer, mine []int, verdicts []decision) error {
	var mu sync.Mutex
	by, steps := policy.Stranger, 0
	s := a.Door.Source(ingest.SourceConfig{
		Label: label, Party: party, Direct: true, Bearer: func(*nostr.Event) policy.Bearer { return by },
		Charge: func(n int) { mu.Lock(); defer mu.Unlock(); steps += n },
	})
	defer s.Close()
	var left sync.WaitGroup
	var failed error
	for _, i := range mine {
		e, err := nostr.ParseEvent(offers[i].Event)
		if err != nil {
			verdicts[i] = decision{Outcome: policy.Invalid, Reason: "invalid: " + err.Error()}
			continue
		}
		by = offers[i].Bearer
		left.Add(1)
		err = s.Submit(ctx, e, store.Direct, func(v policy.Verdict) {
			defer left.Done()
			verdicts[i] = decision{Outcome: v.Outcome, Reason: v.Reason}
		})
		if err != nil {
			left.Done()
			failed = cmp.Or(failed, err)
			break
		}
	}
	left.Wait()
	mu.Lock()
	defer mu.Unlock()
	verdicts[mine[0]].Steps = steps
	return failed
}
