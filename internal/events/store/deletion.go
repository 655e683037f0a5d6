package store

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// deletions is the part of a batch that carries out deletions (NIP-09), goes on with deletions that name much, and takes marks back.
type deletions struct {
	*draft
	marks  *marks
	waits  *waits
	memory *memory
	stored *Batch

	used bool // the deletion that was looked at last has removed something
}

// applyDeletion performs a deletion (NIP-09) and leaves a mark for each thing it names, for what comes later. Only the
// author's own events are concerned; that is part of the mark of an id and of an address itself. Of a deletion that names many
// things a part is done at once, and Purge does the rest.
func (ds *deletions) applyDeletion(e *nostr.Event, seq layout.Seq) error {
	ds.used = false
	next, _, err := ds.deleteNamed(e, 0, ds.s.opt.DeleteAtOnce)
	if err != nil {
		return fmt.Errorf("deletion: %w", err)
	}
	if next == len(e.Tags) {
		return nil
	}
	ds.steps += 2 * index.SeekCost * (len(e.Tags) - next) // whoever brings the deletion pays for the work that Purge will have
	ds.unfinished++
	return ds.setUnfinished(e.PubKey, seq, layout.Unfinished{Next: next, Time: e.CreatedAt, ID: e.ID})
}

// deleteNamed goes through the tags of a deletion from next on, until it has carried out max of them. It returns the first tag that is left,
// and the cost in index rows.
func (ds *deletions) deleteNamed(e *nostr.Event, from, max int) (next, cost int, err error) {
	for next = from; next < len(e.Tags) && max > 0; next++ {
		t, rows := e.Tags[next], 0
		switch t.Name() {
		case "e":
			rows, err = ds.deleteID(e, t.Value())
		case "a":
			rows, err = ds.deleteAddress(e, t.Value())
		default:
			continue
		}
		if err != nil {
			return next, cost, err
		}
		max--
		cost += rows
	}
	return next, cost, nil
}

// What a name costs Purge in index rows: nameCost where nothing is removed, removalCost and a row for each tag where an event is.
const (
	nameCost    = 5
	removalCost = 10
)

func (ds *deletions) deleteID(del *nostr.Event, value string) (cost int, err error) {
	ds.steps += index.SeekCost
	id, err := nostr.ParseID(value)
	if err != nil {
		return 1, nil // names nothing
	}
	r := ds.reader()
	_, row, ok, err := r.Lookup(id)
	if err != nil {
		return 0, err
	}
	var target *nostr.Event
	if ok && layout.Deletable(row.Kind) {
		if target, err = r.Event(row.Seq); err != nil {
			return 0, err
		}
		if target.PubKey != del.PubKey {
			target = nil
		}
	}
	waits, err := ds.waits.waitsFor(id, del.PubKey)
	if err != nil {
		return 0, err
	}
	here := target != nil || waits != nil
	ds.used = ds.used || here
	if err := ds.marks.mark(layout.DeletedIDKey(id, del.PubKey), del, here); err != nil {
		return nameCost, err
	}
	if waits != nil {
		return removalCost + len(waits.Tags), ds.memory.writeRemembered(waits, policy.Deleted)
	}
	if target == nil {
		return nameCost, nil
	}
	return removalCost + len(target.Tags), ds.stored.takeOut(target, row, layout.ReasonDeleted)
}

func (ds *deletions) deleteAddress(del *nostr.Event, value string) (cost int, err error) {
	ds.steps += index.SeekCost
	h, ok := layout.OwnAddress(del.PubKey, value)
	if !ok {
		return 1, nil
	}
	r := ds.reader()
	until, ok, err := r.DeletedUntil(h)
	if err != nil || ok && until >= del.CreatedAt {
		return nameCost, err
	}
	s, ok, err := r.Slot(h)
	if err != nil {
		return 0, err
	}
	here := ok && s.State == layout.SlotLive && s.Time <= del.CreatedAt
	waits, err := ds.waits.waitsAt(h, del.CreatedAt)
	if err != nil {
		return 0, err
	}
	ds.used = ds.used || here || waits != nil
	if err := ds.marks.mark(layout.HashKey(layout.TableDeletedAddress, h), del, here || waits != nil); err != nil {
		return nameCost, err
	}
	if waits != nil {
		cost = removalCost
		if err := ds.memory.writeRemembered(waits, policy.Deleted); err != nil {
			return cost, err
		}
	}
	if !here {
		return max(cost, nameCost), nil
	}
	return cost + removalCost, ds.stored.Remove(s.ID, layout.ReasonDeleted)
}
