package index

import (
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// DeletedUntil returns the time up to which the versions of an address are deleted, by a mark that is not over.
func (r Reader) DeletedUntil(address layout.Hash) (int64, bool, error) {
	return r.deletion(layout.HashKey(layout.TableDeletedAddress, address))
}

// deletedID returns the time of the author's newest deletion that names the id.
func (r Reader) deletedID(id nostr.ID, author nostr.PubKey) (int64, bool, error) {
	return r.deletion(layout.DeletedIDKey(id, author))
}

func (r Reader) deletion(key []byte) (int64, bool, error) {
	m, ok, err := r.MarkAt(key)
	return m.Time, ok && !m.Over(r.Now), err
}

// MarkCount returns how many marks an author's deletions have left.
func (r Reader) MarkCount(author nostr.PubKey) (layout.MarkCount, error) {
	v, ok, err := Get(r.From, layout.MarkCountKey(author))
	if err != nil || !ok {
		return layout.MarkCount{}, err
	}
	return layout.ParseMarkCount(v)
}

// MarkAt returns the mark under a key, also one that is over and still there.
func (r Reader) MarkAt(key []byte) (m layout.DeletionMark, ok bool, err error) {
	v, ok, err := r.read(key)
	if err != nil || !ok {
		return m, false, err
	}
	m, err = layout.ParseDeletionMark(key, v)
	return m, err == nil, err
}

// CountUnfinished counts the deletions that are not done yet, for a store that opens.
func CountUnfinished(r pebble.Reader) (n int, err error) {
	err = EachKey(r, layout.TableUnfinished, func(_, _ []byte) error { n++; return nil })
	return n, err
}

// isBeingDeleted reports whether an unfinished deletion of the author names the event, or is as new as it and names its address.
func (r Reader) isBeingDeleted(e *nostr.Event) (_ bool, err error) {
	if r.Unfinished == 0 {
		return false, nil
	}
	prefix := layout.IDKey(layout.TableUnfinished, nostr.ID(e.PubKey))
	it, err := r.From.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: layout.PrefixEnd(prefix)})
	if err != nil {
		return false, err
	}
	defer CloseAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		u, _, err := layout.ParseUnfinished(it.Key(), it.Value())
		if err != nil {
			return false, err
		}
		if named, err := namedBy(r, u, e); named || err != nil {
			return named, err
		}
	}
	return false, it.Error()
}

// namedBy reports whether an unfinished deletion names the event. It asks the index rows of the deletion.
func namedBy(r Reader, u layout.Unfinished, e *nostr.Event) (bool, error) {
	named, err := hasTag(r, u, 'e', e.ID.String())
	address := e.Address()
	if named || err != nil || address == "" || e.CreatedAt > u.Time {
		return named, err
	}
	if named, err = hasTag(r, u, 'a', address); named || err != nil || !e.Kind.IsReplaceable() {
		return named, err
	}
	return hasTag(r, u, 'a', strings.TrimSuffix(address, ":")) // some clients write addresses without the last colon
}

func hasTag(r Reader, u layout.Unfinished, name byte, value string) (bool, error) {
	v, ok, err := Get(r.From, layout.AppendOrder(layout.TagPrefix(name, layout.HashOf(value)), u.Time, u.ID))
	if err != nil || !ok {
		return false, err
	}
	at, err := layout.ParseRow(v)
	return err == nil && at.Cases.Meets(layout.LowerCase), err
}
