package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Git says how a node hosts repositories (GRASP-01). Every field has a default.
type Git struct {
	Program      string               // a path, or a name on PATH; "" is git
	Processes    int                  // how many packs git makes for clients at once; 0 is twice the processors
	Limits       hosting.Limits       // of what is stored
	Cache        int64                // bytes of packs to keep for clients that ask for the same; below 0 none, 0 is githttp.DefaultCacheBytes
	Local        int64                // with a bucket, bytes of packs on the disk at most; 0 is no bound but the disk
	Disk         gitrepo.Repositories // nil is the data directory, by git
	Contributors bool                 // people push pull requests to /prs/<signer npub>/<identifier>.git (GRASP-06)
	Sync         *GitSync             // nil: the node fetches no git data
}

// GitSync says how a node fetches git data from other servers (GRASP-02). Every field has a default.
type GitSync struct {
	Concurrency  int // fetches at once; 0 is 8
	AllowPrivate bool
	Fetcher      gitsync.Fetcher // nil is the network
	Delay        time.Duration   // before the first look at everything; 0 is 5 s
	Every        time.Duration   // between two looks at everything; 0 is an hour
}

// GitIn returns where a data directory has its repositories.
func GitIn(dir string) string { return filepath.Join(dir, "git") }

// openGit opens the repositories on the disk.
func (n *Node) openGit() (err error) {
	c := n.cfg
	if c.Git.Disk != nil {
		return nil
	}
	if n.git, err = gitproc.Open(context.Background(), gitproc.Config{Program: c.Git.Program, Fetches: c.Git.Processes}); err != nil {
		return err
	}
	at := gitrepo.Config{Dir: GitIn(c.Dir), Git: n.git, Now: c.Now, Logger: c.Logger.With("component", "git")}
	if n.bucket == nil {
		n.disk, err = gitrepo.Open(at)
		return err
	}
	packs := depot.New(depot.Config{Objects: c.Bucket.Objects, Rows: n.Store, Term: n.Store.LogPlace().Term, Now: c.Now})
	at.Depot, at.Local, at.Room = packs, c.Git.Local, n.gitRoom
	if n.disk, err = gitrepo.Open(at); err == nil {
		n.kept = hosting.NewKept(packs, n.disk)
	}
	return err
}

// hosting returns what is needed to host repositories, but for what decides.
func (n *Node) hosting() hosting.Config {
	c := n.cfg
	disk := c.Git.Disk
	if disk == nil {
		disk = n.disk
	}
	return hosting.Config{
		Closed: c.Archive != nil && c.Archive.ReadOnly,
		Disk:   disk, Kept: n.kept, Store: n.Store, Service: c.Service, Mirrors: c.mirrors(), Private: c.Private != nil, Limits: c.Git.Limits, Now: c.Now,
		Logger: c.Logger.With("component", "hosting"), Faults: n.faults, Contributors: c.Git.Contributors, Room: n.gitRoom, Space: n.gitDisk, Trusts: n.trusts,
	}
}

// trusts reports whether the operator has named an owner: as a member, or in a list of who may publish here.
func (n *Node) trusts(owner nostr.PubKey) bool {
	if n.circle != nil && n.circle.Has(owner) {
		return true
	}
	l := n.rules.Rules().Lists
	_, author := l.AllowPubKeys[owner]
	_, repositories := l.AllowRepositories.Owners[owner]
	return author || repositories
}

// gitRoom is Room of the store for the repositories, which may be on a disk of their own.
func (n *Node) gitRoom() error {
	if n.disk == nil {
		return nil
	}
	return n.Store.RoomIn(GitIn(n.cfg.Dir))
}

// gitDisk looks at the disk of the repositories; nil where they share the store's disk.
func (n *Node) gitDisk() *store.Disk {
	if n.disk == nil {
		return nil
	}
	return n.Store.DiskIn(GitIn(n.cfg.Dir), n.cfg.Dir)
}

// mirrors returns the relays that count as named by every repository, but for this one.
func (c Config) mirrors() []grasp.RelayURL {
	if c.Sync == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Sync.Bootstrap), c.Service.Is)
}

