package refdb

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// eventReader reads what events say about repositories.
type eventReader struct {
	service      grasp.Service // where announcements list this relay
	contributors bool          // pull requests may name contributed repositories too
	claims       claims
	states       states
}

// undone forgets what was read of the dropped batch, as the store will give its numbers to other events.
func (r *eventReader) undone() { r.claims.forget() }

// family reads all announcements with an identifier.
func (r *eventReader) family(t snapshot, d string) (*family, error) {
	f := &family{t: t, states: &r.states, d: d}
	listings, err := t.listings(d)
	if err != nil {
		return nil, fmt.Errorf("announcements of %.40q: %w", d, err)
	}
	for _, x := range listings {
		f.served = append(f.served, refs.Announcement{D: d, Listing: x})
	}
	f.servedCouncils = grasp.FamilyOf(listings).Councils()
	err = t.EachWaitingAnnouncement(d, func(seq store.Seq) error {
		a, err := r.claims.read(seq, t.WaitingEvent)
		if err == nil && a.readable && a.expires > t.now().Unix() {
			f.waiting = append(f.waiting, a.Announcement)
			listings = append(listings, a.Listing)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("announcements of %.40q that wait: %w", d, err)
	}
	if f.allCouncils = f.servedCouncils; len(f.waiting) > 0 {
		f.allCouncils = grasp.FamilyOf(listings).Councils()
	}
	return f, nil
}

// pullRequest reads a pull request or an update, with the contributed repositories that it names. An update that names no repository gets
// the repositories of the pull request that it updates.
func (r *eventReader) pullRequest(t Events, e *nostr.Event) (refs.PullRequest, error) {
	p, err := refs.ReadPullRequest(e)
	if err != nil || len(p.Repositories) > 0 || p.Updates == (nostr.ID{}) {
		p.Repositories = append(p.Repositories, r.contributions(e)...)
		return p, err
	}
	first, ok, err := t.Get(p.Updates)
	if err == nil && !ok {
		w, failed := t.Waiting(p.Updates)
		first, err = w.Event, failed
	}
	if first == nil || err != nil {
		return p, err
	}
	updated, err := refs.ReadPullRequest(first)
	if err != nil {
		return p, nil // the updated event is no pull request
	}
	return p.Of(updated), nil
}

// contributions returns the contributed repositories that an event names (GRASP-06).
func (r *eventReader) contributions(e *nostr.Event) []nip34.Address {
	if !r.contributors {
		return nil
	}
	return r.service.Contributions(e)
}

// announcementsOf returns the announcements at an address: the served one and the waiting one, as far as there are.
func announcementsOf(t snapshot, of nip34.Address) (out []*nip34.Announcement, err error) {
	address := of.String()
	e, ok, err := t.At(address)
	if err != nil {
		return nil, err
	}
	events := []*nostr.Event{}
	if ok {
		events = append(events, e)
	}
	stamp, ok, err := t.WaitingAt(address)
	if err != nil {
		return nil, err
	}
	if ok {
		w, err := t.Waiting(stamp.ID)
		if err != nil {
			return nil, err
		}
		if w.Event != nil {
			events = append(events, w.Event)
		}
	}
	for _, e := range events {
		if a, err := nip34.ParseAnnouncement(e); err == nil {
			out = append(out, a)
		}
	}
	return out, nil
}

// serves reports whether the announcement at an address names this service, so that people expect the git data here.
func serves(t snapshot, of nip34.Address) (bool, error) {
	e, ok, err := t.At(of.String())
	if err != nil || !ok {
		return false, err
	}
	a, err := nip34.ParseAnnouncement(e)
	return err == nil && t.serves(a), nil
}
