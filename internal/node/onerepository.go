package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// DirectoryOf returns the directory of a repository's git data in a data directory; "" where it has none.
func DirectoryOf(data string, d refdb.Dir) string {
	if d.IsZero() {
		return ""
	}
	return gitrepo.ID(d).In(GitIn(data))
}

// mostOfOne bounds the events of one repository that ReadRepository returns.
const mostOfOne = 1_000_000

// ReadRepository reads what the data directory data, which no node has open, has of one repository: all events about it, in the order in
// which they were stored, and the directory of its git data. It changes nothing. It fails with store.ErrInUse where a node has it open.
func ReadRepository(ctx context.Context, data string, o store.Options, of nip34.Address) (events []*nostr.Event, dir string, err error) {
	o.ReadOnly = true
	s, err := OpenStore(data, o)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	v := s.View()
	defer v.Close()
	row, err := refdb.Read(v, of)
	if err != nil {
		return nil, "", err
	}
	if events, err = aboutRepository(ctx, v, of); err != nil {
		return nil, "", fmt.Errorf("events of %s: %w", of, err)
	}
	return events, DirectoryOf(data, row.Dir), nil
}

// aboutRepository returns the events at the addresses of a repository and of those whom its owner invites, what names these, and so on, in the
// order in which they were stored.
func aboutRepository(ctx context.Context, v *store.View, of nip34.Address) (events []*nostr.Event, err error) {
	at := map[nostr.ID]store.Seq{} // of what was found
	state := of
	state.Kind = nip34.KindState
	addresses := []string{of.String(), state.String()}
	if e, ok, err := v.At(of.String()); err != nil {
		return nil, err
	} else if ok {
		if a, err := nip34.ParseAnnouncement(e); err == nil {
			for _, pk := range a.Maintainers {
				of.PubKey, state.PubKey = pk, pk
				addresses = append(addresses, of.String(), state.String())
			}
		}
	}
	var ids []nostr.ID
	for len(ids)+len(addresses) > 0 && len(at) < mostOfOne {
		var more []nostr.ID
		for row, err := range v.About(ctx, ids, addresses) {
			if err != nil {
				return nil, err
			}
			if _, known := at[row.ID]; known {
				continue
			}
			e, err := row.Event()
			if err != nil {
				return nil, err
			}
			at[row.ID] = row.Seq
			events, more = append(events, e), append(more, row.ID)
		}
		ids, addresses = more, nil
	}
	slices.SortFunc(events, func(a, b *nostr.Event) int { return cmp.Compare(at[a.ID], at[b.ID]) })
	return events, nil
}
