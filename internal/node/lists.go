package node

import (
	"context"
	"log/slog"

	"github.com/graspd/graspd/internal/policy"
)

// SetLists puts other lists in force, and says in the log what became of it. The door goes first: what the engine asks for then
// is decided by the new rules. It is not called twice at once.
func (n *Node) SetLists(ctx context.Context, l policy.Lists) {
	rules, before := n.cfg.rules(l), *n.rules.Load()
	if rules.Fingerprint() == before.Fingerprint() {
		n.log.Info("lists reread: nothing has changed")
		return
	}
	if err := n.Door.SetRules(ctx, rules); err != nil {
		n.log.Error("the lists stay as they were", "error", err)
		return
	}
	n.rules.Store(&rules)
	if n.Engine != nil {
		if err := n.Engine.SetLists(ctx, l, rules.Loosens(before)); err != nil {
			n.log.Error("the lists hold for what comes, but not for what is asked for", "error", err)
			return
		}
	}
	n.log.Info("lists reread", listCounts(l)...)
}

// listCounts says how many entries the lists have.
func listCounts(l policy.Lists) []any {
	return []any{
		slog.Int("allow_pubkeys", len(l.AllowPubKeys)), slog.Int("deny_pubkeys", len(l.DenyPubKeys)),
		slog.Int("allow_repositories", l.AllowRepositories.Len()), slog.Int("deny_repositories", l.DenyRepositories.Len()),
	}
}
