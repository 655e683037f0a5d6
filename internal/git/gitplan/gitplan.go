// Package gitplan decides which server graspd asks for the git data that repositories lack, and when (GRASP-02): in which order, how many at
// a time, how often, and when it leaves a server alone. The plan is a function from what has happened to what has to be done. Its caller
// tells it the time; nothing here waits, dials or reads. Read Plan, then Step.
package gitplan

import (
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of the fetches at a time.
const (
	PerHost   = 4                // fetches that talk with one host, whatever its ports
	QuietFor  = 10 * time.Second // without a byte, after which graspd asks another source besides
	youngFor  = time.Minute      // a fetch that takes longer makes room for another one
	overtimes = 3                // fetches that take longer than youngFor at a time, times Concurrency
)

// Bounds of fetches that take long.
const (
	longFor       = 5 * time.Minute // after so long graspd asks another source besides, though bytes come
	sourcesAtOnce = 4               // fetches of one repository
)

// How long graspd waits until it asks again for a repository.
const (
	PushWithin = 3 * time.Minute  // for the client that brought an event to push its data
	EagerFor   = 30 * time.Minute // from the last event on
	LazyEvery  = time.Hour        // after that
	firstWait  = 20 * time.Second // after the first round, doubled after each until eagerWait
	eagerWait  = 2 * time.Minute
)

// How the plan treats a server that fails, or wants to be asked less.
const (
	baseBackoff = 20 * time.Second
	maxBackoff  = time.Hour
	deadAfter   = 24 * time.Hour
	deadRetry   = 6 * time.Hour
	limitedPace = time.Second      // between two requests, once a server has said that it gets too many
	slowestPace = time.Minute      // the pace doubles each time the server says that, up to this
	paceEases   = 10 * time.Minute // without such an answer, after which the pace is halved
	maxRetry    = time.Hour        // the longest that a server can have itself left alone for
)

// Config says how much the plan does at a time.
type Config struct {
	Self         nostr.PubKey // spreads the waits of different relays
	Concurrency  int          // fetches at once; 0 is 8
	Repositories int          // how many repositories the plan knows at most; 0 is 100,000. A later sweep brings those beyond
	Hosts        int          // how many hosts, and how many servers, the plan remembers at most; 0 is 20,000. Beyond, those go whose memory is worth least
}

// Lack says what a repository lacks. A new Lack replaces the one before.
type Lack struct {
	Of      nip34.Address
	Needs   []Need         // none: the repository lacks nothing any more
	Sources []grasp.Source // in the order in which the plan asks them
}

// Need is the git data of one event.
type Need struct {
	Event   nostr.ID
	After   time.Duration  // from now until the plan looks for it
	Sources []grasp.Source // further sources, for this event alone
	Alone   bool           // the plan asks for this event by itself, as graspd has refused some of its data before
}

// Fetch is one conversation with one server.
type Fetch struct {
	ID     uint64
	Of     nip34.Address
	Source grasp.Source
	Needs  []nostr.ID // events whose git data to ask for; empty: ask for the advertisement alone
}

// Outcome says how a fetch ended.
type Outcome struct {
	Answer   Answer
	Retry    time.Duration // for how long the server wants to be left alone; 0 where it did not say
	Brought  []nostr.ID    // events whose git data this fetch completed
	Requests int           // requests that the fetch made; 0 is not known
	Useless  bool          // whatever Answer says, the URL leads to no git server, or to one that graspd must not ask
}

// Answer says how a server answered a fetch.
type Answer uint8

// The answers.
const (
	Answered Answer = iota // in order, with the wanted data or without it
	Absent                 // in order: the server has no such repository, or none for graspd
	Limited                // the server wants to be asked less
	Failed                 // graspd did not reach the server, or the server did not answer as a git server does
	TooMuch                // in order: the server advertises more than graspd reads
	Refused                // in order: graspd does not take some object that the server sent, or the pack is too large, and so takes nothing
	Ours                   // graspd itself failed; the fetch says nothing about the server
)

// inOrder reports whether the server has said what it has for graspd, or that it has nothing.
func (a Answer) inOrder() bool {
	return a == Answered || a == Absent || a == TooMuch || a == Refused
}

// Effects are what the caller does, in this order.
type Effects struct {
	Stop  []uint64 // fetches to end: nobody wants their data any more, or others wait for their places
	Start []Fetch
	Wake  time.Duration // from now until the caller calls Step again at the latest; 0 for never
}

// Plan knows the repositories that lack something, and the servers that may have their data. One goroutine uses it.
type Plan struct {
	cfg     Config
	repos   map[nip34.Address]*repo
	later   later
	ready   fair.Turns[nostr.PubKey, *repo]
	hosts   map[string]*host
	fetches map[uint64]*running
	surveys []Fetch
	gave    map[nostr.PubKey]grasp.Source // the last source that had something new of an owner
	serial  uint64
	forgot  time.Duration // mono: when the plan last looked for hosts to forget
	blocked time.Duration // mono: when the first host gets free that a repository waits for; each Step sets it

	back     map[string]bool // hosts that have returned and whose repositories have not got their turns yet
	lookBack time.Duration   // mono: not before, for the turns of hosts in back

	allowances map[string]*allowance // by host, whatever the port
}

// running is a fetch under way.
type running struct {
	Fetch
	host  string // with a port
	name  string // the host without a port
	quiet bool   // no byte has come for QuietFor
	heard bool   // the host has sent all that it was asked for
	first bool   // graspd asks the host for this data for the first time
	began backoff.Now

	stopped bool
	evicted bool // stopped for others, though its data is wanted
}

// young reports whether the fetch counts among the Concurrency ones. One that is quiet or takes long does not.
func (f *running) young(now backoff.Now) bool { return !f.quiet && now.Since(f.began) < youngFor }

// New makes a Plan that knows no repository and no server.
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
		gave: map[nostr.PubKey]grasp.Source{}, allowances: map[string]*allowance{}, back: map[string]bool{},
	}
}

