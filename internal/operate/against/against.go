// Package against compares what this relay has with what another one has: events and refs of the repositories that are announced for this
// relay. It says what is only there, what only here, and why. Gather reads one side, Compare judges both. Read Report first.
package against

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Event is what a comparison knows of an event.
type Event struct {
	ID        nostr.ID
	Kind      nostr.Kind
	CreatedAt int64
	Address   string // at which it stands; "" where versions do not replace each other
	By        nostr.PubKey
	Title     string        // what its author calls it, on one line; "" where it has no name
	Of        nip34.Address // the repository that it belongs to
}

// Refs is what a relay shows of the git data of one repository.
type Refs struct {
	List   map[string]string // ids of objects, by the name of the ref
	Signed bool              // a state that is served says what the branches and tags are; known of this relay alone
	Unread string            // why they could not be read; "" where they were
}

// Holdings is what one relay has.
type Holdings struct {
	Announced map[nip34.Address]bool
	Events    map[nostr.ID]Event
	Refs      map[nip34.Address]Refs
}

// Report is what a comparison has found, the document of graspd status --against --json.
type Report struct {
	Here         string       `json:"here"`     // URL of this relay
	There        string       `json:"there"`    // URL of the other one
	Missing      int          `json:"missing"`  // events and refs that are only there, and should be here
	Left         int          `json:"left"`     // that are only there, by the rules of this relay or by those who signed
	Beside       int          `json:"beside"`   // that are only here
	Unread       int          `json:"unread"`   // repositories whose git data there could not be read
	Unproven     bool         `json:"unproven"` // the other relay may have events that it did not send
	Repositories []Repository `json:"repositories"`
}

// Repository compares one repository.
type Repository struct {
	Address   string `json:"address"`
	Name      string `json:"name"`
	Here      bool   `json:"here"` // its announcement is served here
	There     bool   `json:"there"`
	Kinds     []Kind `json:"events"`
	Refs      Count  `json:"refs"`          // branches and tags
	Pulls     Count  `json:"pull_requests"` // refs of pull requests
	Unread    string `json:"unread"`        // why the git data there could not be read; "" where it was
	OnlyThere []Only `json:"only_there"`
	OnlyHere  []Only `json:"only_here"`
}

// Count is how many of something there are on both sides.
type Count struct {
	Here  int `json:"here"`
	There int `json:"there"`
}

// Kind counts the events of one kind.
type Kind struct {
	Kind nostr.Kind `json:"kind"`
	Name string     `json:"name"`
	Count
}

// Only is an event or a ref that one side has alone.
type Only struct {
	What      string     `json:"what"` // id of an event, or name of a ref
	Kind      nostr.Kind `json:"kind,omitempty"`
	CreatedAt int64      `json:"created_at,omitempty"`
	By        string     `json:"by,omitempty"`     // npub of its author
	Title     string     `json:"title,omitempty"`  // of an event, what its author calls it
	Object    string     `json:"object,omitempty"` // of a ref
	Why       string     `json:"why"`
	Missing   bool       `json:"missing"` // it should be here
}

// OnlyThere returns the ids of events that only the other relay has.
func OnlyThere(here, there Holdings) (ids []nostr.ID) {
	for id := range there.Events {
		if _, ok := here.Events[id]; !ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// Compare compares two relays. known has what this relay knows of the events that are only there.
func Compare(here, there Holdings, known map[nostr.ID]store.Knowledge) Report {
	all := map[nip34.Address]*Repository{}
	at := func(of nip34.Address) *Repository {
		if all[of] == nil {
			all[of] = &Repository{Address: of.String(), Name: of.D, Here: here.Announced[of], There: there.Announced[of], Kinds: []Kind{}, OnlyThere: []Only{}, OnlyHere: []Only{}}
		}
		return all[of]
	}
	for _, side := range []Holdings{here, there} {
		for of := range side.Announced {
			at(of)
		}
	}
	compareEvents(here, there, known, at)
	for of, x := range all {
		compareRefs(x, here.Refs[of], there.Refs[of], func(id nostr.ID) bool { _, ok := here.Events[id]; return ok })
	}
	return total(all)
}

// total sums up the repositories, in the order of their addresses.
func total(all map[nip34.Address]*Repository) (r Report) {
	r.Repositories = []Repository{}
	for _, of := range slices.SortedFunc(maps.Keys(all), nip34.Address.Compare) {
		x := all[of]
		byTime := func(a, b Only) int { return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.What, b.What)) }
		slices.SortFunc(x.OnlyThere, byTime)
		slices.SortFunc(x.OnlyHere, byTime)
		slices.SortFunc(x.Kinds, func(a, b Kind) int { return cmp.Compare(a.Kind, b.Kind) })
		for _, o := range x.OnlyThere {
			if o.Missing {
				r.Missing++
			} else {
				r.Left++
			}
		}
		r.Beside += len(x.OnlyHere)
		if x.Unread != "" {
			r.Unread++
		}
		r.Repositories = append(r.Repositories, *x)
	}
	return r
}

