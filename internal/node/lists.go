package node

import (
	"context"
	"log/slog"

	"github.com/graspd/graspd/internal/policy"
)

// SetLists puts other lists of the settings in force, and says in the log what became of it. It is not called twice at once.
func (n *Node) SetLists(ctx context.Context, l policy.Lists) {
	before := n.rules.Load().Fingerprint()
	if err := n.Moderator.SetLists(ctx, l); err != nil {
		n.log.Error("the lists stay as they were", "error", err)
		return
	}
	if n.rules.Load().Fingerprint() == before {
		n.log.Info("lists reread: nothing has changed")
		return
	}
	n.log.Info("lists reread", listCounts(l)...)
}

// apply puts all lists in force, those of decisions too. The door goes first: what the engine asks for then is decided by the new
// rules. It is not called twice at once.
func (n *Node) apply(ctx context.Context, l policy.Lists) error {
	rules, before := n.cfg.rules(l), *n.rules.Load()
	if rules.Fingerprint() == before.Fingerprint() {
		return nil
	}
	if err := n.Door.SetRules(ctx, rules); err != nil {
		return err
	}
	n.rules.Store(&rules)
	if n.Engine == nil {
		return nil
	}
	if err := n.Engine.SetLists(ctx, l, rules.Loosens(before)); err != nil {
		n.log.Error("the lists hold for what comes, but not for what is asked for", "error", err)
	}
	return nil
}

// listCounts says how many entries the lists have.
func listCounts(l policy.Lists) []any {
	return []any{
		slog.Int("allow_pubkeys", len(l.AllowPubKeys)), slog.Int("deny_pubkeys", len(l.DenyPubKeys)),
		slog.Int("allow_repositories", l.AllowRepositories.Len()), slog.Int("deny_repositories", l.DenyRepositories.Len()),
	}
}
