package repopage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/serve/front"
)

const shortIDsTime = 5 * time.Second // for looking up those of one page

// shortIDs has what the texts of a page name that may be the beginning of a commit's id. A page whose texts name any is made twice: git is asked about
// all of them between, at most gitread.MostNamed, and those beyond stay text.
type shortIDs struct {
	known map[string]string // the URLs of the commits that were looked up; "" for what names none
	asked []string          // what is to be looked up
	over  bool              // nothing more is looked up
	seen  int               // how often a text had one
	open  int               // how often a text had one that is still to be looked up
}

// url returns the URL of the commit that a text names; "" where it is not known.
func (s *shortIDs) url(name string) string {
	s.seen++
	url, ok := s.known[name]
	if ok || s.over {
		return url
	}
	asks := slices.Contains(s.asked, name)
	if !asks && len(s.asked) < gitread.MostNamed {
		s.asked = append(s.asked, name)
		asks = true
	}
	if asks {
		s.open++
	}
	return ""
}

// lookUp asks git which commits the texts of a page name, while the place of the page is somebody else's. Where git does not answer they stay text. It
// fails where the client has left.
func (k *known) lookUp(ctx context.Context, p *Pages, from front.Client) error {
	s := &k.b.short
	s.over = true
	visit, err := visitOf(k.repo, from)
	if err != nil || p.Code == nil || k.repo.Refs == nil {
		return nil
	}
	var tips []gitwire.ObjectID
	for _, r := range k.repo.Refs.List {
		tips = append(tips, r.Tip())
	}
	return p.apart(ctx, k, from, func() error {
		limited, cancel := context.WithTimeout(ctx, shortIDsTime)
		defer cancel()
		found, err := p.Code.Named(limited, visit, s.asked, tips)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !errors.Is(err, gitread.ErrCostly) && !errors.Is(err, gitproc.ErrBusy):
			p.Logger.Warn("commits that texts name cannot be looked up", "repository", k.of.String(), "error", err)
		}
		s.known = map[string]string{}
		for name, id := range found {
			s.known[name] = k.path + "/commit/" + id.String()
		}
		return nil
	})
}
