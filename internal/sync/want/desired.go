package want

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds limits what announcements may make graspd do. A field that is zero has the default in brackets.
type Bounds struct {
	RelaysPerAnnouncement    int // valid relays taken from one announcement (20)
	RepositoriesPerAuthor    int // repositories followed per author, by d (100)
	RelaysPerAuthor          int // distinct relays per author (50)
	MaintainersPerRepository int // maintainers' announcements that join a repository (25)
}

func (b Bounds) withDefaults() Bounds {
	b.RelaysPerAnnouncement = cmp.Or(b.RelaysPerAnnouncement, 20)
	b.RepositoriesPerAuthor = cmp.Or(b.RepositoriesPerAuthor, 100)
	b.RelaysPerAuthor = cmp.Or(b.RelaysPerAuthor, 50)
	b.MaintainersPerRepository = cmp.Or(b.MaintainersPerRepository, 25)
	return b
}

// revisionInterval is the least time between two revisions of a repository, so that an owner who edits in a loop does not have every relay
// asked in a loop.
const revisionInterval = time.Minute

// Desired is the fold over accepted announcements and root events: which repositories graspd carries, which root events they have and which
// relays they name. One goroutine alone may use a Desired; others may read the Wants that it hands out.
type Desired struct {
	bounds    Bounds
	bootstrap []URL        // relays that count as named by every repository, without this service
	rules     policy.Rules // by which announcements are read
	names     *names
	byD       map[string][]*announced    // by identifier, each list sorted by author
	byID      map[nostr.ID]nip34.Address // of the announcements in byD
	byAuthor  map[nostr.PubKey][]*repo   // repositories of announcements that list this service or are archived, each list sorted by identifier
	addresses map[nip34.Address]*addressed
	roots     roots
	targets   map[URL]*target
	claims    claims
	nextOrd   uint32
	dead      int // entries of names for items that are gone
	leastDead int
	derived   int // how often join has worked out the maintainers of a repository

	touched  map[string]*touched // by identifier, what changed since the last derivation
	pending  map[*repo]struct{}  // repositories that changed since Changed was last asked
	delayed  map[*repo]struct{}  // repositories whose new revision waits for its minute
	affected map[URL]struct{}    // relays whose Want changed and was not handed out
	archived map[URL]struct{}    // relays that are targets because the operator archives what they carry
	stirred  map[rootNo]int64    // when people talked about root events, since Changed was last asked; seconds since 1970
	remade   int                 // pages of activity remade since all relays got a new Want
}

// NewDesired returns an empty fold, which reads of the rules the service, whether it is private and the lists. Bootstrap relays have a Want from the
// start, and count as named by every repository: where the service is private (GRASP-08), by none that one of its announcements calls private.
func NewDesired(rules policy.Rules, bootstrap []URL, b Bounds) *Desired {
	d := &Desired{
		rules: rules, bounds: b.withDefaults(), names: newNames(), leastDead: leastDead,
		byD:       make(map[string][]*announced),
		byID:      make(map[nostr.ID]nip34.Address),
		byAuthor:  make(map[nostr.PubKey][]*repo),
		addresses: make(map[nip34.Address]*addressed),
		roots:     newRoots(),
		targets:   make(map[URL]*target),
		claims:    newClaims(),
		touched:   make(map[string]*touched),
		pending:   make(map[*repo]struct{}),
		delayed:   make(map[*repo]struct{}),
		affected:  make(map[URL]struct{}),
		archived:  make(map[URL]struct{}),
		stirred:   make(map[rootNo]int64),
	}
	for _, u := range bootstrap {
		if !rules.Service.Is(u) && !slices.Contains(d.bootstrap, u) {
			d.bootstrap = append(d.bootstrap, u)
			d.target(u).bootstrap = true
			d.affected[u] = struct{}{}
		}
	}
	d.fillFrom(rules.Lists.Archive.Hosts)
	return d
}

// Kinds returns the kinds of events that the fold reads.
func Kinds() []nostr.Kind {
	return append(nip34.Kinds(nip34.Root), nip34.KindRepository)
}

// Add takes one accepted event. Where the fold does not read the kind, Add counts only which root events the event names.
func (d *Desired) Add(e *nostr.Event) {
	d.stir(e)
	switch {
	case e.Kind == nip34.KindRepository:
		d.unclaim(e.ID)
		if a, err := nip34.ParseAnnouncement(e); err == nil {
			d.announce(d.kept(a))
		}
	case nip34.Is(e.Kind, nip34.Root):
		d.addRoot(e)
	}
}

// Remove takes back the event with that id, which Add or Await took, if it still counts.
func (d *Desired) Remove(id nostr.ID) {
	d.unclaim(id)
	if a, ok := d.byID[id]; ok {
		d.retract(a, id)
		return
	}
	if no := d.rootOf(id); no != 0 {
		d.removeRoot(no, id)
	}
}

// Due returns the time, on the clock of Changed, at which Changed may hand out a revision that it has put off; false when there is none.
func (d *Desired) Due() (time.Duration, bool) {
	due, ok := time.Duration(0), false
	for r := range d.delayed {
		if at := r.revised + revisionInterval; !ok || at < due {
			due, ok = at, true
		}
	}
	return due, ok
}

// Changed derives what changed, and yields the new Want of every relay whose last one is out of date. A relay that nothing names any more
// gets an empty Want. Once in a while Changed yields Wants that ask for the same as the former ones, to give back the memory of those. now
// is a monotonic reading, and spaces the revisions of a repository.
func (d *Desired) Changed(now time.Duration) iter.Seq2[URL, *Want] {
	d.derive(now)
	d.rouse()
	urls := slices.Sorted(maps.Keys(d.affected))
	return func(yield func(URL, *Want) bool) {
		for _, u := range urls {
			delete(d.affected, u)
			if !yield(u, d.wantOf(u)) {
				return
			}
		}
	}
}

func (d *Desired) wantOf(u URL) *Want {
	t := d.target(u)
	if len(t.repos) == 0 && !t.bootstrap {
		delete(d.targets, u)
		return &Want{names: d.names}
	}
	w := &Want{Bootstrap: t.bootstrap, Owners: len(t.owners), Claims: t.claims, names: d.names}
	t.fill(w)
	return w
}
