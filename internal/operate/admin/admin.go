// Package admin serves the operator on a private listener. It shows the state of this relay, whether it lives and whether it is ready, as pages
// for people and as documents for programs. It reads what other parts know. Whoever reaches the listener sees everything that it shows. To
// change something they prove that they may (proof.go), and to have a copy of everything made they sign with the relay's own key.
package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/against"
	"github.com/graspd/graspd/internal/operate/backup"
	"github.com/graspd/graspd/internal/operate/nip86"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/status"
)

// Store is the event store as the pages need it.
type Store interface {
	// Stats returns figures at once.
	Stats() store.Stats
	// Failure returns the error that stopped the store, or nil.
	Failure() error
	// Room returns store.ErrFull while the free bytes or inodes of the disk are at their floor.
	Room() error
	// Disk says what the file system has left.
	Disk() (store.Disk, error)
}

// Sync is the sync engine as the pages need it. Any goroutine may call its methods at any time. They return soon after ctx has ended.
type Sync interface {
	// Relays says how the engine stands with every relay that holds a slot.
	Relays(ctx context.Context) []status.Relay
	// Details returns, for the same relays, what takes long to find out.
	Details(ctx context.Context) map[grasp.RelayURL]status.Details
	// Retry connects to a relay at once, dead or not.
	Retry(ctx context.Context, u grasp.RelayURL) error
}

// Hosting is the hosting of repositories as the pages need it.
type Hosting interface {
	// Status says how it stands.
	Status() *status.Git
	// Disk says what the disk of the git data has left; nil where that is the disk of the store.
	Disk() *store.Disk
	// Room fails as Store.Room does where the git data has no room.
	Room() error
	// Repositories returns how repositories stand with other git servers, by address; nil where graspd fetches nothing from these.
	Repositories(context.Context) map[string]status.GitLack
}

// Node is this relay as a whole, as the pages need it.
type Node interface {
	// Backup copies everything that this relay has into a new directory.
	Backup(dir string) error
	// Stream writes the same as one tar.
	Stream(context.Context, backup.Start) error
	// Nothing returns what to tell an operator while no repository is kept; else nil.
	Nothing() *status.Nothing
	// Changes returns the changes of settings over the public address.
	Changes() []nip86.Change
	// Filled says how much of what the bootstrap relays announce is served here; nil where there are none, so that this relay is ready at once.
	Filled() *status.Readiness
	// Against compares this relay with another one.
	Against(context.Context, grasp.RelayURL) (against.Report, error)
}

// Bucket is where a relay keeps what it has.
type Bucket interface {
	Status() status.Bucket
	Problem() string // "" is none
}

// Config says what the pages are made from.
type Config struct {
	URL        grasp.RelayURL // of this relay
	Version    string
	Start      time.Time // of this process; zero is not known
	Store      Store
	Sync       Sync                                   // nil when this relay does not sync
	Metrics    http.Handler                           // nil is none
	Hosts      []string                               // names by which a browser may ask for the pages, besides addresses and names without a dot
	Door       Door                                   // nil: the pages show no refusals
	Relay      interface{ Stats() relay.Stats }       // nil: the pages show no clients
	Self       nostr.PubKey                           // the relay's own key
	Node       Node                                   // nil: the pages offer no backup, and show neither changes nor why no repository is kept
	Faults     *contain.Faults                        // nil: there are none
	Git        Hosting                                // nil when no repositories are hosted
	Moderation Moderation                             // nil: not offered
	Backups    interface{ Status() status.Backups }   // nil when this relay makes none by itself
	Bucket     Bucket                                 // nil when this relay has none
	Cluster    interface{ Standing() status.Cluster } // nil when this relay shares its bucket with no other node
	Reports    Reports                                // nil: not offered; needs Moderation
}

// Door keeps figures about the events that come in, and the last refusals, the newest first.
type Door interface {
	Stats() ingest.Stats
	LastRefused() []status.Refused
}

// Pages answers everything on the private listener.
type Pages struct {
	http.Handler
	c       Config
	history *history
	mux     *http.ServeMux

	comparing chan struct{} // full while a comparison is under way

	paths []string // the patterns that mux knows

	rendering    sync.Mutex // guards the fields below
	last         *view
	held         *holdings
	lastStatus   []status.Relay // what the engine said last
	lastStatusAt time.Time
	lastViewed   time.Time // when somebody last asked for a page
}

// routes has the patterns that the pages answer, and their handlers.
type routes struct {
	mux   *http.ServeMux
	paths []string
}