// Lacks tells the plan what a repository lacks now.
func (p *Plan) Lacks(now backoff.Now, l Lack) {
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

// drop forgets a repository that lacks nothing any more. It does nothing for nil.
func (p *Plan) drop(r *repo) {
	if r != nil {
		delete(p.repos, r.of)
		p.later.take(r)
	}
}

// PushFailed tells the plan that a push to a repository has failed, so that it no longer waits for the client to push.
func (p *Plan) PushFailed(now backoff.Now, of nip34.Address) {
	if r := p.repos[of]; r != nil {
		r.hurry(now)
		p.later.put(r)
	}
}

// maxSurveys is how many surveys wait at a time. A later sweep brings those beyond.
const maxSurveys = 256

// Survey has the plan ask a server what it advertises of a repository, when no fetch needs the place. It reports whether there was room for one
// more survey.
func (p *Plan) Survey(of nip34.Address, s grasp.Source) bool {
	if len(p.surveys) >= maxSurveys {
		return false
	}
	p.surveys = append(p.surveys, Fetch{Of: of, Source: s})
	return true
}

// Quiet tells the plan that no byte of a fetch has come for QuietFor.
func (p *Plan) Quiet(id uint64) {
	if f := p.fetches[id]; f != nil {
		f.quiet = true
	}
}

// Heard tells the plan that the host has sent all that a fetch asks for, and that graspd only works on it from now on: another fetch may talk
// with the host meanwhile.
func (p *Plan) Heard(id uint64) {
	if f := p.fetches[id]; f != nil {
		f.heard = true
		p.hosts[f.host].proven = true
	}
}

// Ended tells the plan how a fetch ended.
func (p *Plan) Ended(now backoff.Now, id uint64, o Outcome) {
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
			p.later.put(r) // a source may have its turn earlier than before
		}
	}
}

// Returned tells the plan that a failing host is there again, as its relay is connected. The plan asks the host in a moment, and not at the end
// of its wait. It leaves a host alone all the same that has asked for that.
func (p *Plan) Returned(name string) {
	if len(p.back) < returnsKept {
		p.back[name] = true
	}
}

// ownersKept is the number of owners for whom the plan remembers the last source that gave something.
const ownersKept = 20_000

func (p *Plan) remember(owner nostr.PubKey, s grasp.Source) {
	if len(p.gave) >= ownersKept {
		p.gave = map[nostr.PubKey]grasp.Source{}
	}
	p.gave[owner] = s
}

func (p *Plan) terms(host string) backoff.Policy {
	return backoff.Policy{Self: p.cfg.Self, URL: host, BaseBackoff: baseBackoff, MaxBackoff: maxBackoff, DeadAfter: deadAfter, DeadRetry: deadRetry}
}
