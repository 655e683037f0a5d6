package refs

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of the refs of pull requests that one repository has, as anybody may publish pull requests. Beyond a bound the authors with most
// refs lose their oldest, down to one number for all. The events are still served, and maintenance drops the objects in time.
const (
	MaxPulls       = 10_000 // in one repository
	MaxAuthorPulls = 1000   // of them by one author
)

// Pull is the ref of a pull request that is served, at the tip that the pull request names.
type Pull struct {
	nostr.Stamp // of the event
	Author      nostr.PubKey
	Tip         gitwire.ObjectID
}

// PullOf reads a ref of a pull request, which has the event's id and the tip alone. PullOf fails for any other ref.
func PullOf(r Ref) (Pull, error) {
	id, err := tipEvent(r.Name)
	return Pull{Stamp: nostr.Stamp{ID: id}, Tip: r.ID}, err
}

// Name returns the name of the ref.
func (p Pull) Name() string { return TipName(p.ID) }

// Pulls are refs of pull requests, in the order of the events' ids, which is also that of the refs' names. Nobody changes a Pulls, so any
// number of goroutines may share one.
type Pulls []Pull

// Get returns the object that the ref of that name names, the zero id if there is no such ref.
func (s Pulls) Get(name string) gitwire.ObjectID {
	id, err := tipEvent(name)
	if err != nil {
		return gitwire.ObjectID{}
	}
	i, ok := slices.BinarySearchFunc(s, id, func(p Pull, id nostr.ID) int { return bytes.Compare(p.ID[:], id[:]) })
	if !ok {
		return gitwire.ObjectID{}
	}
	return s[i].Tip
}

// Equal reports whether s and other have the same refs at the same objects.
func (s Pulls) Equal(other Pulls) bool { return slices.Equal(s, other) }

// Set returns names and tips alone.
func (s Pulls) Set() Set {
	if len(s) == 0 {
		return nil
	}
	out := make(Set, len(s))
	for i, p := range s {
		out[i] = Ref{p.Name(), p.Tip}
	}
	return out
}

// Newest returns the n newest, in the order of Pulls.
func (s Pulls) Newest(n int) Pulls {
	if len(s) <= n {
		return s
	}
	out := slices.Clone(s)
	slices.SortFunc(out, newerPull)
	out = out[:n:n]
	slices.SortFunc(out, byEvent)
	return out
}

// newerPull orders the newest first; within one second the lower id comes first.
func newerPull(a, b Pull) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), byEvent(a, b))
}

func byEvent(a, b Pull) int { return bytes.Compare(a.ID[:], b.ID[:]) }

// with returns s after changes, which are in the order of Pulls, within the bounds. A change without a tip deletes.
func (s Pulls) with(changes Pulls) Pulls {
	if len(changes) == 0 {
		return s
	}
	out := make(Pulls, 0, len(s)+len(changes))
	for _, c := range changes {
		for len(s) > 0 && byEvent(s[0], c) < 0 {
			out = append(out, s[0])
			s = s[1:]
		}
		if len(s) > 0 && s[0].ID == c.ID {
			s = s[1:]
		}
		if !c.Tip.IsZero() {
			out = append(out, c)
		}
	}
	return append(out, s...).bounded()
}

// bounded returns the refs of s for which the bounds have room.
func (s Pulls) bounded() Pulls {
	if len(s) <= MaxAuthorPulls {
		return s
	}
	of := map[nostr.PubKey]int{}
	for _, p := range s {
		of[p.Author]++
	}
	each := perAuthor(of)
	if !surpass(of, each) && len(s) <= MaxPulls {
		return s
	}
	newest := slices.Clone(s)
	slices.SortFunc(newest, newerPull)
	clear(of)
	out := newest[:0]
	for _, p := range newest {
		if of[p.Author]++; of[p.Author] <= each && len(out) < MaxPulls {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, byEvent)
	return slices.Clip(out)
}

// perAuthor returns how many refs each author may have, if each has as many as of says: as many as MaxPulls has room for, at least one and
// at most MaxAuthorPulls.
func perAuthor(of map[nostr.PubKey]int) int {
	each, most := 1, MaxAuthorPulls
	for each < most {
		try, sum := (each+most+1)/2, 0
		for _, n := range of {
			sum += min(n, try)
		}
		if sum <= MaxPulls {
			each = try
		} else {
			most = try - 1
		}
	}
	return each
}

func surpass(of map[nostr.PubKey]int, each int) bool {
	for _, n := range of {
		if n > each {
			return true
		}
	}
	return false
}