func (m *routes) handle(pattern string, h http.HandlerFunc) {
	m.mux.HandleFunc(pattern, h)
	m.paths = append(m.paths, pattern)
}

// patience is how long an answer waits for the engine.
const patience = 5 * time.Second

// New returns the pages: / for people; /status.json, /repositories.json, /problems.json, /refused.json, /healthz, /readyz, /metrics, /deletion.json,
// /cases.json, /journal.json and /reports.json for programs; POST /against, and /retry, /delete, /restore, /remove, /dismiss and /backup, for those who may.
// Requests that a browser makes for another site change nothing.
func New(c Config) *Pages {
	p := &Pages{c: c, history: newHistory(), comparing: make(chan struct{}, 1)}
	m := &routes{mux: http.NewServeMux()}
	for _, path := range []string{overviewPage + "{$}", relaysPage, repositoriesPage, relayPage, repositoryPage} {
		m.handle("GET /"+path, p.page)
	}
	m.handle("GET /page.css", asset("page.css", "text/css; charset=utf-8"))
	m.handle("GET /page.js", asset("page.js", "text/javascript; charset=utf-8"))
	m.handle("GET /icon.svg", asset("icon.svg", "image/svg+xml"))
	m.handle("POST /retry", c.proven(let, p.retry))
	m.handle("GET /status.json", p.status)
	m.handle("GET /repositories.json", p.repositories)
	m.handle("GET /problems.json", c.problems)
	if c.Door != nil {
		m.handle("GET /refused.json", c.refused)
	}
	m.handle("GET /healthz", c.health)
	m.handle("GET /readyz", c.ready)
	if c.Metrics != nil {
		m.handle("GET /metrics", c.Metrics.ServeHTTP)
	}
	if c.Moderation != nil {
		c.handleModeration(m)
	}
	if c.Reports != nil {
		c.handleReports(m)
	}
	if c.Node != nil {
		m.handle("POST /against", p.against)
		m.handle("POST /backup", c.proven(nobody, c.backup))
	}
	p.mux, p.paths = m.mux, m.paths
	p.Handler = guard(c.Hosts, http.NewCrossOriginProtection().Handler(m.mux))
	return p
}

// Inner returns a handler that answers as the pages do, for people whom the caller has let in. The caller has to keep the pages of other sites
// out.
func (p *Pages) Inner() http.Handler { return p.mux }

// Routes returns the patterns (http.ServeMux) that the pages answer, for tests that try each.
func (p *Pages) Routes() []string { return slices.Clone(p.paths) }

// IsPage reports whether a path, without the slash that it begins with, is that of a page for people.
func IsPage(path string) bool {
	return slices.Contains([]string{overviewPage, relaysPage, repositoriesPage, relayPage, repositoryPage}, path)
}

// Run samples the states of relays for the plots, and works out the states of repositories, until ctx ends. Call it once.
func (p *Pages) Run(ctx context.Context) {
	tick := time.NewTicker(sampleTime)
	defer tick.Stop()
	for {
		p.keep(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// health answers whether this process does its work. A store that has failed takes nothing until the next start, or until it was opened anew.
func (c Config) health(w http.ResponseWriter, _ *http.Request) {
	err := c.Store.Failure()
	if err == nil {
		err = c.Store.Room()
	}
	if err != nil {
		answer(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	answer(w, http.StatusOK, "ok")
}

// ready answers whether what the bootstrap relays announce is served. Once this relay is ready, it stays so.
func (c Config) ready(w http.ResponseWriter, _ *http.Request) {
	code, r := http.StatusOK, c.readiness()
	if !r.Ready {
		code = http.StatusServiceUnavailable
	}
	text := r.String()
	if c.Cluster != nil {
		s := c.Cluster.Standing()
		text += "; " + s.String()
		if wrong := s.Problem(); wrong != "" {
			code, text = http.StatusServiceUnavailable, wrong
		}
	}
	if c.Bucket != nil && c.Bucket.Problem() != "" {
		text += "; " + c.Bucket.Problem()
	}
	answer(w, code, text)
}

func (c Config) readiness() status.Readiness {
	if c.Node != nil {
		if r := c.Node.Filled(); r != nil {
			return *r
		}
	}
	return status.Readiness{Ready: true}
}

func answer(w http.ResponseWriter, status int, text string) {
	head(w, "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // the client may be gone
}

// answerJSON answers with a document.
func answerJSON(w http.ResponseWriter, document any) {
	b, err := json.Marshal(document)
	if err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	head(w, "application/json")
	_, _ = w.Write(append(b, '\n')) // the client may be gone
}

func head(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}
