package node

import (
	"context"
	"log/slog"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/operate/nip86"
	"github.com/graspd/graspd/internal/protocol/nip11"
)

// Settings are those that may change while a node runs.
type Settings struct {
	Info   nip11.Document // as Config.Info
	About  string         // as Config.About
	MinPoW int
	Lists  policy.Lists
	Git    hosting.Limits // of what is stored; of no effect without Config.Git
	// Members are those of a private node, nil those of before; of no effect without Config.Private.
	Members policy.PubKeys
}

// Set puts other settings in force, all or none of them, and logs what became of them. At a Node that follows, those in force at all nodes hold where they
// are the same for all. One goroutine at a time may call Set.
func (n *Node) Set(ctx context.Context, s Settings) {
	if n.follows {
		if err := n.cfg.Member.adopt(n, n.cfg.Member.ownSettings().with(s)); err != nil {
			n.log.Error("the settings stay as they were", "error", err)
			return
		}
		n.log.Info("settings reread: of those that decide or guard, the ones in force at all nodes hold", n.memberCount()...)
		return
	}
	n.said.mu.Lock()
	defer n.said.mu.Unlock()
	own := n.cfg.with(s)
	if n.cfg.Member != nil {
		own = n.cfg.Member.ownSettings().with(s)
	}
	info, hold, over := nip86.Apply(s.Info, n.Changes())
	present, err := n.Relay.Present(n.information(info, s.Lists), s.About, s.MinPoW)
	before, rules := n.rules.Rules(), n.cfg.rules(s.Lists)
	rules.MinPoW = s.MinPoW
	if err == nil && n.bucket != nil {
		err = n.share(ctx, n.Store, own.shared(), n.cfg.Now())
	}
	if err == nil {
		err = n.Moderator.SetRules(ctx, rules)
	}
	if err != nil {
		n.log.Error("the settings stay as they were", "error", err)
		return
	}
	present()
	if n.cfg.Member != nil {
		n.cfg.Member.setOwn(own)
	}
	n.takeOver(ctx, s, hold, over)
	n.setMembers(s.Members)
	if n.Host != nil {
		n.Host.SetLimits(s.Git)
		n.Web.SetMaxPush(s.Git.Push)
	}
	if n.Door.Rules().Fingerprint() == before.Fingerprint() {
		n.log.Info("settings reread: what is accepted is the same", n.memberCount()...)
		return
	}
	n.log.Info("settings reread", append(append(listCounts(s.Lists), slog.Int("min_pow", s.MinPoW)), n.memberCount()...)...)
}

// tellEngine hands the engine the lists of rules as they come into force, until ctx ends. The door decides by rules before the engine hears
// of them. before are those that the engine has, and changed is closed when there are others.
func (t *Term) tellEngine(ctx context.Context, before policy.Rules, changed <-chan struct{}) error {
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
		rules, next := t.Door.FollowRules()
		t.Engine.SetLists(rules.Lists, rules.Loosens(before))
		before, changed = rules, next
	}
}

// listCounts says how many entries the lists have.
func listCounts(l policy.Lists) []any {
	return []any{
		slog.Int("allow_pubkeys", len(l.AllowPubKeys)), slog.Int("deny_pubkeys", len(l.DenyPubKeys)),
		slog.Int("allow_repositories", l.AllowRepositories.Len()), slog.Int("deny_repositories", l.DenyRepositories.Len()), slog.Int("archive", l.Archive.Len()),
	}
}
