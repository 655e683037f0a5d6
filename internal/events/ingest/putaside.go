package ingest

import (
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// CaseRows begins the names of the rows of the operator's decisions. Store.Changes names such a row whenever something was taken away or put
// back by a decision.
const CaseRows = "case/"

// PutAside takes a stored event out of the served ones and keeps it under the case of, for restoring. It also takes out the announcements
// that nobody invites without that event. It returns all events that it took out: none where the event is not stored.
func (t *Exclusive) PutAside(id nostr.ID, of uint64) ([]*nostr.Event, error) {
	var out []*nostr.Event
	for ids := []nostr.ID{id}; len(ids) > 0; {
		e, err := t.Batch.PutAside(ids[0], of)
		if err != nil {
			return nil, err
		}
		ids = ids[1:]
		if e != nil {
			out = append(out, e)
		}
		for _, d := range t.LostRepositories() {
			t.w.known.changed(d)
			unwelcome, err := t.w.rules.Unwelcome(d, t.w.view())
			if err != nil {
				return nil, err
			}
			ids = append(ids, unwelcome...)
		}
	}
	return out, nil
}

// Return stores an event that was put aside again, if today's rules allow that. The event does not wait for git data, as it was served
// before. Return reports whether the event is done with: it is stored, or never will be. Otherwise it stays aside.
func (t *Exclusive) Return(x store.Entry) (done bool, err error) {
	v, err := t.w.verdictOn(x.Event, policy.Author, "")
	if err != nil {
		return false, err
	}
	switch v.Outcome {
	case policy.Accept, policy.Wait:
		return true, t.w.accept(x.Event, x.Source)
	case policy.Duplicate, policy.Superseded, policy.Deleted, policy.Expired, policy.Vanished:
		return true, t.w.apply(x.Event, x.Source, "", v.Outcome)
	}
	return false, nil
}