// syncGit prepares the fetching of git data from other servers.
func (n *Node) syncGit(who Identity) *gitsync.Sync {
	c, s := n.cfg, *n.cfg.Git.Sync
	if s.Fetcher == nil {
		s.Fetcher = gitfetch.New(gitfetch.Config{
			Net: publicnet.Config{AllowPrivate: s.AllowPrivate, Service: c.Service.Host()}, Agent: "graspd/" + c.Version,
			Authorization: n.credentials(who),
		})
	}
	var connected <-chan grasp.RelayURL
	if n.Engine != nil {
		connected = n.Engine.Connections()
	}
	return gitsync.New(gitsync.Config{
		Host: n.Host, Store: n.Store, Fetcher: s.Fetcher, Self: n.self, Bootstrap: c.mirrors(), Reticent: c.Private != nil, Concurrency: s.Concurrency, Delay: s.Delay, SweepEvery: s.Every, Now: clock(c.Now),
		Connected: connected, Logger: c.Logger.With("component", "git sync"), Faults: n.faults,
	})
}

// serveGit adds the routes of git's clients and of pages. Where another node writes, pushes are its own.
func (n *Node) serveGit() error {
	c := n.cfg
	var host githttp.Host
	var pushes githttp.Taker
	if n.Host != nil {
		n.reader, host, pushes = n.Host.Reader, n.Host, n.Host
	} else {
		n.reader = hosting.NewReader(n.hosting())
		host = n.reader
	}
	packs := filepath.Join(GitIn(c.Dir), "packs")
	if err := os.RemoveAll(packs); err != nil {
		return fmt.Errorf("packs that were kept: %w", err)
	}
	if err := os.MkdirAll(packs, 0o700); err != nil {
		return fmt.Errorf("packs to keep: %w", err)
	}
	kept := c.Git.Cache
	if kept == 0 {
		kept = githttp.DefaultCacheBytes
	}
	n.Web = githttp.New(githttp.Config{
		Front: n.Front, Host: host, Packs: n.reader.Packs(), Taker: pushes, Base: c.Service.Base(), Name: c.Service.String(), Look: c.Look, Agent: "graspd/" + c.Version, MaxPush: c.Git.Limits.Push,
		Contributors: c.Git.Contributors,
		CacheDir:     packs, CacheBytes: max(0, kept), FlightBytes: max(leastFlights, 2*c.Git.Limits.Repository), Space: n.packSpace, Logger: c.Logger.With("component", "git"), Faults: n.faults,
	})
	var reader repopage.Reader
	var code *gitread.Reader
	if n.disk != nil {
		code = gitread.New(n.disk, c.Now)
		reader = code
	}
	pages := repopage.New(repopage.Config{
		Reader: reader, Code: code, Look: c.Look,
		Store: n.Store, Service: c.Service, Rules: n.rules.Rules, Find: shows{n.reader}.find, Contributors: c.Git.Contributors, Now: c.Now,
		Logger: c.Logger.With("component", "git"),
	})
	n.Front.Handle(pages.Route()) // before git, which takes whatever stands below a repository
	n.Front.Handle(n.Web.Route())
	return nil
}

// leastFlights is how many bytes packs that are being sent may take at least. One party may have half of it, and a pack may be as large as its
// repository.
const leastFlights = 4 << 30

// packSpace returns how many bytes the disk of packs that are being sent has above its floor; 0 where it does not tell.
func (n *Node) packSpace() int64 {
	d := n.gitDisk()
	if d == nil {
		store, err := n.Store.Disk()
		if err != nil {
			return 0
		}
		d = &store
	}
	return int64(d.Free) - int64(d.Floor)
}

// shows has the pages find what is served of a repository.
type shows struct{ *hosting.Reader }

func (x shows) find(of nip34.Address) (repopage.Repository, bool, error) {
	r, ok, err := x.Find(of)
	return repopage.Repository{Dir: r.Dir, Generation: r.Generation, Refs: r.Refs}, ok, err
}
