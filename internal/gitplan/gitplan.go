// Package gitplan decides what of the git data that repositories lack is asked of which server, and when (GRASP-02): in which order,
// how many at a time, how often, and when a server is left alone. It is a function from what has happened to what is to be done; time is
// told, and nothing here waits, dials or reads. Read Plan, then Step.
package gitplan

import (
	"time"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// Bounds of what is asked at a time.
const (
	PerHost   = 4                // fetches of one host, whatever its ports
	QuietFor  = 10 * time.Second // without a byte, after which another source is asked besides
	youngFor  = time.Minute      // a fetch that takes longer makes room for another one
	overtimes = 3                // as many more than Concurrency take longer at a time
)

// What takes long.
const (
	longFor       = 5 * time.Minute // after which another source is asked besides, though bytes come
	sourcesAtOnce = 4               // of one repository
)

// Times at which a repository is tried again.
const (
	PushWithin = 3 * time.Minute  // that a client is expected to push in, after an event that they brought
	EagerFor   = 30 * time.Minute // from the last event on
	LazyEvery  = time.Hour        // after that
	firstWait  = 20 * time.Second // after the first round, doubled after each until eagerWait
	eagerWait  = 2 * time.Minute
)

// never is a time that does not come.
const never = time.Duration(1<<63 - 1)

// How a server is treated that fails, or asks for less.
const (
	baseBackoff = 20 * time.Second
	maxBackoff  = time.Hour
	deadAfter   = 24 * time.Hour
	deadRetry   = 6 * time.Hour
	limitedPace = time.Second      // between two requests, once a server has said that there are too many
	slowestPace = time.Minute      // it doubles with each time that it says so again, up to this
	paceEases   = 10 * time.Minute // without such an answer, after which it is halved
	maxRetry    = time.Hour        // of what a server asks to be left alone for
)

// Config says how much is done at a time.
type Config struct {
	Self         nostr.PubKey // whose waits are spread by
	Concurrency  int          // fetches at once; 0 is 8
	Repositories int          // that are planned for at once; 0 is 100,000. What lacks something beyond them comes with a later sweep
	Hosts        int          // that are remembered, and servers; 0 is 20,000. Beyond them those go of which the least is lost
}

// Lack is what a repository lacks. It replaces what was known of it.
type Lack struct {
	Of      nip34.Address
	Needs   []Need         // none: it lacks nothing any more
	Sources []grasp.Source // in the order in which they are to be asked
}

// Need is the git data of one event.
type Need struct {
	Event   nostr.ID
	After   time.Duration  // from now on until it is looked for
	Sources []grasp.Source // that may have this alone
	Alone   bool           // it is asked for by itself, as something of it was not taken before
}

// Fetch is one conversation with one server.
type Fetch struct {
	ID     uint64
	Of     nip34.Address
	Source grasp.Source
	Needs  []nostr.ID // what to ask for; empty: only what it advertises is asked for
}

// Outcome is how a fetch ended.
type Outcome struct {
	Answer   Answer
	Retry    time.Duration // that a server asked to be left alone for, 0 where it did not say
	Brought  []nostr.ID    // whose git data is complete here since
	Requests int           // that were made; 0 is not known
}

// Answer is what a server did.
type Answer uint8

// The answers.
const (
	Answered Answer = iota // in order, with what was wanted or without it
	Absent                 // in order: there is no such repository, or none for us
	Limited                // it wants to be asked less
	Failed                 // it was not reached, or did not answer as a git server does
	TooMuch                // in order: it shows more than is read
	Refused                // in order: of what it sent something is not taken here, or is too much, and so nothing is
	Ours                   // something failed here; nothing is known about the server
)

// Effects are what is to be done, in this order.
type Effects struct {
	Stop  []uint64 // fetches of which nothing is wanted any more
	Start []Fetch
	Wake  time.Duration // from now on, when Step is to be called at the latest; 0 for never
}

// Plan is what is known about repositories that lack something, and about the servers that may have it. One goroutine uses it.
type Plan struct {
	cfg     Config
	repos   map[nip34.Address]*repo
	later   later
	ready   ready
	hosts   map[string]*host
	fetches map[uint64]*running
	surveys []Fetch
	gave    map[nostr.PubKey]grasp.Source // who had something new of an owner last
	serial  uint64
	forgot  time.Duration // mono: when what is not worth being remembered was looked for last
	blocked time.Duration // mono: when the first host may be asked that somebody waits for; of the last Step

	back     map[string]bool // hosts that are there again, and were not looked for
	lookBack time.Duration   // mono: not before, for those

	allowances map[string]*allowance // by host, whatever the port
}

// running is a fetch under way.
type running struct {
	Fetch
	host  string // with a port
	name  string // without one
	quiet bool   // nothing has come for a while
	first bool   // it is asked for what it was not asked for before
	began health.Now

	stopped bool
	evicted bool // though it was wanted
}

// young says whether it takes a place that others wait for.
func (f *running) young(now health.Now) bool { return !f.quiet && now.Since(f.began) < youngFor }

// New makes a Plan that knows of nothing.
func New(c Config) *Plan {
	if c.Concurrency <= 0 {
		c.Concurrency = 8
	}
	if c.Repositories <= 0 {
		c.Repositories = 100_000
	}
	if c.Hosts <= 0 {
		c.Hosts = 20_000
	}
	return &Plan{
		cfg: c, repos: map[nip34.Address]*repo{}, hosts: map[string]*host{}, fetches: map[uint64]*running{},
		gave: map[nostr.PubKey]grasp.Source{}, ready: newReady(), allowances: map[string]*allowance{}, back: map[string]bool{},
	}
}

// Lacks takes note of what a repository lacks now.
func (p *Plan) Lacks(now health.Now, l Lack) {
	r := p.repos[l.Of]
	if len(l.Needs) == 0 {
		p.drop(r)
		return
	}
	if r == nil {
		if len(p.repos) >= p.cfg.Repositories {
			return
		}
		r = newRepo(l.Of)
		p.repos[l.Of] = r
	}
	if r.lacks(now, l) {
		p.later.put(r)
	}
}

// drop forgets a repository that lacks nothing any more; nil is none.
func (p *Plan) drop(r *repo) {
	if r != nil {
		delete(p.repos, r.of)
		p.later.take(r)
	}
}

// PushFailed takes note that whoever was expected to push has failed to.
func (p *Plan) PushFailed(now health.Now, of nip34.Address) {
	if r := p.repos[of]; r != nil {
		r.hurry(now)
		p.later.put(r)
	}
}

// maxSurveys is how many surveys wait at a time. Those beyond it come with a later sweep.
const maxSurveys = 256

// Survey asks for what a server advertises of a repository, when nothing better is to be done. It reports whether there was room for it.
func (p *Plan) Survey(of nip34.Address, s grasp.Source) bool {
	if len(p.surveys) >= maxSurveys {
		return false
	}
	p.surveys = append(p.surveys, Fetch{Of: of, Source: s})
	return true
}

// Quiet takes note that nothing has come from a fetch for QuietFor.
func (p *Plan) Quiet(id uint64) {
	if f := p.fetches[id]; f != nil {
		f.quiet = true
	}
}

// Ended takes note of the end of a fetch.
func (p *Plan) Ended(now health.Now, id uint64, o Outcome) {
	f := p.fetches[id]
	if f == nil {
		return
	}
	delete(p.fetches, id)
	if f.evicted && o.Answer == Ours {
		o.Answer = Failed
	}
	if h := p.hosts[f.host]; h != nil {
		h.ended(now, p.terms(f.host), o)
	}
	p.allowances[f.name].ended(now, f.first, o)
	if len(o.Brought) > 0 {
		p.remember(f.Of.PubKey, f.Source)
	}
	if r := p.repos[f.Of]; r != nil && len(f.Needs) > 0 {
		r.ended(now, f, o)
		switch {
		case len(r.needs) == 0:
			p.drop(r)
		case !r.ready:
			p.later.put(r) // somebody may have their turn earlier than before
		}
	}
}

// Returned takes note that a host which fails is there again, as is known from elsewhere: it is asked in a moment, and not when its wait
// is over. One that has asked to be left alone is, all the same.
func (p *Plan) Returned(name string) {
	if len(p.back) < returnsKept {
		p.back[name] = true
	}
}

// ownersKept is for how many owners it is remembered who had something new of them.
const ownersKept = 20_000

func (p *Plan) remember(owner nostr.PubKey, s grasp.Source) {
	if len(p.gave) >= ownersKept {
		p.gave = map[nostr.PubKey]grasp.Source{}
	}
	p.gave[owner] = s
}

func (p *Plan) terms(host string) health.Terms {
	return health.Terms{Self: p.cfg.Self, URL: host, BaseBackoff: baseBackoff, MaxBackoff: maxBackoff, DeadAfter: deadAfter, DeadRetry: deadRetry}
}
