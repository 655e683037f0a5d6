package ingest

import (
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
	"github.com/graspd/graspd/internal/store"
)

// PutAside takes a stored event out and keeps it under a case, and with it the announcements that nobody invites any more without
// it. It gives what it has put there: nothing where the event is not stored.
func (t *Turn) PutAside(id nostr.ID, of uint64) ([]*nostr.Event, error) {
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

// Return stores an event again that was put aside, if the rules of now have nothing against it, and reports whether it is settled:
// it is stored, or will never be again. It does not wait for git data, as it was served before.
func (t *Turn) Return(x store.Entry) (settled bool, err error) {
	v, err := t.w.judge(x.Event, policy.Author, "")
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
