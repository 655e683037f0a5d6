package store

import (
	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
)

// Get is the stored event with that id, unless it has expired.
func (b *Batch) Get(id nostr.ID) (*nostr.Event, bool, error) { return b.reader().Get(id) }

// At is the event that is served at an address ("kind:pubkey:d"), if one is.
func (b *Batch) At(address string) (*nostr.Event, bool, error) { return b.reader().At(address) }

// At is as Batch.At, on this state.
func (v *View) At(address string) (*nostr.Event, bool, error) { return v.Reader().At(address) }

// WaitingAt is as Batch.WaitingAt, on this state.
func (v *View) WaitingAt(address string) (nostr.Stamp, bool, error) {
	return v.Reader().WaitSlot(layout.HashOf(address))
}
