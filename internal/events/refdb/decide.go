package refdb

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Concerns reports whether events of that kind can wait for git data, or end the wait of others.
func Concerns(k nostr.Kind) bool {
	switch k {
	case nip34.KindRepository, nip34.KindState, nip34.KindPullRequest, nip34.KindPullRequestUpdate:
		return true
	}
	return false
}

// Decide says whether an accepted event waits for git data.
func (l *Ledger) Decide(t Turn, e *nostr.Event) (refs.Decision, error) {
	about, err := l.about(t, e)
	if err != nil {
		return refs.Decision{}, fmt.Errorf("git data of event %s: %w", e.ID, err)
	}
	return refs.Decide(e, about), nil
}

func (l *Ledger) about(t Turn, e *nostr.Event) (about refs.About, err error) {
	about.Hosting = true
	w, err := t.Waiting(e.ID)
	if err != nil {
		return about, err
	}
	about.Again = w.Event != nil
	var here []gitwire.ObjectID
	switch e.Kind {
	case nip34.KindRepository:
		err = l.aboutAnnouncement(t, e, &about)
	case nip34.KindState:
		here, err = l.hereOfState(t, e)
	case nip34.KindPullRequest, nip34.KindPullRequestUpdate:
		here, err = l.hereOfPullRequest(t, e)
	}
	has := make(map[gitwire.ObjectID]bool, len(here))
	for _, id := range here {
		has[id] = true
	}
	about.Has = func(id gitwire.ObjectID) bool { return has[id] }
	return about, err
}

func (l *Ledger) aboutAnnouncement(t Turn, e *nostr.Event, about *refs.About) error {
	a, err := nip34.ParseAnnouncement(e)
	if err != nil {
		return nil // the policy has refused it
	}
	about.Lists = t.Serves(a)
	if about.Replaces, err = t.HasAddress(e.Address()); err != nil || about.Replaces || !about.Lists {
		return err
	}
	f, err := l.events.family(t, a.Address.D)
	if err != nil {
		return err
	}
	own, err := refs.ReadAnnouncement(e)
	if err != nil {
		return err
	}
	about.Announcements = append(f.served[:len(f.served):len(f.served)], f.waiting...)
	about.States, err = l.data.completeStates(f.with(own), e.PubKey)
	return err
}

// hereOfState returns the objects of a state that are here. One repository counts: of those for which the state's author decides, the one
// with the most of the objects.
func (l *Ledger) hereOfState(t Turn, e *nostr.Event) ([]gitwire.ObjectID, error) {
	s, err := refs.ReadState(e)
	if err != nil || s.Flaw != "" || len(s.Refs) == 0 {
		return nil, nil // Decide says what is wrong with the event
	}
	f, err := l.events.family(t, s.D)
	if err != nil {
		return nil, err
	}
	dirs, err := f.homes(s.Author)
	if err != nil {
		return nil, err
	}
	ids := objectsOf(&s)
	missing, err := l.data.least(t, dirs, ids)
	if err != nil {
		return nil, err
	}
	return without(ids, missing), nil
}

// without returns the ids that are not among missing.
func without(ids, missing []gitwire.ObjectID) []gitwire.ObjectID {
	lacks := make(map[gitwire.ObjectID]bool, len(missing))
	for _, id := range missing {
		lacks[id] = true
	}
	var out []gitwire.ObjectID
	for _, id := range ids {
		if !lacks[id] {
			out = append(out, id)
		}
	}
	return out
}

// hereOfPullRequest returns the tip of a pull request, if a repository that it names has the tip, and the pull request that it updates is
// served.
func (l *Ledger) hereOfPullRequest(t Turn, e *nostr.Event) ([]gitwire.ObjectID, error) {
	p, err := l.events.pullRequest(t, e)
	if err != nil || p.Tip.IsZero() {
		return nil, err
	}
	if p.Through != (nostr.ID{}) {
		if ok, err := t.Has(p.Through); err != nil || !ok {
			return nil, err
		}
	}
	ok, err := l.data.tipIsHere(t, p)
	if !ok || err != nil {
		return nil, err
	}
	return []gitwire.ObjectID{p.Tip}, nil
}
