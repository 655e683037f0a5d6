package main

import (
	"context"
	"log/slog"
	"os"

	"graspd/internal/policy"
)

// rules are those that the settings and these lists make.
func (n *node) rules(l policy.Lists) policy.Rules {
	return policy.Rules{Service: n.service, MinPoW: n.cfg.MinPoW, Lists: l}
}

// rereadOn rereads the lists at each signal until ctx ends.
func (n *node) rereadOn(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
			n.reread(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// reread puts the lists as they are on disk now in force. If anything is wrong with one of them, all stay as they are.
// The door goes first: what the engine asks for then is decided by the new rules.
func (n *node) reread(ctx context.Context) {
	l, problems := n.cfg.lists()
	for _, p := range problems {
		n.log.Error("list not reread", "problem", p)
	}
	if len(problems) > 0 {
		n.log.Error("the lists stay as they were")
		return
	}
	rules, before := n.rules(l), n.rules(n.lists)
	if rules.Fingerprint() == before.Fingerprint() {
		n.log.Info("lists reread: nothing has changed")
		return
	}
	if err := n.door.SetRules(ctx, rules); err != nil {
		n.log.Error("the lists stay as they were", "error", err)
		return
	}
	n.lists = l
	if n.engine != nil {
		if err := n.engine.SetLists(ctx, l, rules.Loosens(before)); err != nil {
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

// acceptance is what the information document says about repositories (GRASP-01). Who stands on lists is nobody's business.
func acceptance(l policy.Lists) string {
	if l.AllowRepositories.Len()+len(l.AllowPubKeys) > 0 {
		return "Repositories chosen by the operator whose announcements name this relay in their relays tags."
	}
	return "Any repository whose announcement names this relay in its relays tag."
}
