package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/base/fifo"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ErrStopped says that the door takes no more events because its Run has ended or is about to.
var ErrStopped = errors.New("the door is closed")

// ErrClosed says that the source was closed.
var ErrClosed = errors.New("the source is closed")

// SourceConfig says whose events a Source brings.
type SourceConfig struct {
	// Label names the origin: a client's address, or a remote relay's URL. Sources with the same label share one part of the
	// orphan buffer.
	Label string
	// Party names the party in which the source begins; see Source.Join.
	Party string
	// Direct marks a client. Clients go before the sync engine's sources, their events close the open batch soon, and the
	// writer decides an event that was refused before again for a client.
	Direct bool
	// HoldPlaces keeps an event's place until Release; without it the reply frees the place.
	HoldPlaces bool
	// Charge is told how many steps of work, as a store.Meter counts them, a decision took, if it took more than a usual
	// decision takes. The writer calls Charge, so it must not block. Nil charges nothing.
	Charge func(steps int)
	// Bearer says who brings an event (NIP-42, NIP-70). Submit calls it once, in the caller's goroutine. Nil stands for a stranger.
	Bearer func(*nostr.Event) policy.Bearer
}

// Source is the queue of one client's connection, one remote relay or one import. The writer decides its events, and calls their replies,
// in the order of their Submits. Any number of goroutines may call the methods.
type Source struct {
	door *Door
	conf SourceConfig

	// Guarded by door.mu.
	party           *party
	order           fifo.Queue[*item] // items that the writer has not taken, as submitted
	unchecked       fifo.Queue[*item] // the part of order that no verifier has taken
	places          int               // places taken by undecided events and, with HoldPlaces, by those not released
	bytes           int               // size of the events on these places
	unreleased      int               // places of events whose reply was called, and that wait for Release
	unreleasedBytes int
	closed          bool
	inToCheck       bool // the source is in door.toCheck
	inToDecide      bool // the source is in door.toDecide
}

// itemOverhead is about how many bytes of memory an undecided event costs beside its own.
const itemOverhead = 512

// At most maxLarge events above largeEvent bytes are undecided at a time, and one for each party. That bounds the memory that they
// take.
const (
	largeEvent = 256 << 10
	maxLarge   = 16
)

// item is one submitted event on its way.
type item struct {
	src     *Source
	event   *nostr.Event // as submitted, or the genuine copy that was verified instead
	from    store.Source
	by      policy.Bearer
	reply   func(policy.Verdict)
	size    int
	came    time.Time
	label   string // names the share of the orphan buffer for which the event counts
	large   *party // the party whose one large event this is; nil for an event that is not large
	address string // the address that brings the event; "" for relays and imports; see perAddress

	// Guarded by src.door.mu until ready, then the writer's.
	alone   bool           // the item waits for no other copy, as the one for which it waited was forged
	ready   bool           // the writer may take the item
	stands  bool           // the verdict stands already, as the event is forged, stored or remembered
	verdict policy.Verdict // the verdict, if stands; without that only a refusal that is to be remembered

	recalled bool // stands because the event was stored when a verifier looked
	decided  bool // the writer has decided the item before, in a batch that was dropped; the item is not charged and counted twice
	paid     bool // the address has paid for this announcement or report; see perAddress
	times    int  // how often the writer has failed over what follows from the event
	left     bool // the writer has failed over the event, and leaves it out
}

// Submit queues e for its decision, and returns when e has a place. It waits for the place while the party has QueueEvents events or
// QueueBytes undecided, and the source itself a memberPart of that. A source without undecided events has a place for one event of any
// size. But a large event also waits until fewer than maxLarge others, and none of its party, are undecided.
//
// If Submit fails, with ctx's cause, ErrClosed or ErrStopped, nobody calls reply. Otherwise the writer calls reply exactly once, in the
// order of the source's Submits and after the commit that made the verdict true. Reply must not block; nil is allowed. Nobody
// may change e after Submit.
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

// enter queues the item. If there is no place, it returns a channel that is closed when another try is worth it.
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
	it.label = cmp.Or(s.party.name, s.conf.Label)
	if s.conf.Direct {
		it.address = s.party.name
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

// full reports whether there is no place for an event of that size, neither among the places of the party nor among the few that the source
// has to itself. The caller holds door.mu.
func (s *Source) full(size int) bool {
	l := s.door.limits
	return (s.party.places >= l.QueueEvents || s.party.bytes+size > l.QueueBytes) &&
		(s.places >= l.QueueEvents/memberPart || s.bytes+size > l.QueueBytes/memberPart)
}

// Release frees the place of an event of that size whose reply was called. Without HoldPlaces it does nothing.
func (s *Source) Release(size int) {
	s.door.mu.Lock()
	defer s.door.mu.Unlock()
	if s.unreleased == 0 {
		return
	}
	size = min(size, s.unreleasedBytes)
	s.unreleased--
	s.unreleasedBytes -= size
	s.free(1, size)
}

// Close ends the source: waiting and later Submits fail with ErrClosed. The writer still decides the submitted events. But where closed
// sources have left more than LeftBytes, events of this source that are not verified yet get an error for a verdict.
func (s *Source) Close() {
	d := s.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.closed {
		return
	}
	s.free(s.unreleased, s.unreleasedBytes)
	s.unreleased, s.unreleasedBytes = 0, 0
	s.closed = true
	d.wakeLarge()
	d.sources--
	d.leaveParty(s)
	s.countLeft(s.places, s.bytes)
	if d.left > d.limits.LeftBytes {
		d.abandon(s, verdictDropped)
	}
}

// answered frees the item's place after its reply, or keeps the place until Release where the source holds places. The caller holds door.mu.
func (s *Source) answered(it *item) {
	if it.large != nil {
		it.large.large, it.large = false, nil
		s.door.large--
		s.door.wakeLarge()
	}
	if s.conf.HoldPlaces && !s.closed {
		s.unreleased++
		s.unreleasedBytes += it.size
		return
	}
	if s.closed {
		s.countLeft(-1, -it.size)
	}
	s.free(1, it.size)
}

// wakeLarge makes everybody who waits with a large event look again. The caller holds door.mu.
func (d *Door) wakeLarge() {
	if d.largeRoom != nil {
		close(d.largeRoom)
		d.largeRoom = nil
	}
}

// countLeft counts the events that a closed source has left undecided. The caller holds door.mu.
func (s *Source) countLeft(places, bytes int) { s.door.left += bytes + places*itemOverhead }

// free gives places back. The caller holds door.mu.
func (s *Source) free(places, bytes int) {
	s.places -= places
	s.door.places -= places
	s.bytes -= bytes
	s.party.charge(-places, -bytes)
	s.door.forgetParty(s.party)
}