func compareEvents(here, there Holdings, known map[nostr.ID]store.Knowledge, at func(nip34.Address) *Repository) {
	newest := [2]map[string]nostr.Stamp{newestOf(here), newestOf(there)}
	for side, h := range []Holdings{here, there} {
		for id, e := range h.Events {
			x := at(e.Of)
			k := x.kind(e.Kind)
			if side == 0 {
				k.Here++
			} else {
				k.There++
			}
			other := [2]Holdings{there, here}[side]
			if _, both := other.Events[id]; both {
				continue
			}
			o := Only{What: id.String(), Kind: e.Kind, CreatedAt: e.CreatedAt, By: nip19.Npub(e.By), Title: e.Title}
			newer := e.Address != "" && newest[1-side][e.Address].Newer(nostr.Stamp{CreatedAt: e.CreatedAt, ID: id})
			if side == 1 {
				o.Why, o.Missing = whyOnlyThere(known[id], newer)
				x.OnlyThere = append(x.OnlyThere, o)
				continue
			}
			o.Why = "the other relay does not have it"
			if newer {
				o.Why = "the other relay has a newer version"
			}
			x.OnlyHere = append(x.OnlyHere, o)
		}
	}
}

// newestOf returns the newest version at each address.
func newestOf(h Holdings) map[string]nostr.Stamp {
	out := map[string]nostr.Stamp{}
	for id, e := range h.Events {
		s := nostr.Stamp{CreatedAt: e.CreatedAt, ID: id}
		if old, ok := out[e.Address]; e.Address != "" && (!ok || s.Newer(old)) {
			out[e.Address] = s
		}
	}
	return out
}

func (x *Repository) kind(k nostr.Kind) *Kind {
	i := slices.IndexFunc(x.Kinds, func(c Kind) bool { return c.Kind == k })
	if i < 0 {
		i = len(x.Kinds)
		x.Kinds = append(x.Kinds, Kind{Kind: k, Name: nip34.NameOf(k)})
	}
	return &x.Kinds[i]
}

// whyOnlyThere says why an event is not served here, and whether it should be. newer says that a newer version is here.
func whyOnlyThere(k store.Knowledge, newer bool) (why string, missing bool) {
	switch {
	case newer:
		return "a newer version is here", false
	case k.State == store.Stored:
		return "it has come here meanwhile, or belongs to something else here", false
	case k.State == store.InWaiting:
		return "it waits here for its git data", true
	case k.State == store.Remembered && k.Why == policy.Lapsed:
		return "its git data did not come in time", true
	case k.State == store.Remembered:
		return "graspd does not keep it: " + reasons[k.Why], false
	}
	return "it has not come here", true
}

// reasons says why graspd does not keep what it has seen.
var reasons = map[policy.Outcome]string{
	policy.Withdraw: "its repository no longer lists this relay", policy.Refuse: "it is against the rules of this relay", policy.Unlisted: "it does not list this relay",
	policy.Unrelated: "it names nothing that is here", policy.NoMaintainer: "its author does not maintain the repository", policy.Superseded: "a newer version came",
	policy.Deleted: "its author deleted it", policy.Expired: "its time is over", policy.Vanished: "its author vanished", policy.Unused: "it is a deletion of nothing that is here",
}

const pulls = "refs/nostr/"

// compareRefs compares the refs of one repository. served reports whether an event is served here.
func compareRefs(x *Repository, here, there Refs, served func(nostr.ID) bool) {
	if x.Unread = there.Unread; x.Unread != "" {
		return
	}
	for side, r := range []Refs{here, there} {
		for name, object := range r.List {
			count := &x.Refs
			if strings.HasPrefix(name, pulls) {
				count = &x.Pulls
			}
			o := Only{What: name, Object: object}
			if side == 0 {
				count.Here++
				if other := there.List[name]; other != object {
					o.Why = "the other relay does not show it"
					if other != "" {
						o.Why = "the other relay has " + other
					}
					x.OnlyHere = append(x.OnlyHere, o)
				}
				continue
			}
			if count.There++; here.List[name] != object {
				o.Why, o.Missing = whyRefThere(name, here, served)
				x.OnlyThere = append(x.OnlyThere, o)
			}
		}
	}
}

// whyRefThere says why a ref is not here as it is there, and whether it should be.
func whyRefThere(name string, here Refs, served func(nostr.ID) bool) (why string, missing bool) {
	id, is := strings.CutPrefix(name, pulls)
	switch {
	case is:
		if id, err := nostr.ParseID(id); err == nil && served(id) {
			return "its commit is not here", true
		}
		return "its event is not served here", true
	case here.List[name] != "":
		return "the newest state that is served here names " + here.List[name], false
	case here.Signed:
		return "the newest state that is served here does not name it", false
	}
	return "no state of the repository is served here", true
}
