package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/refs"
	"github.com/graspd/graspd/internal/store"
)

// ofContributed returns the Lack of a contributed repository, without needs: the signer pushes what waits. It is Hosted once anything was
// pushed there.
func (l *lacking) ofContributed(t Turn, of nip34.Address) (out Lack, err error) {
	out.Of = of
	if !l.events.contributors {
		return out, nil
	}
	out.Repository, err = Read(t, of)
	out.Hosted = err == nil && out.Refs.Generation > 0 && out.Gone == 0
	return out, err
}

// tipsOfContributed adds the needs of the signer's served pull requests that name a contributed repository which has lost their tips.
func (l *lacking) tipsOfContributed(ctx context.Context, v *store.View, now time.Time, out *Lack) error {
	var all []Need
	err := eachServed(ctx, v, nostr.Filter{Authors: []nostr.PubKey{out.Of.PubKey}}, func(e *nostr.Event, p refs.PullRequest) error {
		p.Repositories = l.events.contributions(e)
		more, err := l.lackOfTip(all, out, p, e, store.Waiting{})
		all = more
		return err
	})
	if err != nil {
		return fmt.Errorf("pull requests that %s has lost: %w", out.Of, err)
	}
	out.Needs = hourly(all, needsOfTips, now)
	return nil
}
