package admin

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
)

// One look serves everybody who asks. The pages ask for cheap figures when somebody wants them, at most once a second. keep works figures whose
// cost grows with all repositories out in the background, so that nobody waits for them: often while somebody looks, else now and then.
const (
	fresh       = time.Second
	detailsTime = 10 * time.Second
	idleTime    = time.Minute
	oldestShown = 2 * time.Minute       // whoever finds the holdings older waits for new ones
	quick       = 60 * time.Millisecond // how long a page waits for a busy engine, where it can show an earlier state
)

// The states of a repository.
const (
	lacksGit   = "lacks git data"
	incomplete = "incomplete"
	complete   = "complete"
)

// repository is one repository as the pages show it.
type repository struct {
	RepositoryStatus
	Key, State string
	folded     string // its name, for the search
}

// holdings has all repositories, the worst first. But for chosen nobody changes it once it is made.
type holdings struct {
	at     time.Time
	list   []repository
	byKey  map[string]int
	of     map[string][]int // by relay, the repositories that name it
	gaps   []gapView
	gapsOf map[grasp.RelayURL][]gapView
	count  map[string]int   // by state, the number of repositories
	chosen map[chosen][]int // searches; the pages' lock guards it
}

// hold makes holdings of what the engine and gitsync have told.
func hold(at time.Time, d map[grasp.RelayURL]status.Details, git map[string]status.GitLack) *holdings {
	h := &holdings{at: at, byKey: map[string]int{}, of: map[string][]int{}, count: map[string]int{}, gapsOf: map[grasp.RelayURL][]gapView{}, chosen: map[chosen][]int{}}
	for _, r := range withGit(repositoryStatus(d), git) {
		x := repository{RepositoryStatus: r, Key: key(r.Address), State: incomplete, folded: strings.ToLower(r.Name())}
		switch {
		case r.Git != nil && len(r.Git.Lacks) > 0:
			x.State = lacksGit
		case r.Complete:
			x.State = complete
		}
		h.list = append(h.list, x)
		h.count[x.State]++
	}
	slices.SortFunc(h.list, byName)
	for i, r := range h.list {
		h.byKey[r.Key] = i
		for _, p := range r.Relays {
			h.of[p.URL] = append(h.of[p.URL], i)
		}
	}
	h.gaps = gaps(d)
	for u, x := range d {
		if len(x.Gaps) > 0 {
			h.gapsOf[u] = gaps(map[grasp.RelayURL]status.Details{u: x})
		}
	}
	return h
}

// ask makes new holdings. It waits for the engine.
func (p *Pages) ask(ctx context.Context) *holdings {
	var d map[grasp.RelayURL]status.Details
	var git map[string]status.GitLack
	if p.c.Sync != nil {
		d = p.c.Sync.Details(ctx)
	}
	if p.c.Git != nil {
		git = p.c.Git.Repositories(ctx)
	}
	return hold(time.Now(), d, git)
}

// holdings returns the holdings that were made last; new ones where these are older than most. The caller holds rendering.
func (p *Pages) holdings(ctx context.Context, most time.Duration) *holdings {
	if p.held == nil || time.Since(p.held.at) >= most {
		p.held = p.ask(ctx)
	}
	return p.held
}

// keep samples the states of relays, and makes new holdings where these are due.
func (p *Pages) keep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now := time.Now()
	if p.c.Sync != nil {
		p.history.sample(now, p.c.Sync.Relays(ctx))
	}
	p.rendering.Lock()
	due := idleTime
	if now.Sub(p.lastViewed) < idleTime {
		due = detailsTime
	}
	due -= sampleTime / 2 // a look that came a little late must not put the next one off
	old := p.held == nil || now.Sub(p.held.at) >= due
	p.rendering.Unlock()
	if !old {
		return
	}
	held := p.ask(ctx)
	if ctx.Err() != nil { // not all relays have answered
		return
	}
	p.rendering.Lock()
	defer p.rendering.Unlock()
	p.held = held
}

// relays asks the engine for the relays. Where a busy engine tells only some of them in time, relays returns what it told before. The caller
// holds rendering.
func (p *Pages) relays(ctx context.Context) []status.Relay {
	if !p.lastStatusAt.IsZero() && time.Since(p.lastStatusAt) < fresh {
		return p.lastStatus
	}
	wait := patience
	if !p.lastStatusAt.IsZero() && time.Since(p.lastStatusAt) < oldestShown {
		wait = quick
	}
	look, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if relays := p.c.sorted(look); look.Err() == nil || wait == patience {
		p.lastStatus, p.lastStatusAt = relays, time.Now()
	}
	return p.lastStatus
}
