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

// Set puts other settings in force, all or none of them, and logs what became of them. One goroutine at a time may call Set.
func (n *Node) Set(ctx context.Context, s Settings) {
	n.said.mu.Lock()
	defer n.said.mu.Unlock()
	before, powBefore := *n.rules.Load(), n.minPoW.Load()
	info, hold, over := nip86.Apply(s.Info, n.Changes())
	present, err := n.Relay.Present(n.information(info, s.Lists), s.About, s.MinPoW)
	if err == nil {
		n.minPoW.Store(int64(s.MinPoW))
		if err = n.Moderator.SetLists(ctx, s.Lists); err != nil {
			n.minPoW.Store(powBefore)
		}
	}
	if err != nil {
		n.log.Error("the settings stay as they were", "error", err)
		return
	}
	present()
	n.takeOver(ctx, s, hold, over)
	n.setMembers(s.Members)
	if n.Host != nil {
		n.Host.SetLimits(s.Git)
		n.Web.SetMaxPush(s.Git.Push)
	}
	if n.rules.Load().Fingerprint() == before.Fingerprint() {
		n.log.Info("settings reread: what is accepted is the same", n.memberCount()...)
		return
	}
	n.Relay.Relist()
	n.log.Info("settings reread", append(append(listCounts(s.Lists), slog.Int("min_pow", s.MinPoW)), n.memberCount()...)...)
}

// apply puts all lists in force, also those of decisions. The door comes first: by then it decides by the new rules on whatever the engine
// asks for. One call at a time.
func (n *Node) apply(ctx context.Context, l policy.Lists) error {
	rules, before := n.cfg.rules(l), *n.rules.Load()
	rules.MinPoW = int(n.minPoW.Load())
	if rules.Fingerprint() == before.Fingerprint() {
		return nil
	}
	if err := n.Door.SetRules(ctx, rules); err != nil {
		return err
	}
	n.rules.Store(&rules)
	if n.Engine != nil {
		n.Engine.SetLists(l, rules.Loosens(before))
	}
	return nil
}

// listCounts says how many entries the lists have.
func listCounts(l policy.Lists) []any {
	return []any{
		slog.Int("allow_pubkeys", len(l.AllowPubKeys)), slog.Int("deny_pubkeys", len(l.DenyPubKeys)),
		slog.Int("allow_repositories", l.AllowRepositories.Len()), slog.Int("deny_repositories", l.DenyRepositories.Len()), slog.Int("archive", l.Archive.Len()),
	}
}
