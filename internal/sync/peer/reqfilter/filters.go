package reqfilter

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// announcementFilters returns filters for layer 1.
func announcementFilters(live bool) []nostr.Filter {
	kinds := []nostr.Kind{nip34.KindRepository}
	if live {
		kinds = append(kinds, nip34.KindState)
	}
	return []nostr.Filter{{Kinds: kinds}}
}

// repositoryFilters returns filters for layer 2: what names the addresses, announcements
// and states by their d, which no address tag reaches, and deletions of states.
// An empty d is no value to ask for: some relays do not index it and others
// refuse all of the REQ. Those announcements and states are asked by author.
func repositoryFilters(repos []*want.Repository, b Bounds) []nostr.Filter {
	var addresses, states, ds []string
	var nameless []nostr.PubKey
	seen, seenD := make(map[string]struct{}), make(map[string]struct{})
	for _, r := range repos {
		if r.D == "" {
			nameless = append(nameless, authors(r)...)
			seenD[""] = struct{}{}
		}
		for _, a := range r.Addresses {
			if !r.Claimed && firstTime(seen, a) {
				addresses, states = append(addresses, a), append(states, stateAddress(a))
			}
		}
		if firstTime(seenD, r.D) {
			ds = append(ds, r.D)
		}
	}
	var out []nostr.Filter
	for _, key := range []byte{'a', 'A', 'q'} {
		out = AppendTags(out, nil, key, addresses, b)
	}
	out = AppendTags(out, announcing(), 'd', ds, b)
	for part := range slices.Chunk(nameless, b.Values) {
		out = append(out, nostr.Filter{Kinds: announcing(), Authors: part})
	}
	return AppendTags(out, []nostr.Kind{nostr.KindDeletion}, 'a', states, b)
}

// announcing are the kinds that belong to a repository by their d.
func announcing() []nostr.Kind { return nip34.Kinds(nip34.Hosted) }

// authors returns the owners of the addresses of r.
func authors(r *want.Repository) []nostr.PubKey {
	var out []nostr.PubKey
	for _, s := range r.Addresses {
		if a, err := nip34.ParseAddress(s); err == nil {
			out = append(out, a.PubKey)
		}
	}
	return out
}

func firstTime(seen map[string]struct{}, v string) bool {
	_, dup := seen[v]
	seen[v] = struct{}{}
	return !dup
}

// stateAddress returns the address of the state that belongs to a repository's address.
func stateAddress(repository string) string {
	const from, to = "30617", "30618"
	return to + repository[len(from):]
}

// rootFilters returns filters for layer 3: what names the root events.
func rootFilters(ids []string, b Bounds) []nostr.Filter {
	var out []nostr.Filter
	for _, key := range []byte{'e', 'E', 'q'} {
		out = AppendTags(out, nil, key, ids, b)
	}
	return out
}

// AppendTags splits vals over as many filters as needed. A filter has at
// least one value.
func AppendTags(out []nostr.Filter, kinds []nostr.Kind, key byte, vals []string, b Bounds) []nostr.Filter {
	for len(vals) > 0 {
		n, bytes := 0, 0
		for n < len(vals) && n < b.Values {
			if b.Bytes > 0 {
				bytes += want.ValueBytes(vals[n])
			}
			if n > 0 && bytes > b.Bytes {
				break
			}
			n++
		}
		out = append(out, nostr.Filter{Kinds: kinds, Tags: []nostr.TagFilter{{Name: key, Values: vals[:n:n]}}})
		vals = vals[n:]
	}
	return out
}

// Of returns filters for items of one layer.
func Of(w *want.Want, l want.Layer, items []want.Item, live bool, b Bounds) []nostr.Filter {
	switch l {
	case want.LayerAnnouncements:
		return announcementFilters(live)
	case want.LayerRepositories:
		repos := make([]*want.Repository, len(items))
		for i, it := range items {
			repos[i] = w.Repository(it)
		}
		return repositoryFilters(repos, b)
	}
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = w.Root(it).String()
	}
	return rootFilters(ids, b)
}
