package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/fifo"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/store"
)

// ErrStopped says that the door takes no more events because its Run has ended or is about to.
var ErrStopped = errors.New("the door is closed")

// ErrClosed says that the source was closed.
var ErrClosed = errors.New("the source is closed")

// SourceConfig says whose events a Source brings.
type SourceConfig struct {
	// Label names the origin: a client's address, a remote relay's URL. Sources of one label share one part of the
	// orphan buffer.
	Label string
	// Share names the party to begin with; see Source.Share.
	Share string
	// Direct marks a client: it goes before the sync engine's sources, its events close the open batch, and what was
	// refused before is decided again for it.
	Direct bool
	// HoldPlaces keeps an event's place until Release; without it the reply frees the place.
	HoldPlaces bool
	// Charge is told of each decision that takes more than a usual one what work it was, in steps as a store.Meter counts them. It
	// is called by the writer and must not block; nil is for those who are not charged.
	Charge func(steps int)
	// Bearer says who brings an event (NIP-42, NIP-70). Submit calls it once, in its own goroutine; nil is a stranger.
	Bearer func(*nostr.Event) policy.Bearer
}

// Source is the queue of one client session or one remote relay. Its events are decided, and their replies called, in
// the order of their Submits. All methods may be called from several goroutines.
type Source struct {
	door *Door
	conf SourceConfig

	// Guarded by door.mu.
	party     *party
	order     fifo.Queue[*item] // what is not decided yet, as submitted
	unchecked fifo.Queue[*item] // the part of order that no verifier has taken
	places    int               // places taken: undecided or, with HoldPlaces, not released
	bytes     int               // size of the events on those places
	held      int               // places whose reply was called and that wait for Release
	heldBytes int
	closed    bool
	checkTurn bool // it stands in door.toCheck
	readyTurn bool // it stands in door.toDecide
}

// itemOverhead is about what an undecided event costs beside its bytes.
const itemOverhead = 512

// Events above largeEvent have turns of their own, so that no more than maxLarge of them are undecided at a time, and of a party one.
const (
	largeEvent = 256 << 10
	maxLarge   = 16
)

// item is one submitted event on its way.
type item struct {
	src   *Source
	event *nostr.Event // as submitted, or the genuine copy that was verified in its stead
	from  store.Source
	by    policy.Bearer
	reply func(policy.Verdict)
	size  int
	came  time.Time
	share string // its part of the orphan buffer
	large *party // whose turn for a large event it has; nil for one that needs none
	crowd string // the address that brings it, where that is one among many; see crowds

	// Guarded by src.door.mu until ready, then the writer's.
	alone   bool           // it waits for no other copy: one that it waited for was forged
	ready   bool           // the writer may have it
	settled bool           // verdict stands already: forged, or answered from memory
	verdict policy.Verdict // with settled

	recalled bool // with settled: it was stored when a verifier looked
}

// Submit queues e for its decision and returns when it has a place, which it waits for while 1,024 events or 2 MiB of
// this source's party are undecided, and of the source itself a 32nd of that; one event of any size passes when there are
// none of the source, a large one when it is its turn, too. The error is ctx's cause, ErrClosed or
// ErrStopped, and then reply is never called. Otherwise reply is called exactly once, by the writer, in the order of
// the source's Submits and after the commit that made the verdict true; it must not block. A nil reply is allowed.
func (s *Source) Submit(ctx context.Context, e *nostr.Event, from store.Source, reply func(policy.Verdict)) error {
	it := &item{src: s, event: e, from: from, reply: reply, size: e.Size(), came: time.Now()}
	if s.conf.Bearer != nil {
		it.by = s.conf.Bearer(e)
	}
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("submit event: %w", context.Cause(ctx))
		}
		room, err := s.enter(it)
		if err != nil {
			return fmt.Errorf("submit event: %w", err)
		}
		if room == nil {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
		case <-s.door.stop:
		}
	}
}

// enter queues the item, or gives the channel that is closed when it is worth another try.
func (s *Source) enter(it *item) (room <-chan struct{}, err error) {
	d := s.door
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.stopped:
		return nil, ErrStopped
	case s.closed:
		return nil, ErrClosed
	case it.size > largeEvent && (s.party.large || d.large >= maxLarge):
		if d.largeRoom == nil {
			d.largeRoom = make(chan struct{})
		}
		return d.largeRoom, nil
	case s.places > 0 && s.full(it.size):
		if s.party.room == nil {
			s.party.room = make(chan struct{})
		}
		return s.party.room, nil
	}
	it.share = cmp.Or(s.party.name, s.conf.Label)
	if s.conf.Direct {
		it.crowd = s.party.name
	}
	if it.size > largeEvent {
		it.large, s.party.large = s.party, true
		d.large++
	}
	s.places++
	d.places++
	s.bytes += it.size
	s.party.charge(1, it.size)
	s.order.Push(it)
	d.coming++
	s.unchecked.Push(it)
	d.offerCheck(s)
	return nil, nil
}

// full reports whether there is no place for an event of that size: neither among those of the party nor among the few that
// the source has to itself, so that no other one of the party can take them all. The caller holds door.mu.
func (s *Source) full(size int) bool {
	l := s.door.limits
	return (s.party.places >= l.QueueEvents || s.party.bytes+size > l.QueueBytes) &&
		(s.places >= l.QueueEvents/memberPart || s.bytes+size > l.QueueBytes/memberPart)
}

// Release frees the place of an event of that size whose reply was called. It does nothing without HoldPlaces.
func (s *Source) Release(size int) {
	s.door.mu.Lock()
	defer s.door.mu.Unlock()
	if s.held == 0 {
		return
	}
	size = min(size, s.heldBytes)
	s.held--
	s.heldBytes -= size
	s.free(1, size)
}

// Close ends the source: waiting and later Submits fail with ErrClosed. What was submitted is still decided, unless
// closed sources have left more than the door keeps for them; then what was not verified yet hears an error.
func (s *Source) Close() {
	d := s.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.closed {
		return
	}
	s.free(s.held, s.heldBytes)
	s.held, s.heldBytes = 0, 0
	s.closed = true
	d.wakeLarge()
	d.sources--
	d.leaveParty(s)
	s.leave(s.places, s.bytes)
	if d.left > d.limits.LeftBytes {
		d.abandon(s, verdictDropped)
	}
}

// answered frees the item's place after its reply. The caller holds door.mu.
func (s *Source) answered(it *item) {
	if it.large != nil {
		it.large.large, it.large = false, nil
		s.door.large--
		s.door.wakeLarge()
	}
	if s.conf.HoldPlaces && !s.closed {
		s.held++
		s.heldBytes += it.size
		return
	}
	if s.closed {
		s.leave(-1, -it.size)
	}
	s.free(1, it.size)
}

// wakeLarge lets everybody who waits with a large event look again. The caller holds door.mu.
func (d *Door) wakeLarge() {
	if d.largeRoom != nil {
		close(d.largeRoom)
		d.largeRoom = nil
	}
}

// leave counts what a closed source has left in the door. The caller holds door.mu.
func (s *Source) leave(places, bytes int) { s.door.left += bytes + places*itemOverhead }

// free gives places back. The caller holds door.mu.
func (s *Source) free(places, bytes int) {
	s.places -= places
	s.door.places -= places
	s.bytes -= bytes
	s.party.charge(-places, -bytes)
	s.door.forgetParty(s.party)
}
