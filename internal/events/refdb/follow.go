package refdb

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// followersAtOnce is how many repositories Followers returns. The rest follows with the next change of one of the repositories.
const followersAtOnce = 32

// Followers returns the hosted repositories that the state which rules this one would rule too, if they had the state's objects.
func (r *Reader) Followers(of nip34.Address) (from Repository, others []Repository, err error) {
	from, err = Read(r, of)
	if err != nil || !from.Refs.Ruled || from.Dir.IsZero() {
		return from, nil, err
	}
	f, err := r.family(r, of.D)
	if err != nil {
		return from, nil, fmt.Errorf("who follows %s: %w", of, err)
	}
	if s, err := f.state(from.Refs.Author, false); err != nil || s == nil || s.ID != from.Refs.ID {
		return from, nil, err // the state is gone, and will rule no other repository
	}
	for _, a := range f.served {
		members := f.servedCouncils.Of(a.Author)
		if a.Author == of.PubKey || !members.Has(from.Refs.Author) || len(others) == followersAtOnce {
			continue
		}
		to, err := Read(r, f.repository(a.Author))
		if err != nil {
			return from, nil, err
		}
		p := to.Refs
		if p.Ruled && (p.ID == from.Refs.ID || members.Has(p.Author) && !from.Refs.Newer(p.Stamp)) {
			continue
		}
		if serves, err := serves(r, to.Of); err != nil {
			return from, nil, err
		} else if serves {
			others = append(others, to)
		}
	}
	return from, others, nil
}

// Kept returns the objects that a repository keeps beside those to which its refs lead: the objects named by served and waiting states of
// those who decide for the repository, as these states may still come to rule.
func (r *Reader) Kept(of nip34.Address) (x Repository, ids []gitwire.ObjectID, err error) {
	x, err = Read(r, of)
	if err != nil || x.Dir.IsZero() || grasp.IsContributed(of) {
		return x, nil, err
	}
	f, err := r.family(r, of.D)
	if err != nil {
		return x, nil, err
	}
	for _, pk := range f.allCouncils.Of(of.PubKey).Members {
		for _, waiting := range []bool{false, true} {
			s, err := f.state(pk, waiting)
			if err != nil {
				return x, nil, err
			}
			if s != nil {
				ids = append(ids, objectsOf(s)...)
			}
		}
	}
	return x, ids, nil
}
