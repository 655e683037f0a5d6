package node

import (
	"context"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/operate/moderation/moderator"
	"github.com/graspd/graspd/internal/operate/moderation/reports"
	"github.com/graspd/graspd/internal/sync/relaysync"
)

// Term is all that only a node that writes has: what decides what comes in, and what fetches from elsewhere. It is built from what the store has when a
// node begins to write, and no other node has one of the same store at the time. The parts of Node beside it read.
type Term struct {
	Door      *ingest.Door
	Moderator *moderator.Moderator
	Reports   *reports.Desk
	Host      *hosting.Host     // nil without Git
	Engine    *relaysync.Engine // nil without Sync
	GitSync   *gitsync.Sync     // nil without Git.Sync
}

// decide builds what of a term decides, and puts the rules in force.
func (n *Node) decide() error {
	settings, all := n.cfg.rules(n.cfg.Lists), n.cfg.shared()
	decided, err := moderated(&n.cfg, n.Store)
	if err != nil {
		return err
	}
	if n.bucket != nil {
		if err := putShared(n.Store, all, n.cfg.Now()); err != nil {
			return err
		}
	}
	if n.cfg.Member != nil {
		n.cfg.Member.compare()
	}
	c := n.cfg
	var git hosting.Config
	if c.Git != nil {
		git = n.hosting()
		git.Ledger = hosting.NewLedger(git)
	}
	n.Door = newDoor(c, n.Store, git.Ledger, n.faults)
	n.Moderator = moderator.New(moderator.Config{Store: n.Store, Decided: decided, Door: n.Door, Rules: settings, Now: c.Now, Logger: c.Logger.With("component", "moderator")})
	if c.Git != nil {
		git.Door, git.Keeps = n.Door, n.Moderator.KeepsData
		n.Host = hosting.New(git)
	}
	n.Reports, err = reports.Open(context.Background(), reports.Config{Store: n.Store, Door: n.Door, Moderator: n.Moderator, Now: c.Now, Logger: c.Logger.With("component", "reports")})
	return err
}

// fetch builds what of a term fetches events and git data from elsewhere.
func (n *Node) fetch(who Identity) {
	if n.cfg.Sync != nil {
		n.Engine = n.newEngine(who)
	}
	if n.cfg.Git != nil && n.cfg.Git.Sync != nil {
		n.GitSync = n.syncGit(who)
	}
}

// parts returns the parts of a term, each before those to which it hands its data; none where another node writes.
func (t *Term) parts() (all []part) {
	if t.Door == nil {
		return nil
	}
	if t.Engine != nil {
		rules, changed := t.Door.FollowRules()
		follow := func(ctx context.Context) error { return t.tellEngine(ctx, rules, changed) }
		all = append(all, part{"lists of the engine", follow}, part{"engine", t.Engine.Run})
	}
	if t.GitSync != nil {
		all = append(all, part{"git sync", t.GitSync.Run})
	}
	if t.Host != nil {
		all = append(all, part{"hosting", t.Host.Run})
	}
	return append(all, part{"reports", t.Reports.Run}, part{"moderator", t.Moderator.Run}, part{"door", t.Door.Run})
}
