package gitcheck

import (
	"context"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of the pull requests of one repository that unshown looks at. tipsKnown is how many, the newest first.
const (
	tipsKnown   = 2 * refs.MaxPulls
	rootsAtOnce = 200 // pull requests whose updates it asks for at a time
)

// unshown returns the stored pull requests that name an announced repository and have no ref in its row, though its directory has their tips.
// A relay that runs remembers only of some pull requests that they wait for their tips.
func (c Config) unshown(ctx context.Context, v *store.View, r refdb.Repository) ([]refs.PullRequest, error) {
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
			if len(p.Repositories) == 0 { // else the update names the repository itself, or another one
				take(p.Of(roots[p.Updates.String()]))
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("pull requests of %s: %w", r.Of, err)
	}
	return c.here(r, all), nil
}

// shown returns the pull requests that have a ref in a row.
func shown(r refdb.Repository) map[nostr.ID]bool {
	has := make(map[nostr.ID]bool, len(r.Refs.PullRequests))
	for _, x := range r.Refs.PullRequests {
		has[x.ID] = true
	}
	return has
}

// here returns the pull requests whose tips the directory has. It ignores an index that it cannot read: look finds that.
func (c Config) here(r refdb.Repository, all []refs.PullRequest) []refs.PullRequest {
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

// eachPull calls do with the newest stored pull requests and updates that have one of the values of a tag, at most tipsKnown.
func eachPull(ctx context.Context, v *store.View, tag byte, values []string, do func(refs.PullRequest)) error {
	n := 0
	for e, err := range v.Events(ctx, nostr.Filter{
		Kinds: []nostr.Kind{nip34.KindPullRequest, nip34.KindPullRequestUpdate}, Tags: []nostr.TagFilter{{Name: tag, Values: values}},
	}) {
		if err != nil {
			return err
		}
		if n++; n > tipsKnown {
			return nil
		}
		if p, err := refs.ReadPullRequest(e); err == nil {
			do(p)
		}
	}
	return nil
}

// shows adds refs of pull requests to a row, as far as it has room for them, and returns the row and how many it has got.
func shows(r refdb.Repository, some []refs.PullRequest) (refdb.Repository, int64) {
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
