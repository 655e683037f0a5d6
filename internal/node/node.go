package node

import (
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/backup"
	"github.com/graspd/graspd/internal/operate/nip86"
	"github.com/graspd/graspd/internal/operate/signin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/members"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/serve/web"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/relaysync"
)

// Config says what a node is like. Dir and Service are needed; every other field has a default.
type Config struct {
	Dir     string // the data directory
	Service grasp.Service
	MinPoW  int          // bits that an event must show (NIP-13)
	Lists   policy.Lists // the lists in force at first; Set changes them
	Version string

	Store       store.Options            // New sets Dir, Rules, Now and Logger
	Verifier    nostr.Verifier           // of signatures; nil is nostr.Schnorr
	Workers     int                      // verifiers at once; 0 is GOMAXPROCS
	Door        ingest.Limits            // of what waits to be decided
	Limits      relay.Limits             // of clients
	Rates       front.Rates              // of each address
	Proxies     []netip.Prefix           // web servers in front, whose X-Forwarded-For the node believes
	Ping        time.Duration            // between two pings to a client; 0 is 30 s
	Connections int                      // how many connections of clients the node accepts at once; more wait in the kernel's queue; 0 is no bound
	Info        nip11.Document           // what the operator says; New sets Self, Software, Version and RepoAcceptanceCriteria
	About       string                   // Markdown at the top of the start page
	Look        web.Look                 // of public pages
	AdminKeys   []nostr.PubKey           // of people who may manage the relay (NIP-86); without any nobody may
	AdminHosts  []string                 // names by which a browser may ask the private listener
	Git         *Git                     // nil: the node hosts no repositories
	Sync        *Sync                    // nil: the node fetches nothing from other relays
	Private     *Private                 // nil: the node serves everybody
	Backups     *Backups                 // nil: the node makes none by itself
	Bucket      *Bucket                  // nil: what the node has is in Dir alone; else Prepare comes before New, and Dir has copies
	Member      *Member                  // nil: the node writes its bucket alone; else it serves what the member has, and has a Term once that leads
	Mailboxes   bool                     // the node asks the relays to which participants write (GRASP-03)
	Archive     *Archive                 // how to keep what Lists.Archive names; nil: not at all
	Identity    func() (Identity, error) // New calls it once the store is open; nil: the key in Dir
	Now         func() time.Time         // the wall clock; nil is time.Now
	Read        time.Time                // when these settings were read; zero is now
	Logger      *slog.Logger             // nil is silent
}

// Sync says how a node fills itself from other relays.
type Sync struct {
	Bootstrap    []grasp.RelayURL
	Index        []grasp.RelayURL // relays to ask for participants' lists of relays; of no effect without Config.Mailboxes
	AllowPrivate bool             // dial private addresses too
	Dialer       relaysync.Dialer // nil is the network

	// Engine is the rest. New sets Store, Door, Service, Bootstrap, Index, Peer.Mailboxes, Lists, Self, Sign, Dialer, Now and Faults, and Logger where it is nil.
	Engine relaysync.Config
}

// Identity is the key that a relay signs with.
type Identity struct {
	PubKey nostr.PubKey
	Sign   func(*nostr.Event) error
}

// Node is one relay: parts that read what is in the store and on the disk, and a term, unless another node writes.
type Node struct {
	Front   *front.Front
	Store   *store.Store
	Relay   *relay.Relay
	Web     *githttp.Server   // nil without Git
	Backups *backup.Scheduler // nil without Config.Backups
	Term

	cfg       Config
	pages     *admin.Pages
	said      said
	log       *slog.Logger
	faults    *contain.Faults
	self      nostr.PubKey
	start     time.Time
	git       *gitproc.Git    // nil as the disk is
	disk      *gitrepo.Disk   // nil without Git, and where Git brings its own
	reader    *hosting.Reader // nil without Git
	kept      *hosting.Kept   // nil where packs lie on the disk alone
	circle    *members.Circle // nil where everybody is served
	peers     *members.Peers  // nil where everybody is served
	copying   chan struct{}   // full while a backup is under way
	bucket    *keeper         // nil without Config.Bucket
	rules     ruling          // the Door, or elsewhere
	elsewhere *elsewhere      // nil where this node writes
	follows   bool            // another node writes, or did when this one was built

	readiness atomic.Pointer[status.Readiness] // as watchFilling saw it last; nil before
}

