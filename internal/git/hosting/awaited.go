package hosting

import (
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Awaited is a repository whose announcement another relay brought, and waits.
type Awaited struct {
	Of    nip34.Address
	Until int64 // unix time at which the wait is over
}

// Awaited returns all such repositories, in the order in which they came. Its work grows with everything that waits.
func (h *Host) Awaited() (list []Awaited, err error) {
	if h.cfg.Store.Waits() == 0 {
		return nil, nil
	}
	v := h.cfg.Store.View()
	defer v.Close()
	err = v.EachWait(func(w store.Waiting) error {
		if w.Event.Kind == nip34.KindRepository && w.Source != store.Direct {
			of := nip34.Address{Kind: nip34.KindRepository, PubKey: w.Event.PubKey, D: w.Event.Tags.D()}
			list = append(list, Awaited{of, w.Until})
		}
		return nil
	})
	return list, err
}
