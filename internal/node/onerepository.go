package node

import (
	"context"
	"errors"
	"fmt"

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
	wanted, err := aboutRepository(ctx, v, of)
	if err != nil {
		return nil, "", fmt.Errorf("events of %s: %w", of, err)
	}
	for after := store.Seq(0); len(events) < len(wanted) && ctx.Err() == nil; {
		entries, _, err := s.Since(after, 1000)
		if err != nil || len(entries) == 0 {
			return events, DirectoryOf(data, row.Dir), err
		}
		for _, x := range entries {
			if after = x.Seq; x.Event != nil && wanted[x.Event.ID] {
				events = append(events, x.Event)
			}
		}
	}
	return events, DirectoryOf(data, row.Dir), ctx.Err()
}

// aboutRepository returns the ids of the events at the addresses of a repository and of those whom its owner invites, of what names these,
// and so on.
func aboutRepository(ctx context.Context, v *store.View, of nip34.Address) (map[nostr.ID]bool, error) {
	found := map[nostr.ID]bool{}
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
	for len(ids)+len(addresses) > 0 && len(found) < mostOfOne {
		var more []nostr.ID
		for row, err := range v.About(ctx, ids, addresses) {
			if err != nil {
				return nil, err
			}
			if !found[row.ID] {
				found[row.ID] = true
				more = append(more, row.ID)
			}
		}
		ids, addresses = more, nil
	}
	return found, nil
}
