package policy

import (
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// related accepts an event that names a served event or that a served event names, some kinds of events by authors of served events
// (GRASP-01), pull requests whose signer contributes through a repository of their own (GRASP-06), and reports of authors of served events.
func (r Rules) related(e *nostr.Event, v View) (Verdict, error) {
	for _, question := range []func(*nostr.Event, View) (bool, error){r.byAuthor, r.names, isNamed, r.contributed, reports} {
		if ok, err := question(e, v); ok || err != nil {
			return Verdict{}, err
		}
	}
	if r.fromAuthors(e.Kind) {
		return Verdict{Unrelated, "blocked: this relay has nothing by this author and nothing that this event names; " +
			"publish your repository, issue or patch here first, then this event again"}, nil
	}
	return Verdict{Unrelated, "blocked: this event names no repository, patch, pull request or issue that this relay has; " +
		"publish what it belongs to here first, then this event again"}, nil
}

// fromAuthors reports whether the author's events here alone can be a reason to take an event of this kind.
func (r Rules) fromAuthors(k nostr.Kind) bool {
	return k == nostr.KindDeletion || r.fromParticipants(k)
}

// fromParticipants reports whether the relay takes events of this kind, in which people speak of themselves, from any participant. Lists of
// relays (NIP-65) are of use only where graspd asks mailboxes (GRASP-03).
func (r Rules) fromParticipants(k nostr.Kind) bool {
	return k == nip34.KindGraspList || k == nostr.KindMetadata || k == nostr.KindRelayList && r.Mailboxes
}

// Partakes reports whether an event of this kind makes its author a participant. Profiles and lists of relays do not: the relay takes them
// from participants alone, and an author whose other events have gone must not stay a participant by them. Deletions, requests to vanish
// and reports, which are for the operator, do not make participants either.
func Partakes(k nostr.Kind) bool {
	return k != nostr.KindReport && !nip34.Is(k, nip34.Personal)
}

func (r Rules) byAuthor(e *nostr.Event, v View) (bool, error) {
	switch {
	case r.fromParticipants(e.Kind):
		return v.TakesPart(e.PubKey)
	case e.Kind == nostr.KindDeletion:
		return v.HasAuthor(e.PubKey)
	}
	return false, nil
}

func (r Rules) names(e *nostr.Event, v View) (bool, error) {
	self := e.Address()
	refs := nip34.References(e)
	here := r.carrier(v)
	for _, a := range refs.Addresses {
		if a.String() == self {
			continue
		}
		if ok, err := here.carries(a); ok || err != nil {
			return ok, err
		}
	}
	for _, id := range refs.IDs {
		if ok, err := v.Has(id); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// contributed reports whether e is a pull request whose signer pushes the commit to a repository of their own here (GRASP-06). A commit of
// SHA-256 is good enough, as it is for an announced repository: the event waits, and lapses.
func (r Rules) contributed(e *nostr.Event, _ View) (bool, error) {
	t, err := nip34.ParseTip(e)
	if !r.Contributors || err != nil {
		return false, nil
	}
	if !gitwire.NamesObject(t.Commit) {
		return false, nil
	}
	for _, of := range r.Service.Contributions(e) {
		for _, a := range t.Repositories {
			if a.D == of.D && !r.Lists.Bars(a) {
				return true, nil
			}
		}
	}
	return false, nil
}

// reports reports whether e is a report (NIP-56) about the author of a served event.
func reports(e *nostr.Event, v View) (bool, error) {
	if e.Kind != nostr.KindReport {
		return false, nil
	}
	of, ok := nip34.Accused(e)
	if !ok {
		return false, nil
	}
	return v.HasAuthor(of)
}

func isNamed(e *nostr.Event, v View) (bool, error) {
	address := e.Address()
	ok, err := v.Named(e.ID, address)
	if ok || err != nil || !e.Kind.IsReplaceable() {
		return ok, err
	}
	// Some clients write the address of a plain replaceable event without its last colon.
	return v.Named(e.ID, strings.TrimSuffix(address, ":"))
}
