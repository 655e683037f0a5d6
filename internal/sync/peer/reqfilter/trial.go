package reqfilter

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// Trial returns filters with all the values that are asked for items, and
// with kinds, which some relays demand before they look at anything else.
func Trial(w *want.Want, items []want.Item) []nostr.Filter {
	b := Bounds{Values: 1 << 20}
	var addresses, ds []string
	seen := make(map[string]struct{})
	for _, it := range items {
		r := w.Repository(it)
		for _, a := range r.Addresses {
			if firstTime(seen, a) {
				addresses = append(addresses, a)
			}
		}
		if r.D != "" && firstTime(seen, r.D) {
			ds = append(ds, r.D)
		}
	}
	return AppendTags(AppendTags(nil, announcing(), 'a', addresses, b), announcing(), 'd', ds, b)
}

// Trials splits items into what one trial each bears.
func Trials(w *want.Want, items []want.Item, b Bounds) (out [][]want.Item) {
	for len(items) > 0 {
		n, values, bytes := 0, 0, 0
		for ; n < len(items); n++ {
			r := w.Repository(items[n])
			values, bytes = values+len(r.Addresses), bytes+r.AddressBytes+r.DBytes
			if n > 0 && (values > b.Values || bytes > b.Bytes) {
				break
			}
		}
		out = append(out, slices.Clone(items[:n]))
		items = items[n:]
	}
	return out
}

// Harmless returns a filter whose value no relay has a reason to refuse.
func Harmless(self nostr.PubKey) nostr.Filter {
	at := nip34.Address{Kind: nip34.KindRepository, PubKey: self, D: "graspd"}
	return nostr.Filter{Kinds: announcing(), Tags: []nostr.TagFilter{{Name: 'a', Values: []string{at.String()}}}}
}
