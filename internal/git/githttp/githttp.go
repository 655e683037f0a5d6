// Package githttp serves repositories to git over HTTP: advertisements and ls-refs from memory, packs from git processes, which clients share
// that ask for the same, and pushes. It knows HTTP, frames, paces and bounds. [Host] knows the repositories,
// [Packs] makes the packs, and [Taker] decides about pushes. Read those first.
package githttp

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/web"
)

// DefaultCacheBytes bounds the kept packs where the operator says nothing.
const DefaultCacheBytes = 512 << 20

const (
	stallTime     = 20 * time.Second // in which stallBytes of a body have to come
	stallBytes    = 16 << 10
	askTime       = 2 * time.Minute  // for the whole body of a fetch
	idleTime      = time.Minute      // in which a client has to read each piece of the answer
	aliveTime     = 5 * time.Second  // after which a waiting client hears something
	longest       = time.Hour        // for a push or an answer
	drainBytes    = 64 << 20         // of a pack refused unread that are still read, for clients that look for the answer only then
	pressTime     = time.Second      // after which a waiting client looks again who gives way
	uploadWait    = time.Minute      // for which a client waits for a turn to push
	busyWait      = 10 * time.Second // in the Retry-After of a 429
	elsewhereWait = 5 * time.Second  // in the Retry-After where another node takes pushes
	unitBytes     = 16 << 10         // of a request in memory, for one unit of the pool
)

// ShownByEvent is how many refs/nostr/* a client sees whose protocol cannot ask for only some of them.
const ShownByEvent = 1000

// Config says what a Server serves, and how. Front, Host, Packs and CacheDir are needed.
type Config struct {
	Front        *front.Front // its pools bound what clients take
	Host         Host
	Packs        Packs
	Taker        Taker  // of pushes; nil: another node takes them
	Base         string // before the paths of repositories, escaped; "" or such as "/git"
	Name         string // of the service, on pages
	Look         web.Look
	Agent        string // what the server calls itself; "" is graspd
	Contributors bool   // take pull requests at /prs/<signer npub>/<identifier>.git (GRASP-06)
	MaxPush      int64  // bytes of the pack of one push; 0 is no bound
	Pushes       int    // how many send their packs at once; 0 is 128
	CacheDir     string // directory of the packs being sent
	CacheBytes   int64  // of packs that are kept for later clients; 0 keeps none
	FlightBytes  int64  // of packs that are being sent or kept; 0 is 4 GiB
	// Space returns how many bytes the disk of CacheDir has above its floor. Packs that are being sent take half of that. Nil is without that bound.
	Space  func() int64
	Logger *slog.Logger    // nil is silent
	Faults *contain.Faults // takes contained faults; nil drops them
}

// Server answers git's requests.
type Server struct {
	host         Host
	taker        Taker // nil: another node takes pushes
	packs        Packs
	base         string
	name         string
	look         web.Look
	agent        string
	maxPush      atomic.Int64 // bytes of a pack; 0 is no bound
	logger       *slog.Logger
	faults       *contain.Faults
	requests     *fair.Account // memory of requests, in units
	large        chan struct{} // has one for each large body that is being inflated or parsed
	uploads      *uploads
	penalties    penalties // for pushes
	overfetched  penalties // for fetches
	texts        *texts
	leads        *leads
	cache        *cache
	counts       counts
	contributors bool
}

// New prepares a server. It takes its accounts from the front, which must not serve anybody yet.
func New(c Config) *Server {
	s := &Server{
		host: c.Host, packs: c.Packs, taker: c.Taker, base: strings.TrimRight(c.Base, "/"), name: c.Name, look: c.Look, agent: cmp.Or(c.Agent, "graspd"), contributors: c.Contributors,
		logger: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), faults: c.Faults,
		requests: c.Front.NewAccount(fair.Config{Name: "units of git requests", Total: 32768, Address: 4096, Little: 64}),
		uploads: newUploads(
			c.Front.NewAccount(fair.Config{Name: "git uploads", Total: cmp.Or(int64(c.Pushes), 128), Address: 4, Little: 1}),
			c.Front.NewAccount(fair.Config{Name: "small git uploads", Total: turnsBeside, Address: 2, Little: 1})),
		texts: newTexts(32 << 20), large: make(chan struct{}, largeAtOnce()),
		leads: newLeads(),
	}
	s.SetMaxPush(c.MaxPush)
	s.cache = newCache(c)
	return s
}

// SetMaxPush sets Config.MaxPush for pushes that begin from then on.
func (s *Server) SetMaxPush(bytes int64) { s.maxPush.Store(bytes) }

// Route returns the route for the front.
func (s *Server) Route() front.Route {
	return front.Route{Name: "git", Door: front.Signed, Takes: s.takes, Serve: s.serve, Answer: longest}
}

// Close closes the files of the kept packs. Call it when the server serves no request any more.
func (s *Server) Close() { s.cache.close() }

// takes reports whether a path lies below that of a repository, /<npub>/<identifier>.git/…, also where the npub is none.
func (s *Server) takes(req *http.Request) bool {
	below, ok := strings.CutPrefix(req.URL.EscapedPath(), s.base)
	if !ok {
		return false
	}
	below, _ = s.contributed(below)
	below, rooted := strings.CutPrefix(below, "/")
	_, below, _ = strings.Cut(below, "/")
	name, rest, _ := strings.Cut(below, "/")
	return rooted && strings.HasSuffix(name, ".git") && rest != ""
}

// contributed reports whether a path below the base belongs to contributors, and returns what follows there.
func (s *Server) contributed(path string) (below string, ok bool) {
	if !s.contributors {
		return path, false
	}
	if below, ok = strings.CutPrefix(path, grasp.ContributedPath+"/"); ok {
		return "/" + below, true
	}
	return path, false
}

// shownRefs returns the refs of a repository; none where it has no data.
func shownRefs(r *Repository) *gitwire.Refs {
	if r.Refs == nil {
		return &gitwire.Refs{}
	}
	return r.Refs
}
