package repopage

import (
	"context"
	"net/url"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

// StepsOfList returns how many steps it takes to make a page of the list of issues.
func (p *Pages) StepsOfList(ctx context.Context, of nip34.Address, q url.Values) (int, error) {
	k, err := p.open(ctx, of, front.Client{})
	if err != nil {
		return 0, err
	}
	defer k.end()
	what, _ := sectionAt("issues")
	_, err = p.list(ctx, k, of, what, q)
	return k.b.most - k.b.left, err
}

// Stand says what a thread is after changes.
func Stand(root *nostr.Event, changes []*nostr.Event) (status nostr.Kind, subject string, labels []string) {
	x := stand(root, changes)
	return x.Status, x.Subject, x.Labels
}
