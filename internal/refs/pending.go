package refs

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// Bounds of what is pushed for events that nobody knows yet. Nobody has signed for it.
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

// PendingFor is how long a commit waits for its event, from the end of its push.
const PendingFor = 30 * time.Minute

// Pending is the uploads that wait for their events, and those under way. One upload is what one push brought for events that nobody knows
// yet. The first commit pushed for an event keeps other commits from that event's name in the repository, until the event comes or the
// time is over. Times are seconds since 1970. The zero value is empty; nil reads as empty.
type Pending struct {
	last    uint64 // number of the last upload
	uploads map[uint64]*upload
	events  map[nostr.ID][]uint64 // uploads for an event, of one commit all those of one repository
	tallies
}

// From is where a push comes from, as uploads are counted by it.
type From struct {
	Address string // what one customer has; "" where there is none
	Network string // the largest group that the address belongs to, or the address itself; "" where there is none
}

type upload struct {
	of    nip34.Address
	from  From
	tips  []Tip
	bytes int64
	until int64 // 0 while it is under way
}

// tip is the commit for that event, zero if there is none.
func (u *upload) tip(event nostr.ID) gitwire.ObjectID {
	for _, t := range u.tips {
		if t.Event == event {
			return t.ID
		}
	}
	return gitwire.ObjectID{}
}

// PendingTip is the commit that waits under a name. Complete says that its objects are here; else they are being pushed.
type PendingTip struct {
	ID       gitwire.ObjectID
	Complete bool
}

// At gives the commit that waits in a repository for that event; its ID is zero where none waits.
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

// has reports whether an upload is for that event among others.
func (p *Pending) has(n uint64, event nostr.ID) bool {
	return p != nil && p.uploads[n] != nil && !p.uploads[n].tip(event).IsZero()
}

// Begin takes note of what a push is going to bring, as Judge allowed it, and gives it a number above 0.
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
	p.begin(now, from, len(tips))
	return p.last
}

// Resize says how many bytes the upload of that number has by now. Where that is too much the upload has to end.
func (p *Pending) Resize(n uint64, bytes int64) Cause {
	u := p.uploads[n]
	if u == nil {
		return None
	}
	p.count(u, tally{bytes: bytes - u.bytes})
	u.bytes = bytes
	return p.tooMuch(u)
}

// Finish ends the push of an upload: these of its tips wait from now on. Without any the upload is dropped.
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

// Drop forgets an upload, whose objects are to go.
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

// Bytes is how much all uploads hold.
func (p *Pending) Bytes() int64 {
	if p == nil {
		return 0
	}
	return p.all.bytes
}

// Tips is the number of events for which something waits or is under way.
func (p *Pending) Tips() int {
	if p == nil {
		return 0
	}
	return p.all.tips
}
