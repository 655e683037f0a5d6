package refdb

import (
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// snapshot is one state of the store, read by rules: what is durable of a Reader, the open batch of a Turn.
type snapshot interface {
	Events
	Addresses
	Rows
	Has(nostr.ID) (bool, error)
	Newest(address string) (nostr.Stamp, bool, error)
	EachWaitingAnnouncement(d string, do func(store.Seq) error) error
	WaitingEvent(store.Seq) (*nostr.Event, error)

	listings(d string) ([]grasp.Listing, error) // the served announcements with that identifier that count
	serves(*nip34.Announcement) bool
	leaves(nostr.ID) bool            // that waiting event takes part in nothing
	faultOver(nostr.ID, error) error // what to do about an error over a waiting event
	now() time.Time
}

func (t Turn) listings(d string) ([]grasp.Listing, error) {
	same, err := t.Announced(d)
	if err != nil {
		return nil, err
	}
	return same.Listings(), nil
}

func (t Turn) serves(a *nip34.Announcement) bool { return t.Serves(a) }
func (t Turn) leaves(id nostr.ID) bool           { return t.Left != nil && t.Left(id) }
func (t Turn) now() time.Time                    { return t.Now }

func (t Turn) faultOver(id nostr.ID, err error) error { return faultOf(id, err) }

// readers is what all Readers of a Ledger share. Any number of goroutines may use it.
type readers struct {
	mirrors   []grasp.RelayURL // relays whose hosts may have every repository
	private   bool             // do not ask mirrors for private repositories
	data      gitData
	waitIndex *waitIndex
	eventReader
}

// Reader reads what repositories are and lack in one durable state of the store, by the rules in force. It needs no turn of the writer.
type Reader struct {
	*store.View
	*readers
	rules policy.Rules
	at    time.Time
}

// Reader returns a Reader of a View, which the caller closes. Any goroutine may call Reader.
func (l *Ledger) Reader(v *store.View, rules policy.Rules, now time.Time) *Reader {
	return &Reader{v, l.readers, rules, now}
}

// listings reads up to policy.MaxAnnouncements announcements that have not expired, as the writer does.
func (r *Reader) listings(d string) (out []grasp.Listing, err error) {
	n := 0
	return out, r.EachAnnouncement(d, func(seq store.Seq) (bool, error) {
		a, err := r.claims.read(seq, r.View.Event)
		if err != nil || a.expires <= r.at.Unix() {
			return true, err
		}
		if a.readable && !r.rules.Lists.Bars(a.Address()) {
			out = append(out, a.Listing)
		}
		n++
		return n < policy.MaxAnnouncements, nil
	})
}

func (r *Reader) serves(a *nip34.Announcement) bool { return r.rules.Serves(a) }
func (r *Reader) leaves(nostr.ID) bool              { return false }
func (r *Reader) now() time.Time                    { return r.at }

// faultOver leaves out a waiting event that cannot be read, as the writer does in the end. graspd check reports it.
func (r *Reader) faultOver(nostr.ID, error) error { return nil }
