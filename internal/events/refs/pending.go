package refs

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of what people push for events that nobody knows yet: no signature says that anybody wants it.
const (
	MaxPushTips        = 16         // in one push
	MaxRepositoryTips  = 64         // in one repository at a time
	MaxAddressTips     = 256        // from one address within an hour
	MaxNetworkTips     = 4 * 256    // from one network of addresses within an hour
	MaxTips            = 16_384     // in all at a time
	MaxHourTips        = 4 * 16_384 // in all within an hour
	MaxRepositoryBytes = 256 << 20  // in one repository
	MaxAddressBytes    = 256 << 20  // from one address
	MaxNetworkBytes    = 1 << 30    // from one network of addresses
	MaxPendingBytes    = 4 << 30    // in all
)

// PendingFor is how long a commit waits for its event, from the end of the push that brought the commit.
const PendingFor = 30 * time.Minute

// Pending has the uploads that wait for their events, and those under way. One upload is what one push brings for events that nobody knows
// yet. The first commit pushed for an event keeps other commits from that event's ref in the repository, until the event comes or the time
// is over. Times are seconds since 1970. The zero Pending is empty; a nil one reads as empty. One goroutine at a time may use a Pending.
type Pending struct {
	last    uint64 // number of the last upload
	uploads map[uint64]*upload
	events  map[nostr.ID][]uint64 // the uploads for an event; all of one repository have the same commit
	tallies
}

// From is where a push comes from. Pending counts uploads by it.
type From struct {
	Address string // the client's address, for IPv6 its /64; "" where there is none
	Network string // the IPv6 /48 of the address, or an IPv4 address itself; "" where there is none
}

type upload struct {
	of    nip34.Address
	from  From
	tips  []Tip
	bytes int64
	until int64 // when its wait ends; 0 while its push is under way
}

// tip returns the commit for that event, zero if there is none.
func (u *upload) tip(event nostr.ID) gitwire.ObjectID {
	for _, t := range u.tips {
		if t.Event == event {
			return t.ID
		}
	}
	return gitwire.ObjectID{}
}

// PendingTip is the commit that waits at the ref of an event.
type PendingTip struct {
	ID       gitwire.ObjectID
	Complete bool // all objects of the commit are here; else they are being pushed
}

// At returns the commit that waits in a repository for that event. The ID of the PendingTip is zero where none waits.
func (p *Pending) At(of nip34.Address, event nostr.ID) (h PendingTip) {
	if p == nil {
		return PendingTip{}
	}
	for _, n := range p.events[event] {
		if u := p.uploads[n]; u.of == of {
			h = PendingTip{u.tip(event), h.Complete || u.until != 0}
		}
	}
	return h
}

// has reports whether upload n has a tip for that event.
func (p *Pending) has(n uint64, event nostr.ID) bool {
	return p != nil && p.uploads[n] != nil && !p.uploads[n].tip(event).IsZero()
}

// Begin records the tips that a push is going to bring, as Judge allowed them, and returns the number of the upload, which is above 0.
func (p *Pending) Begin(now int64, of nip34.Address, from From, tips []Tip) uint64 {
	if p.uploads == nil {
		p.uploads, p.events = map[uint64]*upload{}, map[nostr.ID][]uint64{}
	}
	p.last++
	u := &upload{of: of, from: from, tips: slices.Clone(tips)}
	p.uploads[p.last] = u
	for _, t := range tips {
		p.events[t.Event] = append(p.events[t.Event], p.last)
	}
	p.count(u, tally{tips: len(tips)})
	p.countBegun(now, from, len(tips))
	return p.last
}

// Cancel forgets an upload that has just begun, as if it had not: it counts for no bound of an hour.
func (p *Pending) Cancel(n uint64) {
	u := p.uploads[n]
	if u == nil {
		return
	}
	p.uncountBegun(u.from, len(u.tips))
	p.Drop(n)
}

// Resize records how many bytes upload n has by now. Resize returns the bound that these bytes break, and then the caller ends the upload;
// else None.
func (p *Pending) Resize(n uint64, bytes int64) Cause {
	u := p.uploads[n]
	if u == nil {
		return None
	}
	p.count(u, tally{bytes: bytes - u.bytes})
	u.bytes = bytes
	return p.tooMuch(u)
}

// Finish ends the push of upload n. Of its tips only these wait from now on; Finish drops an upload without tips.
func (p *Pending) Finish(now int64, n uint64, tips []Tip) {
	u := p.uploads[n]
	if u == nil {
		return
	}
	for _, t := range slices.Clone(u.tips) {
		if !slices.Contains(tips, t) {
			p.remove(n, t.Event)
		}
	}
	u.until = now + int64(PendingFor/time.Second)
	if len(u.tips) == 0 {
		p.Drop(n)
	}
}

// Drop forgets upload n. The caller removes its objects.
func (p *Pending) Drop(n uint64) {
	if p == nil || p.uploads[n] == nil {
		return
	}
	u := p.uploads[n]
	for _, t := range slices.Clone(u.tips) {
		p.remove(n, t.Event)
	}
	p.count(u, tally{bytes: -u.bytes})
	delete(p.uploads, n)
}

// remove takes a tip out of an upload.
func (p *Pending) remove(n uint64, event nostr.ID) {
	u := p.uploads[n]
	u.tips = slices.DeleteFunc(u.tips, func(t Tip) bool { return t.Event == event })
	p.count(u, tally{tips: -1})
	p.events[event] = slices.DeleteFunc(p.events[event], func(m uint64) bool { return m == n })
	if len(p.events[event]) == 0 {
		delete(p.events, event)
	}
}

// Bytes returns the size of all uploads, as Resize was told.
func (p *Pending) Bytes() int64 {
	if p == nil {
		return 0
	}
	return p.all.bytes
}

// Tips returns for how many events something waits or is under way.
func (p *Pending) Tips() int {
	if p == nil {
		return 0
	}
	return p.all.tips
}
