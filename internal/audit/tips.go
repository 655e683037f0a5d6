package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/gitrepo"
	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/ledger"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/refs"
	"github.com/graspd/graspd/internal/store"
)

// Bounds of what is looked at of the pull requests of one repository: the newest, as of refs.
const (
	tipsKnown   = 2 * refs.MaxPulls
	rootsAtOnce = 200 // whose updates are asked for at a time
)

// unshown are the pull requests that are served, name a repository that is announced, and have no ref in its row though their tips are in
// its directory: a relay that runs remembers of some only that they wait for their tips.
func (c Config) unshown(ctx context.Context, v *store.View, r ledger.Repository) ([]refs.PullRequest, error) {
	if ok, err := v.HasAddress(r.Of.String()); err != nil || !ok || r.Dir.IsZero() {
		return nil, err
	}
	has := shown(r)
	var all []refs.PullRequest
	take := func(p refs.PullRequest) {
		if !has[p.ID] && !p.Tip.IsZero() && p.Names(r.Of) {
			all = append(all, p)
		}
	}
	roots := map[string]refs.PullRequest{}
	var ids []string
	err := eachPull(ctx, v, 'a', []string{r.Of.String()}, func(p refs.PullRequest) {
		if take(p); p.Updates == (nostr.ID{}) {
			roots[p.ID.String()], ids = p, append(ids, p.ID.String())
		}
	})
	for some := range slices.Chunk(ids, rootsAtOnce) {
		if err != nil {
			break
		}
		err = eachPull(ctx, v, 'E', some, func(p refs.PullRequest) {
			if len(p.Repositories) == 0 { // else it names the repository itself, or another one
				take(p.Of(roots[p.Updates.String()]))
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("pull requests of %s: %w", r.Of, err)
	}
	return c.here(r, all), nil
}

// shown are the pull requests that have a ref in a row.
func shown(r ledger.Repository) map[nostr.ID]bool {
	has := make(map[nostr.ID]bool, len(r.Refs.PullRequests))
	for _, x := range r.Refs.PullRequests {
		has[x.ID] = true
	}
	return has
}

// here are those whose tips a directory has. An index that cannot be read is found by who looks at the files.
func (c Config) here(r ledger.Repository, all []refs.PullRequest) []refs.PullRequest {
	tips := make([]gitwire.ObjectID, len(all))
	for i, p := range all {
		tips[i] = p.Tip
	}
	missing, err := c.Disk.Missing(gitrepo.ID(r.Dir), tips)
	if err != nil {
		return nil
	}
	lacks := make(map[gitwire.ObjectID]bool, len(missing))
	for _, id := range missing {
		lacks[id] = true
	}
	return slices.DeleteFunc(all, func(p refs.PullRequest) bool { return lacks[p.Tip] })
}

// eachPull calls do with the newest pull requests and updates that are stored and have one of these values of a tag.
func eachPull(ctx context.Context, v *store.View, tag byte, values []string, do func(refs.PullRequest)) error {
	n := 0
	for row, err := range v.Query(ctx, nostr.Filter{
		Kinds: []nostr.Kind{nip34.KindPullRequest, nip34.KindPullRequestUpdate}, Tags: []nostr.TagFilter{{Name: tag, Values: values}},
	}) {
		if err != nil {
			return err
		}
		if n++; n > tipsKnown {
			return nil
		}
		e, err := row.Event()
		if err != nil {
			return err
		}
		if p, err := refs.ReadPullRequest(e); err == nil {
			do(p)
		}
	}
	return nil
}

// shows is a row with refs of such pull requests, and how many it has got: none where there is no room for them.
func shows(r ledger.Repository, some []refs.PullRequest) (ledger.Repository, int64) {
	before := shown(r)
	next := r.Refs.Tips(r.Of, some)
	n := int64(0)
	for _, x := range next.PullRequests {
		if !before[x.ID] {
			n++
		}
	}
	if n > 0 {
		r.Refs = next
	}
	return r, n
}
