package node

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/metrics"
	"github.com/graspd/graspd/internal/status"
)

// adminPages serves the pages of the private listener.
func (n *Node) adminPages() *admin.Pages {
	c := admin.Config{
		URL: n.cfg.Service.RelayURL(), Version: n.cfg.Version, Store: n.Store, Self: n.self, Node: n, Hosts: n.cfg.AdminHosts,
		Faults: n.faults, Relay: n.Relay, Start: n.start,
	}
	m := metrics.Config{Version: c.Version, Store: n.Store, Relay: n.Relay, Faults: n.faults}
	if !n.follows {
		c.Door, c.Moderation, c.Reports = n.Door, n.Moderator, n.Reports
		m.Door, m.Reports = n.Door, n.Reports
	}
	if n.Backups != nil {
		c.Backups, m.Backups = n.Backups, n.Backups
	}
	if n.bucket != nil {
		b := keeping{n.bucket, n.kept}
		c.Bucket, m.Bucket = b, b
	}
	if n.cfg.Member != nil {
		at := standing{n.cfg.Member, !n.follows, n.elsewhere}
		c.Cluster, m.Cluster = at, at
	}
	if n.Engine != nil {
		c.Sync, m.Sync = n.Engine, n.Engine
	}
	if n.Host != nil {
		c.Git = hosted{n}
		m.Git = &metrics.Git{Host: n.Host, Web: n.Web, Disk: n.gitDisk}
		if n.GitSync != nil {
			m.Git.Sync = n.GitSync
		}
	} else if n.reader != nil {
		m.Git = &metrics.Git{Web: n.Web, Disk: n.gitDisk}
	}
	if m.Git != nil && n.git != nil {
		m.Git.Processes = n.git.Stats
	}
	m.Problems = c.Look
	c.Metrics = metrics.Handler(m)
	return admin.New(c)
}

// Nothing returns what to tell an operator while this relay carries no repository and none waits for its git data; else nil.
func (n *Node) Nothing() *status.Nothing {
	if n.follows || n.Store.Stats().Repositories > 0 || n.Store.Waits() > 0 {
		return nil
	}
	told := n.Door.Unlisted()
	told.Relay, told.Data = string(n.cfg.Service.RelayURL()), n.cfg.Dir
	if dir, err := filepath.Abs(n.cfg.Dir); err == nil {
		told.Data = dir
	}
	if n.cfg.Git != nil {
		told.Web = n.cfg.Service.WebURL()
	}
	return &told
}

// keeping is the bucket, with the packs that are here, for the pages and the metrics.
type keeping struct {
	*keeper
	kept *hosting.Kept // nil where no repositories are hosted
}

// Status implements admin.Bucket.
func (k keeping) Status() status.Bucket {
	b := k.keeper.Status()
	if k.kept != nil {
		b.Local = new(status.Bytes(k.kept.Local.Bytes()))
	}
	return b
}

// Problem implements admin.Bucket.
func (k keeping) Problem() string {
	if text := k.keeper.Problem(); text != "" || k.kept == nil {
		return text
	}
	if n, first := k.kept.Depot.Damaged(); n > 0 {
		return fmt.Sprintf("the bucket has lost or changed %s of packs, whose repositories cannot be cloned; graspd check --bucket names all; %s",
			safetext.Number(n, "object", "objects"), first)
	}
	return ""
}

// hosted is the hosting of repositories, for the pages (admin.Hosting).
type hosted struct{ n *Node }

func (h hosted) Repositories(ctx context.Context) map[string]status.GitLack {
	if h.n.GitSync == nil {
		return nil
	}
	return h.n.GitSync.Repositories(ctx)
}

func (h hosted) Room() error       { return h.n.gitRoom() }
func (h hosted) Disk() *store.Disk { return h.n.gitDisk() }

// Status logs and leaves out what it cannot read.
func (h hosted) Status() *status.Git {
	n := h.n
	g, err := n.Host.Status()
	if err != nil {
		n.log.Error("git data cannot be counted", "error", err)
	}
	g.Fetches = n.Web.Stats().Fetching
	if n.GitSync != nil {
		g.Sync = new(n.GitSync.Status(context.Background()))
	}
	if n.git == nil {
		return &g
	}
	for _, k := range gitproc.Kinds() {
		s := n.git.Stats(k)
		g.Processes = append(g.Processes, status.Processes{Kind: k.String(), Running: s.Running, Queued: s.Queued, Refused: s.Refused, Ended: s.Ended, Failed: s.Failed})
	}
	return &g
}