// New builds a node. The node answers while Run runs. The caller calls Close in the end.
func New(c Config) (_ *Node, err error) {
	c = c.withDefaults()
	n := &Node{cfg: c, start: c.Now(), log: c.Logger, faults: contain.New(c.Logger, nil), copying: make(chan struct{}, 1), follows: c.Member != nil && !c.Member.leads()}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if err := n.open(); err != nil {
		return nil, err
	}
	if n.follows {
		force, err := readShared(n.Store)
		if err == nil {
			c, err = force.over(c)
		}
		if err != nil {
			return nil, err
		}
		n.cfg = c
	}
	n.circle = c.newCircle()
	if n.follows {
		n.elsewhere = &elsewhere{cfg: c, store: n.Store}
		n.elsewhere.force.Store(new(c.settings()))
		n.rules, n.elsewhere.Carrier = n.elsewhere, c.Member.newCarrier(c.Verifier, n.log)
	} else {
		if err := n.decide(); err != nil {
			return nil, err
		}
		n.rules = n.Door
	}
	who, err := c.Identity()
	if err != nil {
		return nil, err
	}
	n.self = who.PubKey
	if err := n.read(); err != nil {
		return nil, err
	}
	if !n.follows {
		n.fetch(who)
	}
	if c.Backups != nil && !n.follows {
		n.Backups = n.newBackups()
	}
	n.pages = n.adminPages()
	if n.Remote() {
		n.Front.Handle(n.elsewhere.decided(signin.Route(signin.Config{Service: c.Service, Keys: c.AdminKeys, Pages: n.pages, Now: c.Now, From: c.Member.signedFrom(), Logger: c.Logger.With("component", "signin")})))
	}
	return n, nil
}

// open opens the store and the repositories.
func (n *Node) open() (err error) {
	switch {
	case n.cfg.Bucket == nil:
		n.Store, err = openOwnStore(n.cfg)
	case n.cfg.Member != nil:
		n.bucket = n.cfg.Member.keeper
	default:
		n.bucket, err = openLogged(n.cfg)
	}
	if err != nil {
		return err
	}
	if n.bucket != nil {
		n.Store = n.bucket.store
	}
	n.sweepSnapshots()
	if n.cfg.Git != nil {
		return n.openGit()
	}
	return nil
}

// read builds what answers clients.
func (n *Node) read() (err error) {
	c := n.cfg
	if n.circle != nil {
		n.peers = members.NewPeers(n.circle, n.typed)
	}
	n.Front = front.New(front.Config{
		Rates: c.Rates, Proxies: c.Proxies, Now: c.Now, Logger: c.Logger.With("component", "front"), Faults: n.faults,
		Members: n.signers(),
	})
	n.Front.Handle(front.AddressRoute(c.Service.Root()))
	if len(c.AdminKeys) > 0 {
		n.Front.Handle(n.elsewhere.decided(nip86.Route(nip86.Config{Service: c.Service, Keys: c.AdminKeys, Moderation: n.Moderator, Private: c.Private != nil, Settings: n, Now: c.Now, From: c.Member.signedFrom()})))
	}
	if c.Git != nil {
		if n.follows {
			n.Front.Handle(n.elsewhere.decided(pushes(c.Service.Base())))
		}
		if err := n.serveGit(); err != nil {
			return err
		}
	}
	if err := n.readChanges(); err != nil {
		return err
	}
	n.Relay, err = n.newRelay()
	return err
}

// Remote reports whether people who sign in may open the operator's page over the public address. A private service shows strangers
// nothing, not even a page to sign in.
func (n *Node) Remote() bool { return len(n.cfg.AdminKeys) > 0 && n.cfg.Private == nil }

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Read.IsZero() {
		c.Read = c.Now()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Identity == nil {
		dir := c.Dir
		c.Identity = func() (Identity, error) { return identityIn(dir) }
	}
	return c
}

