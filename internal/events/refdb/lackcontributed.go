package refdb

import (
	"context"
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ofContributed returns the Lack of a contributed repository: what the signer's waiting pull requests name that no announced repository here
// waits for. It is Hosted once anything came there, and while something waits for that.
func (r *Reader) ofContributed(of nip34.Address) (out Lack, err error) {
	out.Of = of
	if !r.contributors {
		return out, nil
	}
	if out.Repository, err = Read(r, of); err != nil {
		return out, err
	}
	waiting, err := r.waitIndex.of(r, of.D, &grasp.Set{})
	if err != nil {
		return out, err
	}
	var all []Need
	for _, e := range waiting {
		if e.PubKey != of.PubKey || !slices.Contains(r.contributions(e), of) {
			continue
		}
		if all, err = r.lackOfContribution(all, &out, e); err != nil {
			return out, err
		}
	}
	out.Needs = inTurns(all, needsOfWaits)
	out.Hosted = out.filled() || len(out.Needs) > 0
	return out, nil
}

// filled says that something came to a contributed repository and has not gone.
func (l *Lack) filled() bool { return l.Refs.Generation > 0 && l.Gone == 0 }

// lackOfContribution adds the need of a waiting pull request to to, unless an announced repository here has that need. It returns the needs.
func (r *Reader) lackOfContribution(to []Need, out *Lack, e *nostr.Event) ([]Need, error) {
	for _, of := range nip34.Repositories(e) {
		own, err := announcementsOf(r, of)
		if err != nil || slices.ContainsFunc(own, r.serves) {
			return to, err
		}
	}
	w, err := r.Waiting(e.ID)
	if err != nil {
		return to, err
	}
	p, err := r.pullRequest(r, e)
	if err != nil {
		return to, err
	}
	return r.lackOfTip(to, out, p, e, w)
}

// tipsOfContributed adds the needs of the signer's served pull requests that name a contributed repository which has lost their tips.
func (r *Reader) tipsOfContributed(ctx context.Context, out *Lack) error {
	if !out.filled() {
		return nil
	}
	var all []Need
	err := eachServed(ctx, r.View, nostr.Filter{Authors: []nostr.PubKey{out.Of.PubKey}}, func(e *nostr.Event, p refs.PullRequest) error {
		if out.Refs.PullRequests.Get(refs.TipName(e.ID)) != p.Tip {
			return nil // it never was there: the announced repository got it, of which nothing comes to this one
		}
		p.Repositories = r.contributions(e)
		more, err := r.lackOfTip(all, out, p, e, store.Waiting{})
		all = more
		return err
	})
	if err != nil {
		return fmt.Errorf("pull requests that %s has lost: %w", out.Of, err)
	}
	out.Needs = append(out.Needs, hourly(all, needsOfTips-len(out.Needs), r.at)...)
	return nil
}
