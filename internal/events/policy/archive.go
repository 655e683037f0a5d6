package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Archive says which repositories this service carries though their announcements do not list it (GRASP-05): all; the repositories of some
// owners; single ones; those with some identifiers; and those whose announcements list one of some relays. The zero Archive takes none.
type Archive struct {
	All         bool
	Chosen      Repositories
	Identifiers map[string]struct{}
	Hosts       map[grasp.RelayURL]struct{}
}

// relaysLooked is how many relays of an announcement takes looks at: as many as graspd follows by default (want.Bounds).
const relaysLooked = 20

var errArchiveEntry = errors.New("want all, an npub, npub/identifier, an identifier, or the wss:// URL of a relay")

// Add adds an entry of the operator's: "all", an author, a repository as Repositories.AddRepository takes it, the URL of a relay, or else
// an identifier.
func (a *Archive) Add(entry string) error {
	lower := strings.ToLower(entry)
	switch {
	case lower == "all":
		a.All = true
		return nil
	case strings.HasPrefix(lower, "wss://"), strings.HasPrefix(lower, "ws://"):
		u, err := grasp.NormalizeRelay(entry)
		if err != nil {
			return fmt.Errorf("%w (%w)", errArchiveEntry, err)
		}
		put(&a.Hosts, u)
		return nil
	case strings.Contains(lower, "://"):
		if err := a.Chosen.AddRepository(entry); err != nil {
			return fmt.Errorf("%w (%w)", errArchiveEntry, err)
		}
		return nil
	case slices.ContainsFunc([]string{"npub1", "nprofile1", "nsec1", "naddr1", "nostr:", "30617:"}, func(p string) bool { return strings.HasPrefix(lower, p) }):
		return a.Chosen.AddRepository(entry)
	}
	if _, err := nostr.ParsePubKey(entry); err == nil {
		return a.Chosen.AddRepository(entry)
	}
	if len(entry) > nip34.MaxIdentifier {
		return fmt.Errorf("%w (the identifier is longer than %d bytes)", errArchiveEntry, nip34.MaxIdentifier)
	}
	put(&a.Identifiers, entry)
	return nil
}

func put[M ~map[K]struct{}, K comparable](m *M, k K) {
	if *m == nil {
		*m = M{}
	}
	(*m)[k] = struct{}{}
}

// Len returns the number of entries.
func (a Archive) Len() int {
	n := a.Chosen.Len() + len(a.Identifiers) + len(a.Hosts)
	if a.All {
		n++
	}
	return n
}

// takes reports whether a takes a repository whose announcement stands at that address and lists these relays.
func (a Archive) takes(at nip34.Address, relays []grasp.RelayURL) bool {
	_, named := a.Identifiers[at.D]
	return a.All || named || a.Chosen.has(at) || len(a.Hosts) > 0 && slices.ContainsFunc(relays, func(u grasp.RelayURL) bool {
		_, ok := a.Hosts[u]
		return ok
	})
}

// loosens reports whether a may take something that old did not take.
func (a Archive) loosens(old Archive) bool {
	return !old.All && (a.All || lacks(old.Chosen.Owners, a.Chosen.Owners) || lacks(old.Chosen.Addresses, a.Chosen.Addresses) ||
		lacks(old.Identifiers, a.Identifiers) || lacks(old.Hosts, a.Hosts))
}

func (a Archive) with(more Archive) Archive {
	return Archive{
		All: a.All || more.All, Chosen: a.Chosen.with(more.Chosen), Identifiers: union(a.Identifiers, more.Identifiers), Hosts: union(a.Hosts, more.Hosts),
	}
}

// fingerprint names the set of entries, in whatever order they were added; "" for none.
func (a Archive) fingerprint() string {
	if a.Len() == 0 {
		return ""
	}
	lines := []string{fmt.Sprint("all ", a.All)}
	for pk := range a.Chosen.Owners {
		lines = append(lines, "owner "+pk.String())
	}
	for x := range a.Chosen.Addresses {
		lines = append(lines, fmt.Sprintf("repository %q", x.String()))
	}
	for d := range a.Identifiers {
		lines = append(lines, fmt.Sprintf("identifier %q", d))
	}
	for _, u := range slices.Collect(maps.Keys(a.Hosts)) {
		lines = append(lines, "host "+string(u))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// Serves reports whether the announcement brings its repository here by itself: it lists this service, or is archived.
func (r Rules) Serves(a *nip34.Announcement) bool {
	return r.Service.Lists(a) || !r.seals(a) && r.Lists.Archive.takes(a.Address, r.relays(a))
}

// seals reports whether r keeps a repository out of the archive, because its announcement says that it is private (GRASP-08) and everybody
// reads the archive.
func (r Rules) seals(a *nip34.Announcement) bool { return a.Private && !r.Private }

// relays returns the relays of an announcement by which Archive may take it.
func (r Rules) relays(a *nip34.Announcement) []grasp.RelayURL {
	if len(r.Lists.Archive.Hosts) == 0 {
		return nil
	}
	return grasp.Relays(a, relaysLooked)
}
