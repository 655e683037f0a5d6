package wanttest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

// Contents lists what a Want asks for, one line per repository: the addresses
// and the ids of its root events, without the item numbers.
func Contents(w *want.Want) []string {
	if w == nil {
		return nil
	}
	out := []string{fmt.Sprintf("bootstrap %v, owners %d", w.Bootstrap, w.Owners)}
	var lines []string
	for _, r := range w.Repos {
		repo := w.Repository(r.Item)
		var ids []string
		for _, id := range RootIDs(w, r) {
			ids = append(ids, id.String()[:16])
		}
		slices.Sort(ids)
		lines = append(lines, fmt.Sprintf("%s of %x: %s: %s", repo.D, r.Owner[:2], strings.Join(repo.Addresses, ","), strings.Join(ids, " ")))
	}
	slices.Sort(lines)
	return append(out, lines...)
}

// RootIDs returns the root events of r.
func RootIDs(w *want.Want, r *want.RepoWant) (ids []nostr.ID) {
	r.EachRoot(func(it want.Item) { ids = append(ids, w.Root(it)) })
	return ids
}

// Ranks tells how the root events of w rank.
func Ranks(w *want.Want) map[nostr.ID]int64 {
	out := make(map[nostr.ID]int64)
	for _, it := range Items(w) {
		if w.Layer(it) == want.LayerRoots {
			out[w.Root(it)] = w.Rank(it)
		}
	}
	return out
}

// Items returns all items of w, each once.
func Items(w *want.Want) (out []want.Item) {
	if w == nil {
		return nil
	}
	seen := make(map[want.Item]bool)
	w.Each(func(it want.Item) {
		if !seen[it] {
			seen[it] = true
			out = append(out, it)
		}
	})
	return out
}

// Allocated is how many bytes are in use.
func Allocated() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
