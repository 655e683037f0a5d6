package repopage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

// Bounds of a review.
const (
	mostCommits   = 100
	mostConflicts = 20
	reviewTime    = 15 * time.Second // for all that git says of one
)

// review has what git says of a version of a pull request.
type review struct {
	Into      string // the branch that it is for; "" where there is none yet
	Commits   []*oneLine
	More      bool // there are more commits
	Diff      *diffShown
	Moved     *moved // what Diff leaves out; nil where it is all
	Merged    bool   // all of it is in the branch
	Clean     bool   // it merges without conflict
	Conflicts []string
	Others    bool   // there are more conflicts
	Lacks     string // why a part is missing: "busy" or "costly"; "" where none is
}

// apart does something that waits for git, while the place among the pages that are being made is somebody else's.
func (p *Pages) apart(ctx context.Context, k *known, from front.Client, do func() error) error {
	k.end()
	k.end = func() {}
	if err := do(); err != nil {
		return err
	}
	end, err := p.place(ctx, k.of, from)
	if err != nil {
		return err
	}
	k.view = p.Store.View()
	k.end = func() { k.view.Close(); end() }
	return nil
}

// visitOf says who reads which repository. It fails for one without data.
func visitOf(r Repository, from front.Client) (gitread.Visit, error) {
	id, err := gitrepo.ParseID(r.Dir)
	return gitread.Visit{Repo: id, For: gitrepo.For{Party: partyOf(from)}, Charge: from.Visitor.Charge}, err
}

// review asks git about a version of a pull request, or how it differs from an earlier one, unless since has number 0. What takes too long is
// left out. It fails where the client has left, and returns nil where the commits are not here.
func (p *Pages) review(ctx context.Context, k *known, from front.Client, root *nostr.Event, chosen, since version) (*review, error) {
	visit, err := visitOf(k.repo, from)
	if err != nil {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	r := &review{}
	err = r.read(limited, p.Code, visit, k, root, chosen, since)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, gitread.ErrNothing):
		return nil, nil
	case errors.Is(err, gitproc.ErrBusy), limited.Err() != nil:
		r.Lacks = "busy"
	default:
		if r.Lacks = "costly"; !errors.Is(err, gitread.ErrCostly) {
			p.Logger.Warn("a pull request cannot be read", "repository", k.of.String(), "event", root.ID.String(), "error", err)
		}
	}
	return r, nil
}

// read fills r as far as git answers.
func (r *review) read(ctx context.Context, code *gitread.Reader, v gitread.Visit, k *known, root *nostr.Event, chosen, since version) error {
	branch, target := targetOf(k.repo.Refs, root)
	r.Into = branch
	base := gitwire.ObjectID{}
	var err error
	if branch != "" {
		if base, err = code.MergeBase(ctx, v, target, chosen.Tip); err != nil {
			return err
		}
		if r.Merged = base == chosen.Tip; r.Merged { // the branch says no longer where it began, and so the author does
			if base, err = r.began(ctx, code, v, chosen); err != nil || base.IsZero() {
				return err
			}
		}
	}
	all, err := code.Commits(ctx, v, chosen.Tip, base, mostCommits+1)
	if err != nil {
		return err
	}
	r.More = len(all) > mostCommits
	for _, c := range all[:min(len(all), mostCommits)] {
		r.Commits = append(r.Commits, lineOf(k.path, c))
	}
	var d *gitread.Diff
	if since.Number > 0 {
		d, err = r.between(ctx, code, v, k, target, base, chosen, since)
	} else {
		d, err = code.Diff(ctx, v, base, chosen.Tip)
	}
	if err != nil {
		return err
	}
	r.Diff = diffOf(d, "")
	if branch == "" || r.Merged {
		return nil
	}
	m, err := code.Merge(ctx, v, target, chosen.Tip)
	if err != nil {
		return err
	}
	r.Clean, r.Others = m.Clean, m.Cut || len(m.Conflicts) > mostConflicts
	for _, path := range m.Conflicts[:min(len(m.Conflicts), mostConflicts)] {
		r.Conflicts = append(r.Conflicts, shown(path))
	}
	return nil
}

// began returns where a version parted from the commit at which its author says that it begins; zero where it does not lead there. So a page shows
// nothing of an object that somebody names.
func (r *review) began(ctx context.Context, code *gitread.Reader, v gitread.Visit, chosen version) (gitwire.ObjectID, error) {
	if chosen.base.IsZero() {
		return chosen.base, nil
	}
	base, err := code.MergeBase(ctx, v, chosen.base, chosen.Tip)
	switch {
	case err == nil:
		return base, nil
	case errors.Is(err, gitproc.ErrBusy), errors.Is(err, gitread.ErrCostly), ctx.Err() != nil:
		return gitwire.ObjectID{}, err
	}
	return gitwire.ObjectID{}, nil
}

// targetOf returns the branch that a pull request is for, and its commit: the one that the request names, else HEAD; "" where there is none.
func targetOf(all *gitwire.Refs, root *nostr.Event) (branch string, tip gitwire.ObjectID) {
	if all == nil {
		return "", tip
	}
	if name, ok := root.Tags.First("b"); ok {
		if r, ok := all.Find("refs/heads/" + name); ok {
			return name, r.ID
		}
	}
	if r, ok := all.Find("HEAD"); ok {
		return strings.TrimPrefix(all.Head, "refs/heads/"), r.ID
	}
	return "", tip
}

// has reports whether git serves a commit as the tip of a ref.
func has(all *gitwire.Refs, ref string, tip gitwire.ObjectID) bool {
	if all == nil {
		return false
	}
	if r, ok := all.Find(ref); ok && r.ID == tip {
		return true
	}
	return slices.ContainsFunc(all.List, func(r gitwire.Ref) bool { return r.Tip() == tip })
}
