package moderator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Prefixes of the names of rows. What follows is a number, and the key of an author.
const (
	casePrefix    = ingest.CaseRows
	journalPrefix = "journal/"
	allowedPrefix = "allowed/"
)

func rowName(prefix string, n uint64) string { return fmt.Sprintf("%s%016x", prefix, n) }

// Decisions are what the operator has decided. Read them before there is a door: the rules of the door depend on them.
type Decisions struct {
	cases   map[uint64]*moderation.Case
	by      map[moderation.Subject]uint64       // cases by the subjects that they bar
	allowed map[nostr.PubKey]moderation.Allowed // by decisions
	last    uint64                              // number of the last entry of the journal
}

// Read reads the decisions in a store.
func Read(s *store.Store) (*Decisions, error) {
	d := &Decisions{cases: map[uint64]*moderation.Case{}, by: map[moderation.Subject]uint64{}, allowed: map[nostr.PubKey]moderation.Allowed{}}
	v := s.View()
	defer v.Close()
	err := v.EachRow(casePrefix, "", func(_ string, row []byte) (bool, error) {
		x, err := moderation.Decode[moderation.Case](row)
		if err == nil {
			d.put(&x)
		}
		return true, err
	})
	if err == nil {
		err = d.readAllowed(v)
	}
	if err == nil {
		err = v.EachRow(journalPrefix, "", func(_ string, row []byte) (bool, error) {
			x, err := moderation.Decode[moderation.Entry](row)
			d.last = max(d.last, x.N)
			return true, err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("decisions of the operator: %w", err)
	}
	return d, nil
}

func (d *Decisions) readAllowed(v *store.View) error {
	return v.EachRow(allowedPrefix, "", func(name string, row []byte) (bool, error) {
		x, err := moderation.Decode[moderation.Allowed](row)
		if err == nil && name != allowedPrefix+x.PubKey.String() {
			err = errOfAnother
		}
		d.allowed[x.PubKey] = x
		return true, err
	})
}

// With returns lists of the settings with what decisions bar and allow beside them.
func (d *Decisions) With(l policy.Lists) policy.Lists {
	return d.withAllowed(l.With(moderation.Lists(slices.Collect(maps.Keys(d.barred())))))
}

// withAllowed returns the lists with the authors whom decisions allow. Where the settings have no allow list everybody is allowed, and
// decisions make none.
func (d *Decisions) withAllowed(l policy.Lists) policy.Lists {
	if len(l.AllowPubKeys) == 0 || len(d.allowed) == 0 {
		return l
	}
	more := make(policy.PubKeys, len(d.allowed))
	for pk := range d.allowed {
		more[pk] = struct{}{}
	}
	return l.With(policy.Lists{AllowPubKeys: more})
}

// barred returns the subjects that decisions bar, and their cases; not those of lists of the settings.
func (d *Decisions) barred() map[moderation.Subject]uint64 {
	out := maps.Clone(d.by)
	maps.DeleteFunc(out, func(_ moderation.Subject, n uint64) bool { return d.cases[n].List })
	return out
}

// put keeps a case.
func (d *Decisions) put(x *moderation.Case) {
	d.cases[x.N] = x
	d.last = max(d.last, x.N)
	if x.Barred() {
		d.by[x.Subject] = x.N
	} else if d.by[x.Subject] == x.N {
		delete(d.by, x.Subject)
	}
}
