package refdb

import (
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// gitData knows which git data the repositories here have.
type gitData struct{ Objects }

// complete reports whether one repository for which the state's author decides has all objects that the state names.
func (g gitData) complete(f *family, s *refs.State) (bool, error) {
	if s.Flaw != "" || len(s.Refs) == 0 {
		return s.Flaw == "", nil
	}
	dirs, err := f.homes(s.Author)
	if err != nil {
		return false, err
	}
	return g.completeIn(f.t, s, dirs...)
}

// completeStates returns the served states, complete here, of everybody who maintains some repository together with that author.
func (g gitData) completeStates(f *family, author nostr.PubKey) ([]refs.State, error) {
	var out []refs.State
	for _, pk := range f.together(author) {
		s, err := f.state(pk, false)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		if ok, err := g.complete(f, s); err != nil {
			return nil, err
		} else if ok {
			out = append(out, *s)
		}
	}
	return out, nil
}

// completeIn reports whether one of the directories has all objects that a state names.
func (g gitData) completeIn(rows Rows, s *refs.State, dirs ...Dir) (bool, error) {
	if s.Flaw != "" {
		return false, nil
	}
	missing, err := g.least(rows, dirs, objectsOf(s))
	return len(missing) == 0, err
}

// least returns the ids that are missing in the directory that lacks the fewest of them; all ids if there is no directory.
func (g gitData) least(rows Rows, dirs []Dir, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	best := ids
	for _, dir := range dirs {
		if len(best) == 0 {
			break
		}
		missing, err := g.Missing(rows, dir, ids)
		if err != nil {
			return nil, err
		}
		if len(missing) < len(best) {
			best = missing
		}
	}
	return best, nil
}

// tipsIn divides those of some pull requests that name a repository: it has the tips of here, and lacks the tips of lack.
func (g gitData) tipsIn(rows Rows, of nip34.Address, dir Dir, some []refs.PullRequest) (here, lack []refs.PullRequest, err error) {
	for _, p := range some {
		if !p.Names(of) || p.Tip.IsZero() {
			continue
		}
		missing := []gitwire.ObjectID{p.Tip}
		if !dir.IsZero() {
			if missing, err = g.Missing(rows, dir, missing); err != nil {
				return nil, nil, err
			}
		}
		if len(missing) == 0 {
			here = append(here, p)
		} else {
			lack = append(lack, p)
		}
	}
	return here, lack, nil
}

// tipIsHere reports whether a repository that the pull request names has the tip.
func (g gitData) tipIsHere(t snapshot, p refs.PullRequest) (bool, error) {
	for _, of := range p.Repositories {
		dir, err := dirOf(t, of)
		if err != nil {
			return false, err
		}
		if dir.IsZero() {
			continue
		}
		missing, err := g.Missing(t, dir, []gitwire.ObjectID{p.Tip})
		if err != nil || len(missing) == 0 {
			return err == nil, err
		}
	}
	return false, nil
}
