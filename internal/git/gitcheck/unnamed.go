package gitcheck

import (
	"context"
	"strings"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// unnamed counts the directories that belong to no repository. It does not count those of repositories whose rows are lost, and returns these
// rows as they were. Such a directory has exactly the refs of the state that the owner of the repository has published.
func (c Config) unnamed(ctx context.Context, v *store.View, known map[gitrepo.ID]bool) (lost []refdb.Repository, n int64, err error) {
	with := map[string]gitrepo.ID{} // by the keys of their branches and tags
	err = c.Disk.Each(ctx, func(id gitrepo.ID) error {
		if known[id] {
			return nil
		}
		n++
		if set, _, err := c.filed(id); err == nil && len(set) > 0 { // nothing can be said of files that cannot be read
			with[keyOf(set)] = id
		}
		return nil
	})
	if err != nil || len(with) == 0 {
		return nil, n, err
	}
	for e, err := range v.Events(ctx, nostr.Filter{Kinds: []nostr.Kind{nip34.KindState}}) {
		if err != nil {
			return nil, n, err
		}
		s, err := refs.ReadState(e)
		if err != nil {
			continue // an older version stored such states
		}
		id, ok := with[keyOf(s.Refs)]
		if !ok {
			continue
		}
		r, ok, err := c.adoptable(v, s, id)
		if err != nil {
			return nil, n, err
		}
		if ok {
			delete(with, keyOf(s.Refs))
			lost = append(lost, r)
			n--
		}
	}
	return lost, n, nil
}

// filed returns the branches and tags in the files of a directory, and the tips of pull requests.
func (c Config) filed(id gitrepo.ID) (set, tips refs.Set, err error) {
	read, err := c.Disk.Refs(id)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range read.List {
		if x := (refs.Ref{Name: r.Name, ID: r.ID}); !strings.HasPrefix(r.Name, pulls) {
			set = append(set, x)
		} else {
			tips = append(tips, x)
		}
	}
	return set, tips, nil
}

// pulls is the beginning of the names of refs of pull requests.
const pulls = "refs/nostr/"

func keyOf(set refs.Set) string {
	var b []byte
	for _, r := range set {
		b = append(append(append(r.ID.AppendHex(b), ' '), r.Name...), '\n')
	}
	return string(b)
}

// adoptable makes the row of the repository that the author of a state owns, if the repository is announced and has no row.
func (c Config) adoptable(v *store.View, s refs.State, id gitrepo.ID) (r refdb.Repository, ok bool, err error) {
	r.Of = nip34.Address{Kind: nip34.KindRepository, PubKey: s.Author, D: s.D}
	row, err := v.Row(refdb.RowName(r.Of))
	if err != nil || row != nil {
		return r, false, err
	}
	e, ok, err := v.At(r.Of.String())
	if err != nil || !ok {
		return r, false, err
	}
	a, err := refs.ReadAnnouncement(e)
	if err != nil {
		return r, false, nil // no announcement that refs can read
	}
	change := refs.Change{Members: grasp.FamilyOf([]grasp.Listing{a.Listing}).Councils().Of(s.Author), States: []refs.State{s}}
	if change.PullRequests, err = c.pullRequests(v, id); err != nil {
		return r, false, err
	}
	r.Dir = refdb.Dir(id)
	r.Refs = r.Refs.Next(r.Of, change)
	r.Bytes, _, err = c.Disk.Size(id)
	return r, err == nil, err
}

// pullRequests returns the stored pull requests whose tips stand in the files of a directory.
func (c Config) pullRequests(v *store.View, id gitrepo.ID) (list []refs.PullRequest, err error) {
	_, tips, err := c.filed(id)
	for _, x := range tips {
		event, bad := nostr.ParseID(strings.TrimPrefix(x.Name, pulls))
		if bad != nil {
			continue
		}
		e, ok, err := v.Get(event)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if p, err := refs.ReadPullRequest(e); err == nil && p.Tip == x.ID {
			list = append(list, p)
		}
	}
	return list, err
}
