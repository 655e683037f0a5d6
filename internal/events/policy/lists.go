package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Lists are the authors, repositories and events that the operator takes or does not take. Where something is both allowed and denied, it
// is denied. A nil list allows everybody, or denies nobody. Nobody changes Lists after handing them over.
type Lists struct {
	AllowPubKeys, DenyPubKeys           PubKeys
	AllowRepositories, DenyRepositories Repositories
	DenyEvents                          Events
	Archive                             Archive
}

// Events is a set of single events.
type Events map[nostr.ID]struct{}

// PubKeys is a set of authors.
type PubKeys map[nostr.PubKey]struct{}

// Repositories is a set of repositories: single ones, and all repositories of some authors.
type Repositories struct {
	Addresses map[nip34.Address]struct{} // of kind 30617
	Owners    PubKeys
}

// Len returns the number of entries.
func (r Repositories) Len() int { return len(r.Addresses) + len(r.Owners) }

func (r Repositories) has(a nip34.Address) bool {
	_, one := r.Addresses[a]
	_, all := r.Owners[a.PubKey]
	return one || all
}

// takes reports whether the lists take events by this author at all. Whatever the lists say, authors may delete their events here, and
// vanish; see barred.
func (l Lists) takes(pk nostr.PubKey) bool {
	if _, denied := l.DenyPubKeys[pk]; denied {
		return false
	}
	_, allowed := l.AllowPubKeys[pk]
	return allowed || len(l.AllowPubKeys) == 0
}

// Bars reports whether the lists take nothing of the repository at that address, neither for itself nor as a part of another. Nor does
// graspd follow such a repository at other relays. The address of a state stands for its repository.
func (l Lists) Bars(a nip34.Address) bool {
	a.Kind = nip34.KindRepository
	return !l.takes(a.PubKey) || l.DenyRepositories.has(a)
}

// Admits reports whether the announcement at that address may make a repository of its own. An announcement that the lists neither admit
// nor bar may be part of a repository by invitation.
func (l Lists) Admits(a nip34.Address) bool {
	return !l.Bars(a) && (l.AllowRepositories.Len() == 0 || l.AllowRepositories.has(a))
}

// Loosens reports whether l may take something that old refuses.
func (l Lists) Loosens(old Lists) bool {
	return l.Archive.loosens(old.Archive) || lacks(l.DenyPubKeys, old.DenyPubKeys) || widens(l.AllowPubKeys, old.AllowPubKeys) ||
		lacks(l.DenyRepositories.Owners, old.DenyRepositories.Owners) ||
		lacks(l.DenyRepositories.Addresses, old.DenyRepositories.Addresses) || lacks(l.DenyEvents, old.DenyEvents) ||
		old.AllowRepositories.Len() > 0 && (l.AllowRepositories.Len() == 0 ||
			lacks(old.AllowRepositories.Owners, l.AllowRepositories.Owners) ||
			lacks(old.AllowRepositories.Addresses, l.AllowRepositories.Addresses))
}

// widens reports whether the list a of allowed authors allows somebody whom the list b does not allow.
func widens(a, b PubKeys) bool { return len(b) > 0 && (len(a) == 0 || lacks(b, a)) }

// lacks reports whether a lacks something of b.
func lacks[K comparable](a, b map[K]struct{}) bool {
	for k := range b {
		if _, ok := a[k]; !ok {
			return true
		}
	}
	return false
}

// none reports whether the lists, but for the archive, are empty.
func (l Lists) none() bool {
	return len(l.AllowPubKeys)+len(l.DenyPubKeys)+l.AllowRepositories.Len()+l.DenyRepositories.Len()+len(l.DenyEvents) == 0
}

// With returns the entries of l and more together. It changes neither.
func (l Lists) With(more Lists) Lists {
	return Lists{
		AllowPubKeys: union(l.AllowPubKeys, more.AllowPubKeys), DenyPubKeys: union(l.DenyPubKeys, more.DenyPubKeys),
		AllowRepositories: l.AllowRepositories.with(more.AllowRepositories), DenyRepositories: l.DenyRepositories.with(more.DenyRepositories),
		DenyEvents: union(l.DenyEvents, more.DenyEvents), Archive: l.Archive.with(more.Archive),
	}
}

func (r Repositories) with(more Repositories) Repositories {
	return Repositories{union(r.Addresses, more.Addresses), union(r.Owners, more.Owners)}
}

func union[M ~map[K]struct{}, K comparable](a, b M) M {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return b
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// fingerprint names the set of entries, in whatever order they were added; "" for none. The archive has a fingerprint of its own.
func (l Lists) fingerprint() string {
	if l.none() {
		return ""
	}
	h := sha256.New()
	for _, keys := range []PubKeys{
		l.AllowPubKeys, l.DenyPubKeys, l.AllowRepositories.Owners, l.DenyRepositories.Owners,
	} {
		fmt.Fprintf(h, "%d\n", len(keys))
		for _, pk := range slices.SortedFunc(maps.Keys(keys), nostr.PubKey.Compare) {
			h.Write(pk[:])
		}
	}
	for _, r := range []Repositories{l.AllowRepositories, l.DenyRepositories} {
		fmt.Fprintf(h, "%d\n", len(r.Addresses))
		var lines []string
		for a := range r.Addresses {
			lines = append(lines, fmt.Sprintf("%d:%s\n", len(a.D), a))
		}
		slices.Sort(lines)
		for _, s := range lines {
			h.Write([]byte(s))
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(l.DenyEvents), nostr.ID.Compare) {
		fmt.Fprintf(h, "event %s\n", id)
	}
	return hex.EncodeToString(h.Sum(nil))
}
