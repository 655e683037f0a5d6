package index

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Vanished returns the author's newest request to vanish, if one is stored.
func (r Reader) Vanished(author nostr.PubKey) (layout.Vanishing, bool, error) {
	v, ok, err := r.read(layout.VanishedKey(author))
	if err != nil || !ok {
		return layout.Vanishing{}, false, err
	}
	req, err := layout.ParseVanishing(v)
	return req, err == nil, err
}

// VanishedFor returns whose request makes an event leave or stay away, and whether there is one. A request does not concern itself.
func (r Reader) VanishedFor(e *nostr.Event) (nostr.PubKey, bool, error) {
	req, ok, err := r.Vanished(e.PubKey)
	if err != nil || ok && e.CreatedAt <= req.Until && e.ID != req.ID {
		return e.PubKey, err == nil, err
	}
	if e.Kind != nostr.KindGiftWrap {
		return nostr.PubKey{}, false, nil
	}
	for _, t := range e.Tags {
		if t.Name() != "p" {
			continue
		}
		p, err := nostr.ParsePubKey(t.Value())
		if err != nil {
			continue
		}
		req, ok, err := r.Vanished(p)
		if err != nil || ok && e.CreatedAt <= req.Until {
			return p, err == nil, err
		}
	}
	return nostr.PubKey{}, false, nil
}

// Purge returns the removal of an author's events for a reason, if it is under way.
func (r Reader) Purge(why layout.Reason, author nostr.PubKey) (layout.Purge, bool, error) {
	key := layout.NewPurge(why, author, 0).Key()
	v, ok, err := Get(r.From, key)
	if err != nil || !ok {
		return layout.Purge{}, false, err
	}
	p, err := layout.ParsePurge(key, v)
	return p, err == nil, err
}

// FirstPurge returns the first, in the order of keys, of the removals under way.
func FirstPurge(r pebble.Reader) (p layout.Purge, ok bool, err error) {
	it, err := TableIter(r, layout.TablePurge)
	if err != nil {
		return p, false, err
	}
	defer CloseAfter(it.Close, &err)
	if !it.First() {
		return p, false, it.Error()
	}
	p, err = layout.ParsePurge(it.Key(), it.Value())
	return p, err == nil, err
}
