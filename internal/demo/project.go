package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/demo/corpus"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// project is a repository with what its maintainers announce and push.
type project struct {
	address   nip34.Address  // the owner's
	relays    []string       // the relays that it lists
	announced []*nostr.Event // the owner's announcement, and those of other maintainers
	states    []*nostr.Event // all with the same refs
	history   history
	key       nostr.SecretKey // the owner's
}

// written takes the projects out of a corpus, and those events of others about them that a sync can find.
func written(c *corpus.Corpus, h *histories) (projects []*project, about []*nostr.Event) {
	for _, r := range c.Repositories {
		projects = append(projects, &project{address: r.Address, relays: r.Relays, history: h.at(r.Address.D), key: h.keys[r.Address.PubKey]})
	}
	reach := corpus.NewReach(c.Events())
	for _, it := range c.Items {
		e := it.Event
		if it.Fate != corpus.Served || reach.Layer(e) == 0 {
			continue
		}
		p := projects[it.Repositories[0]]
		switch it.What {
		case corpus.Announcement:
			p.announced = append(p.announced, e)
		case corpus.Maintainer:
			if _, answers := e.Tags.First("maintainers"); answers { // without that no state rules the maintainer's repository
				p.announced = append(p.announced, e)
			}
		case corpus.State:
			p.states = append(p.states, e)
		case corpus.Deletion:
		default:
			about = append(about, e)
		}
	}
	return projects, about
}

// url returns the clone URL of the owner's repository at a relay.
func (p *project) url(n *node.Node) string {
	return n.Service().CloneURL(p.address.PubKey, p.address.D)
}

// commit adds a commit to the history, and signs the owner's state with it. Only that state is left to be pushed.
func (p *project) commit(ctx context.Context, in bench) error {
	tip := p.history.tip()
	id, err := in.git(ctx, nil, "-c", "user.name=Somebody", "-c", "user.email=somebody@example.org",
		"commit-tree", tip+"^{tree}", "-p", tip, "-m", "Say what changed")
	if err != nil {
		return err
	}
	p.history = append(p.history[:len(p.history):len(p.history)], id)
	e := &nostr.Event{CreatedAt: time.Now().Unix(), Kind: nip34.KindState, Tags: p.history.state(p.address.D)}
	if err := p.key.Sign(e, [32]byte{}); err != nil {
		return err
	}
	p.announced, p.states = nil, []*nostr.Event{e}
	return nil
}

// push publishes the project's events at a relay and pushes the history there, as a git client does at each relay that the announcement lists.
// It returns when the relay serves the events. The relay takes the data over for other maintainers' repositories.
func (p *project) push(ctx context.Context, from bench, to *node.Node) error {
	events := append(p.announced[:len(p.announced):len(p.announced)], p.states...)
	if err := publish(ctx, to.Service().RelayURL(), events...); err != nil {
		return fmt.Errorf("announce %q: %w", p.address.D, err)
	}
	if _, err := from.git(ctx, nil, append([]string{"push", "--quiet", p.url(to)}, p.history.refspecs()...)...); err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, e := range events {
		if err := awaitEvent(patient, to.Store, e.ID); err != nil {
			return fmt.Errorf("%q was pushed and is not served: %w", p.address.D, err)
		}
	}
	return nil
}