// rules returns the rules that the settings and these lists make.
func (c Config) rules(l policy.Lists) policy.Rules {
	return policy.Rules{
		Service: c.Service, MinPoW: c.MinPoW, Lists: l, Git: c.Git != nil, Contributors: c.Git != nil && c.Git.Contributors, Mailboxes: c.Mailboxes,
		Private: c.Private != nil,
	}
}

// software is where graspd comes from (NIP-11).
const software = "https://github.com/graspd/graspd"

// information returns the information document (NIP-11) with the operator's words, under some lists.
func (n *Node) information(info nip11.Document, l policy.Lists) nip11.Document {
	c := n.cfg
	c.Lists = l
	info.Self, info.Software, info.Version, info.RepoAcceptanceCriteria = n.self.String(), software, c.Version, acceptance(c)
	if len(c.AdminKeys) > 0 {
		info.SupportedNIPs = []int{86}
	}
	archive := c.Archive
	if archive == nil && l.Archive.Len() > 0 {
		archive = &Archive{}
	}
	if c.Git != nil {
		info.SupportedGRASPs = []string{"GRASP-01"}
		if c.Git.Sync != nil && c.Sync != nil {
			info.SupportedGRASPs = append(info.SupportedGRASPs, "GRASP-02")
			if c.Mailboxes {
				info.SupportedGRASPs = append(info.SupportedGRASPs, "GRASP-03")
			}
			if archive != nil {
				info.SupportedGRASPs = append(info.SupportedGRASPs, "GRASP-05")
			}
		}
		if c.Git.Contributors {
			info.SupportedGRASPs = append(info.SupportedGRASPs, "GRASP-06")
		}
	}
	if c.Private != nil {
		info.SupportedGRASPs = append(info.SupportedGRASPs, "GRASP-08")
		info.SupportedNIPs = append(info.SupportedNIPs, 98)
		info.Limitation.AuthRequired = true
	}
	if archive != nil {
		info.Curation = archive.curation()
	}
	return info
}

func (n *Node) newRelay() (*relay.Relay, error) {
	c := n.cfg
	info, _, _ := nip86.Apply(c.Info, n.Changes())
	info = n.information(info, c.Lists)
	var moved func(int) ([]refdb.Repository, error)
	if n.reader != nil {
		moved = n.reader.Moved
	}
	return relay.New(relay.Config{
		Moved: moved, Front: n.Front, Store: n.Store, Door: queues{n.Door, n.elsewhere}, Rules: n.rules, Service: c.Service, Info: info, About: c.About, Look: c.Look, Limits: c.Limits, MinPoW: c.MinPoW, Now: c.Now, Ping: c.Ping,
		Logger: c.Logger.With("component", "relay"), Faults: n.faults, Members: n.readers(),
	})
}

// acceptance returns what the information document says about repositories (GRASP-01). It does not tell who stands on lists.
func acceptance(c Config) string {
	names, name := "name this relay in their relays tags.", "names this relay in its relays tag."
	if c.Git != nil {
		names, name = "name this service in their relays and clone tags.", "names this service in its relays and clone tags."
	}
	if c.Private != nil {
		names, name = names+forMembers, name+forMembers
	}
	if c.Lists.AllowRepositories.Len()+len(c.Lists.AllowPubKeys) > 0 {
		return "Repositories chosen by the operator whose announcements " + names
	}
	return "Any repository whose announcement " + name
}

// forMembers returns what a private service says besides (GRASP-08). It does not tell who is a member.
const forMembers = " Members alone publish and read here."

// Service returns the domain and URLs under which announcements list this relay.
func (n *Node) Service() grasp.Service { return n.cfg.Service }

// Log returns the node's logger.
func (n *Node) Log() *slog.Logger { return n.log }

// Close closes what New opened. Call it after Run has returned.
func (n *Node) Close() error {
	if err := n.endBackups(); err != nil {
		return err // a store that is being copied stays open
	}
	var errs []error
	if n.Web != nil {
		n.Web.Close()
	}
	if n.disk != nil {
		errs = append(errs, n.disk.Close())
	}
	if n.Store != nil && n.cfg.Member == nil {
		errs = append(errs, n.Store.Close())
	}
	if n.bucket != nil && n.cfg.Member == nil {
		n.bucket.end()
	}
	return errors.Join(errs...)
}
