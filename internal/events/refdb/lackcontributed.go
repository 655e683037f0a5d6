package refdb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ofContributed returns the Lack of a contributed repository: what the signer's waiting pull requests name that no announced repository here
// waits for. It is Hosted once anything came there, and while something waits for that.
func (l *lacking) ofContributed(t Turn, of nip34.Address) (out Lack, err error) {
	out.Of = of
	if !l.events.contributors {
		return out, nil
	}
	if out.Repository, err = Read(t, of); err != nil {
		return out, err
	}
	waiting, err := l.book.of(t, of.D)
	if err != nil {
		return out, err
	}
	var all []Need
	for _, e := range waiting {
		if e.PubKey != of.PubKey || !slices.Contains(l.events.contributions(e), of) {
			continue
		}
		if all, err = l.lackOfContribution(all, t, &out, e); err != nil {
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
func (l *lacking) lackOfContribution(to []Need, t Turn, out *Lack, e *nostr.Event) ([]Need, error) {
	for _, of := range nip34.Repositories(e) {
		own, err := announcementsOf(t, of)
		if err != nil || slices.ContainsFunc(own, t.Serves) {
			return to, err
		}
	}
	w, err := t.Waiting(e.ID)
	if err != nil {
		return to, err
	}
	p, err := l.events.pullRequest(t, e)
	if err != nil {
		return to, err
	}
	return l.lackOfTip(to, out, p, e, w)
}

// tipsOfContributed adds the needs of the signer's served pull requests that name a contributed repository which has lost their tips.
func (l *lacking) tipsOfContributed(ctx context.Context, v *store.View, now time.Time, out *Lack) error {
	if !out.filled() {
		return nil
	}
	var all []Need
	err := eachServed(ctx, v, nostr.Filter{Authors: []nostr.PubKey{out.Of.PubKey}}, func(e *nostr.Event, p refs.PullRequest) error {
		if out.Refs.PullRequests.Get(refs.TipName(e.ID)) != p.Tip {
			return nil // it never was there: the announced repository got it, of which nothing comes to this one
		}
		p.Repositories = l.events.contributions(e)
		more, err := l.lackOfTip(all, out, p, e, store.Waiting{})
		all = more
		return err
	})
	if err != nil {
		return fmt.Errorf("pull requests that %s has lost: %w", out.Of, err)
	}
	out.Needs = append(out.Needs, hourly(all, needsOfTips-len(out.Needs), now)...)
	return nil
}
