// Package hosting serves and takes git repositories for the announcements of this relay (GRASP-01). It joins two things: the log, whose
// writer decides what refs are and what a push may do, and the disk, which has the objects and where the files of refs follow the log. It
// owns what is under way between the two: pushes, uploads whose events are still to come, and files that are not yet as the log says. Read
// Host, then push.
package hosting

import (
	"cmp"
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Config says what a Host works with. Disk, Store, Ledger, Door and Service are needed.
type Config struct {
	Ledger  *refdb.Ledger // NewLedger of this Config, which the door's writer has
	Door    *ingest.Door
	Disk    gitrepo.Repositories
	Kept    *Kept // nil: packs lie on the disk alone
	Store   *store.Store
	Service grasp.Service
	Private bool             // graspd looks for private repositories only at the servers that their announcements name (GRASP-08)
	Mirrors []grasp.RelayURL // relays whose hosts may have every repository, whatever announcements name
	Limits  Limits

	// Contributors takes pull requests at /prs/<signer npub>/<identifier>.git (GRASP-06).
	Contributors bool

	// Room reports store.ErrFull while the disk of the git data has no room; nil where that disk is the store's.
	Room func() error
	// Space tells of the disk of the git data; nil, or nil of it, is that it is the store's.
	Space func() *store.Disk

	// Trusts reports whether an owner may begin as many repositories as the limits allow, however fast; nil trusts nobody.
	Trusts func(nostr.PubKey) bool

	Keeps  func(nip34.Address) bool // reports whether a repository's data stays though its announcement has gone long ago; nil keeps none
	Closed bool                     // refuses pushes to repositories that are only archived
	Now    func() time.Time         // the wall clock; nil is time.Now
	Rand   io.Reader                // names of directories; nil is the system's
	Rest   time.Duration            // pause after each repository whose packs are combined; 0 is 5 s
	Logger *slog.Logger             // nil is silent
	Faults *contain.Faults          // takes contained faults; nil drops them
}

// Limits bound the stored git data. A field that is 0 has its default.
type Limits struct {
	Push         int64 // bytes of the pack of one push; 512 MiB
	Objects      int64 // objects of that pack; a million
	Repository   int64 // bytes of one repository on disk; 2 GiB
	Author       int64 // bytes of all repositories of one owner; 8 GiB
	Repositories int   // with data, of one owner; 200
	Total        int64 // bytes of all repositories; 0 is no bound but the room on the disk
}

// DefaultLimits returns the defaults.
func DefaultLimits() Limits { return Limits{}.orDefault() }

func (l Limits) orDefault() Limits {
	return Limits{
		Push: cmp.Or(l.Push, 512<<20), Objects: cmp.Or(l.Objects, 1_000_000), Repository: cmp.Or(l.Repository, 2<<30),
		Author: cmp.Or(l.Author, 8<<30), Repositories: cmp.Or(l.Repositories, 200), Total: l.Total,
	}
}

// Host hosts the repositories of one relay. Any number of goroutines may use it.
type Host struct {
	*Reader
	cfg        Config
	door       *ingest.Door
	ledger     *refdb.Ledger
	settled    settled
	following  turns // one goroutine at a time copies to a repository
	uploads    uploads
	before     reopening
	packs      comparison
	quotas     quotas
	unfinished *fair.Account // bytes of disk
	newcomers  newcomers
	jobs       jobs
	adopts     jobs // jobs of uploads, which may take long, too
	rows       follower
	copies     jobs // jobs that copy from a repository to others
	payers     payers
	crowd      visited // repositories with many packs
	visited    visited
	counts     counters
	refusals   refusals
	long       *fair.Account      // long pushes that are worked on
	failed     chan nip34.Address // repositories whose pushes have failed; those beyond its room are not told
}

// SetLimits sets the limits from now on. Data that is here already stays. Pushes under way end under the limits that they began with.
func (h *Host) SetLimits(l Limits) { h.quotas.limits.Store(new(l.orDefault())) }

// NewLedger makes the ledger for a Host with this Config, of which it needs all but Ledger and Door: the door comes between the two.
func NewLedger(c Config) *refdb.Ledger {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return refdb.New(refdb.Config{
		Objects: objects{c.Disk, c.Kept, c.Logger}, Service: c.Service, Mirrors: c.Mirrors, Private: c.Private, Store: c.Store, Contributors: c.Contributors,
	})
}

// New prepares a Host.
func New(c Config) *Host {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Rest = cmp.Or(c.Rest, 5*time.Second)
	h := &Host{Reader: NewReader(c), cfg: c, ledger: c.Ledger, door: c.Door, failed: make(chan nip34.Address, failedKept), long: newLong(c.Now)}
	h.quotas.store = c.Store
	_, h.rows.at, _, _ = c.Store.Changes(0)
	h.unfinished = newUnfinished(h.cfg.space, c.Now)
	h.SetLimits(c.Limits)
	var err error
	h.before, err = newReopening(h)
	h.report("commits that wait for their events", err)
	h.uploads.held = map[uint64]*upload{}
	h.payers.init()
	h.jobs.init(nil)
	h.adopts.init(h.uploads.who)
	h.copies.init(h.payers.who)
	h.packs = comparison{kept: c.Kept, store: c.Store, door: c.Door, ledger: c.Ledger, now: c.Now}
	return h
}

// failedKept is how many failed pushes wait for the reader of FailedPushes.
const failedKept = 1000

// FailedPushes has the repositories whose pushes have failed, for one reader: their git data may have to come from other servers.
func (h *Host) FailedPushes() <-chan nip34.Address { return h.failed }
