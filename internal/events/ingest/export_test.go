package ingest

import (
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
)

// Kept is what the door keeps in memory: ids with a proof, and the cost of what closed sources have left.
func (d *Door) Kept() (proofs, left int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.copies), d.left
}

// Parties is how many parties with a name the door remembers.
func (d *Door) Parties() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.parties)
}

// ProveFirst takes the next item for proved and has every other one recognised at once. Nothing is decided yet.
func (d *Door) ProveFirst() {
	first := d.takeUnchecked()
	d.recognised(first)
	d.verified(first)
	for range d.waiting() - 1 {
		d.recognised(d.takeUnchecked())
	}
}

// Announced is a cache of what announcements say, as the writer has it.
type Announced struct{ a announced }

func NewAnnounced() *Announced {
	x := &Announced{}
	x.a.reset()
	return x
}

// Gather is what the writer's view gives, and the work of it.
func (x *Announced) Gather(d string, b *store.Batch, r policy.Rules, now int64) (*policy.Announced, int, error) {
	same, err := x.a.gather(d, b, r, now)
	return same, x.a.spent(), err
}

func (x *Announced) Changed(d string) { x.a.changed(d) }

// Size is how many identifiers are kept, and how many keys they name.
func (x *Announced) Size() (identifiers, keys int) {
	for _, one := range x.a.of {
		keys += one.keys
	}
	if keys != x.a.keys || x.a.order.Len() != len(x.a.of) {
		panic("the account of keys is wrong")
	}
	return len(x.a.of), keys
}

// The bounds of what is kept.
const (
	KnownIdentifiers  = knownIdentifiers
	KnownKeys         = knownKeys
	AnnouncementBurst = announcementBurst
	AnnouncementEvery = announcementEvery
	FreeWork          = freeWork
	MaxUnfinished     = maxUnfinished
)

// Unfinished is how many deletions are under way. It is for replies, which the writer calls, and for an idle door.
func (d *Door) Unfinished() int { return d.store.Unfinished() }

// PerAddress are the accounts of who announces how much.
type PerAddress struct{ c *perAddress }

func NewPerAddress() PerAddress { return PerAddress{newPerAddress()} }

func (c PerAddress) Take(address, d string, now time.Time) bool { return c.c.take(address, d, now) }

// Len is how many pairs of an address and an identifier are remembered.
func (c PerAddress) Len() int { return len(c.c.young) + len(c.c.old) }

const AccountsKept = accountsKept

// How the writer waits.
const (
	QuietGap    = quietGap
	QuietBurst  = quietBurst
	ReopenEvery = reopenEvery
)
