package index

import (
	"slices"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// keyRange is a part of an index: the rows whose keys begin with prefix and, of a tag, that have one of the cases.
type keyRange struct {
	prefix []byte
	cases  layout.Cases
}

func tagSpan(name byte, h layout.Hash) keyRange {
	_, c := layout.Shared(name)
	return keyRange{layout.TagPrefix(name, h), c}
}

// bothCases returns the range of a tag's value, in both cases of a name that shares rows.
func bothCases(name byte, h layout.Hash) keyRange { return keyRange{layout.TagPrefix(name, h), 0} }

func (s keyRange) flagged() keyRange {
	return keyRange{layout.Flagged(slices.Clone(s.prefix)), s.cases}
}

// naming returns the index ranges of events that name an id or, where it is not "", an address.
func naming(id nostr.ID, address string) []keyRange {
	h := layout.HashOf(id.String())
	spans := []keyRange{bothCases('e', h), tagSpan('q', h)}
	if address != "" {
		h = layout.HashOf(address)
		spans = append(spans, bothCases('a', h), tagSpan('q', h))
	}
	return spans
}

// NamingPrefixes returns the prefixes of the rows of events that name an id or, where it is not "", an address.
func NamingPrefixes(id nostr.ID, address string) (all [][]byte) {
	for _, s := range naming(id, address) {
		all = append(all, s.prefix)
	}
	return all
}
