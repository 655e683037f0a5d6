package forward

import (
	"context"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of events on their way. Who has as many as a client may have waits until some are answered, and so does everybody where all have so many bytes.
const (
	batchEvents  = 256      // of a request
	batchBytes   = 4 << 20  // of a request; one event may be larger
	batchShare   = 16       // events of one client in a request, where others wait
	clientEvents = 256      // of a client that are not answered
	allBytes     = 64 << 20 // of all clients
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
