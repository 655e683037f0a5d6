// Package githttp serves repositories to git over HTTP: advertisements and ls-refs from memory, packs from git processes that are
// shared by all who ask for the same, and pushes up to the point where somebody decides about them. It knows HTTP, frames, paces
// and bounds; what a repository is, whether a push may be, and where packs lie is for [Host] and [Packs]. Read those first.
package githttp

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/contain"
	"github.com/graspd/graspd/internal/front"
	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/grasp"
)

// DefaultCacheBytes is how much of finished packs is kept, where the operator says nothing.
const DefaultCacheBytes = 512 << 20

const (
	stallTime  = 20 * time.Second // in which so many bytes of a body have to come
	stallBytes = 16 << 10
	askTime    = 2 * time.Minute  // for the body of a fetch
	idleTime   = time.Minute      // in which a client has to read what was sent
	aliveTime  = 5 * time.Second  // after which a client that waits hears something
	longest    = time.Hour        // of a push or an answer
	drainBytes = 64 << 20         // of a pack that was refused before it was read; beyond that the connection is closed
	uploadWait = time.Minute      // for a turn to push
	busyWait   = 10 * time.Second // what who comes too soon is told to wait
	unitBytes  = 16 << 10         // of a request that is read into memory
)

// ShownByEvent is how many refs/nostr/* are shown to those who cannot ask for some of them.
const ShownByEvent = 1000

// Config says what is served, and how. Front, Host, Packs and CacheDir are needed.
type Config struct {
	Front        *front.Front // whose pools bound what clients take
	Host         Host
	Packs        Packs
	Base         string // of the paths that are served, escaped; "" or such as "/git"
	Agent        string // what the server calls itself; "" is graspd
	Contributors bool   // pull requests are taken at /prs/<signer npub>/<identifier>.git (GRASP-06)
	MaxPush      int64  // bytes of a pack that is pushed; 0 is without a bound
	CacheDir     string // where packs are while they are sent
	CacheBytes   int64  // of packs that are kept for those who come later; 0 keeps none
	// FlightBytes bounds packs that are being sent, kept or not: when there is more, nothing new begins. 0 is 2 GiB.
	FlightBytes int64
	Logger      *slog.Logger    // nil is silent
	Faults      *contain.Faults // where faults in what serves one client are noted; nil is nowhere
}

// Server answers git's requests.
type Server struct {
	host         Host
	packs        Packs
	base         string
	agent        string
	maxPush      atomic.Int64 // bytes of a pack; 0 is without a bound
	logger       *slog.Logger
	faults       *contain.Faults
	requests     *front.Pool // in units: what requests take of memory
	uploads      *uploads
	penalties    penalties
	texts        *texts
	cache        *cache
	counts       counts
	contributors bool
}

// New prepares a server. It takes its pools from the front, so nobody is served yet.
func New(c Config) *Server {
	s := &Server{
		host: c.Host, packs: c.Packs, base: strings.TrimRight(c.Base, "/"), agent: cmp.Or(c.Agent, "graspd"), contributors: c.Contributors,
		logger: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), faults: c.Faults,
		requests: c.Front.NewPool(front.PoolConfig{Name: "units of git requests", Total: 32768, Address: 4096, Little: 64}),
		uploads:  newUploads(c.Front.NewPool(front.PoolConfig{Name: "git uploads", Total: 32, Address: 4, Little: 1})),
		texts:    newTexts(32 << 20),
	}
	s.SetMaxPush(c.MaxPush)
	s.cache = newCache(c.CacheDir, c.CacheBytes, cmp.Or(c.FlightBytes, 2<<30), c.Faults)
	return s
}

// SetMaxPush bounds the bytes of packs of pushes that begin from then on, as Config has it.
func (s *Server) SetMaxPush(bytes int64) { s.maxPush.Store(bytes) }

// Route is what the front is given.
func (s *Server) Route() front.Route {
	return front.Route{Name: "git", Door: front.Signed, Takes: s.takes, Serve: s.serve, Answer: longest}
}

// Close gives back what is kept on disk. It is called when no request is served any more.
func (s *Server) Close() { s.cache.close() }

// takes reports whether a path is one below a repository: /<npub>/<identifier>.git/…, whatever the first two are.
func (s *Server) takes(req *http.Request) bool {
	below, ok := strings.CutPrefix(req.URL.EscapedPath(), s.base)
	if !ok {
		return false
	}
	below, _ = s.contributed(below)
	parts := strings.SplitN(below, "/", 4)
	return len(parts) == 4 && parts[0] == "" && strings.HasSuffix(parts[2], ".git") && parts[3] != ""
}

// contributed reports whether a path below the base is one that contributors push to, and gives what follows there.
func (s *Server) contributed(path string) (below string, ok bool) {
	if !s.contributors {
		return path, false
	}
	if below, ok = strings.CutPrefix(path, grasp.ContributedPath+"/"); ok {
		return "/" + below, true
	}
	return path, false
}

// shownRefs are those of a repository that does without data, too.
func shownRefs(r *Repository) *gitwire.Refs {
	if r.Refs == nil {
		return &gitwire.Refs{}
	}
	return r.Refs
}
