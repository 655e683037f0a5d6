package repopage

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

// Bounds of the page of a pull request.
const (
	mostVersions = 50 // the newest
	mostChecks   = 50
)

// pull has what the page of a pull request shows of its commits.
type pull struct {
	Branch   string
	Versions []version // the newest first
	Shown    version   // the newest, or the one that the reader chose
	Older    bool      // Shown is not the newest
	Since    int       // the number of the version with which Shown is compared; 0 for none
	Review   *review   // nil where its commits are not here
	Checks   []check   // of Shown
	Git      []string  // commands that fetch and merge Shown
	Ngit     []string
}

// version is what a pull request was at a time: as it was opened, or as its author updated it.
type version struct {
	Number int
	Ref    string // the ref by which git fetches it here
	Here   bool   // git serves its commit
	Before int    // the number of the version before this one that is here; 0 for none
	Tip    gitwire.ObjectID
	At     string
	base   gitwire.ObjectID // where it began, as its author says; zero where they do not
	served bool             // under Ref
	clone  []string
}

// pull gathers the commits of a pull request. A query chooses an older version, and one to compare it with; for a number that no version has it
// fails with errNothing.
func (p *Pages) pull(ctx context.Context, k *known, root *nostr.Event, q url.Values, from front.Client) (*pull, error) {
	x := &pull{}
	branch, _ := root.Tags.First("branch-name")
	x.Branch = safetext.Line(branch, mostName)
	var err error
	if x.Versions, err = versionsIn(ctx, k.view.Metered(k.b.charge), root); err != nil || len(x.Versions) == 0 {
		return x, err
	}
	for i := range x.Versions {
		v := &x.Versions[i]
		if v.Here = has(k.repo.Refs, v.Ref, v.Tip); v.Here {
			r, ok := k.repo.Refs.Find(v.Ref)
			v.served = ok && r.ID == v.Tip
		}
	}
	for i, before := len(x.Versions)-1, 0; i >= 0; i-- {
		if x.Versions[i].Before = before; x.Versions[i].Here {
			before = x.Versions[i].Number
		}
	}
	x.Shown = x.Versions[0]
	var since version
	if err = errors.Join(x.choose(&x.Shown, q.Get("version")), x.choose(&since, q.Get("since"))); err != nil {
		return nil, err
	}
	if since.Number > 0 && !since.Here { // what git does not serve is not shown by a page
		return nil, errNothing
	}
	x.Older, x.Since = x.Shown.Number < len(x.Versions), since.Number
	if x.Checks, err = k.checks(ctx, p.people(k.view.Metered(k.b.charge), k.b), root, x.Shown.Tip); err != nil {
		return nil, err
	}
	x.Git = commands(p.Service.CloneURL(k.of.PubKey, k.of.D), x.Shown, x.Versions)
	name := nip19.Nevent(root.ID, string(p.Service.RelayURL()))
	x.Ngit = []string{"ngit pr checkout " + name, "ngit pr merge " + name}
	if p.Code == nil || !x.Shown.Here {
		return x, nil
	}
	return x, p.apart(ctx, k, from, func() (err error) {
		if x.Review, err = p.review(ctx, k, from, root, x.Shown, since); err == nil && x.Review != nil && x.Review.Merged {
			x.Git, x.Ngit = nil, nil // nothing is left to merge
		}
		return err
	})
}

// choose sets v to the version with a number; "" changes nothing.
func (x *pull) choose(v *version, number string) error {
	if number == "" {
		return nil
	}
	i := slices.IndexFunc(x.Versions, func(v version) bool { return strconv.Itoa(v.Number) == number })
	if i < 0 {
		return errNothing
	}
	*v = x.Versions[i]
	return nil
}

// commands returns what merges a version with git alone: from here, or where that is not here from where its author says it is.
func commands(url string, shown version, all []version) []string {
	const merge = "git merge --no-ff FETCH_HEAD"
	switch here := "git fetch " + url + " "; {
	case shown.served:
		return []string{here + shown.Ref, merge}
	case shown.Here:
		return []string{here + shown.Tip.String(), merge}
	}
	for _, v := range append([]version{shown}, all...) {
		for _, url := range v.clone {
			if pasteable.MatchString(url) {
				return []string{"git fetch " + url + " " + shown.Tip.String(), merge}
			}
		}
	}
	return nil
}

// pasteable matches URLs that a shell and git take for nothing but a URL.
var pasteable = regexp.MustCompile(`^(?:https?|git|ssh)://[A-Za-z0-9][A-Za-z0-9._~:/@%+=,-]{0,300}$`)

// versionsIn returns the versions of a pull request, the newest first: the events of its author that name a commit. Of several in one second the
// one with the lowest id counts (NIP-01). Nobody else changes what an author asks to have merged.
func versionsIn(ctx context.Context, s *store.View, root *nostr.Event) ([]version, error) {
	updates, err := naming(ctx, s, 'E', root, mostVersions, nostr.Filter{Kinds: []nostr.Kind{nip34.KindPullRequestUpdate}, Authors: []nostr.PubKey{root.PubKey}})
	if err != nil {
		return nil, err
	}
	return versionsOf(root, updates), nil
}

// versionsOf sorts the updates of a pull request by its author. What it was opened with is the oldest version, whatever time the updates name.
func versionsOf(root *nostr.Event, updates []*nostr.Event) (all []version) {
	slices.SortFunc(updates, func(a, b *nostr.Event) int { return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), a.ID.Compare(b.ID)) })
	for _, e := range append(updates, root) {
		tip, err := nip34.ParseTip(e)
		if err != nil || e.ID != root.ID && tip.Updates != root.ID {
			continue
		}
		if id, err := gitwire.ParseObjectID(tip.Commit); err == nil {
			said, _ := e.Tags.First("merge-base")
			base, _ := gitwire.ParseObjectID(said) // zero where it is none
			all = append(all, version{Ref: refs.TipName(e.ID), Tip: id, At: moment(e.CreatedAt), base: base, clone: tip.Clone[:min(len(tip.Clone), 5)]})
		}
	}
	for i := range all {
		all[i].Number = len(all) - i
	}
	return all
}

// check is what somebody says of a commit, by a program that looks at it.
type check struct{ Name, Conclusion, By, Who, At string }

// conclusions are those that a check may have.
var conclusions = []string{"success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required"}

// checks returns the newest result of each workflow and signer for a commit of a pull request. Anybody may publish one, so each stands with who did.
func (k *known) checks(ctx context.Context, call *people, root *nostr.Event, tip gitwire.ObjectID) (all []check, err error) {
	said, err := naming(ctx, k.view.Metered(k.b.charge), 'E', root, mostChecks, nostr.Filter{Kinds: []nostr.Kind{nip34.KindWorkflowResult}})
	seen := map[string]bool{}
	for _, e := range said {
		of, _ := e.Tags.First("c")
		name, _ := e.Tags.First("w")
		conclusion, _ := e.Tags.First("conclusion")
		if by := e.PubKey.String() + name; of == tip.String() && slices.Contains(conclusions, conclusion) && !seen[by] {
			seen[by] = true
			all = append(all, check{safetext.Line(name, mostSubject), conclusion, call.call(e.PubKey), call.page(e.PubKey), moment(e.CreatedAt)})
		}
	}
	return all, err
}
