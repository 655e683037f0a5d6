package cluster

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Which nodes people write at, and which ones they clone from: any, or the one that leads.
const (
	writesAnywhere = true
	clonesAnywhere = true
)

// nodes are machines that share a bucket, each with a proxy of its own before that.
type nodes struct {
	t        *testing.T
	machines []*machine
	proxies  []*proxy

	mu     sync.Mutex // guards all below
	sights []sight    // by machine
	leads  leading
}

// sight is what was last seen of a machine.
type sight struct {
	leads, ready   bool
	term, position uint64
	trouble        time.Time // when it last came to harm, was not ready, or began or ceased to lead
}

// leading counts how long nobody led.
type leading struct {
	last           time.Time // when somebody led
	longest, total time.Duration
	term           uint64
	changes        int // how often somebody began to lead
}

func newNodes(t *testing.T, s *server, prefix string, n int) *nodes {
	t.Helper()
	ns := &nodes{t: t, sights: make([]sight, n), leads: leading{last: time.Now()}}
	for range n {
		p, address := newProxy(t, s.address)
		ns.proxies = append(ns.proxies, p)
		ns.machines = append(ns.machines, newMachine(t, bucketURL(prefix, address), "--cluster-listen", freeAddress(t)))
	}
	return ns
}

// watch looks at all machines until ctx ends.
func (ns *nodes) watch(ctx context.Context) {
	var all sync.WaitGroup
	for i := range ns.machines {
		all.Go(func() {
			for ctx.Err() == nil {
				ns.look(ctx, i)
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	all.Wait()
}

var placeOf = regexp.MustCompile(`\(term (\d+), position (\d+)\)`)

// look looks at one machine.
func (ns *nodes) look(ctx context.Context, i int) {
	code, text := ns.machines[i].readiness(ctx)
	now := time.Now()
	ns.mu.Lock()
	defer ns.mu.Unlock()
	s := &ns.sights[i]
	led := s.leads
	s.ready, s.leads = code == http.StatusOK, strings.Contains(text, "this node leads since")
	if at := placeOf.FindStringSubmatch(text); at != nil {
		s.term, _ = strconv.ParseUint(at[1], 10, 64) // both are digits
		s.position, _ = strconv.ParseUint(at[2], 10, 64)
	}
	if !s.ready || s.leads != led || ns.proxies[i].away.Load() || strings.Contains(text, "does not answer") {
		s.trouble = now
	}
	ns.leads.see(now, *s)
}

// see counts a machine that was just seen. One that does not know yet that another one leads does not count.
func (l *leading) see(now time.Time, s sight) {
	gap := now.Sub(l.last)
	l.longest = max(l.longest, gap)
	if !s.leads || s.term < l.term {
		return
	}
	if gap > 200*time.Millisecond { // it is seen every 50 ms
		l.total += gap
	}
	l.last = now
	if s.term > l.term {
		l.changes++
		l.term = s.term
	}
}

// readiness is what a machine says of itself to a load balancer; 0 is nothing.
func (m *machine) readiness(ctx context.Context) (int, string) {
	ctx, end := context.WithTimeout(ctx, time.Second)
	defer end()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.admin+"/readyz", http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// harm notes that something is done to machines, or was.
func (ns *nodes) harm(which ...int) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for _, i := range which {
		ns.sights[i].trouble = time.Now()
	}
}

// troubled reports whether one of some machines was in trouble since, or a moment before. It may be seen later.
func (ns *nodes) troubled(since time.Time, some ...*machine) bool {
	for late := time.Now().Add(3 * time.Second); time.Now().Before(late); time.Sleep(50 * time.Millisecond) {
		for _, m := range some {
			if ns.trouble(m).After(since.Add(-time.Second)) {
				return true
			}
		}
	}
	return false
}

// trouble returns when a machine was last in trouble.
func (ns *nodes) trouble(m *machine) time.Time {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	return ns.sights[slices.Index(ns.machines, m)].trouble
}

// leader returns the machine that leads; nil where none is known to.
func (ns *nodes) leader() *machine {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	var m *machine
	var term uint64
	for i, s := range ns.sights {
		if s.leads && s.term > term {
			m, term = ns.machines[i], s.term
		}
	}
	return m
}

// pick returns a machine for somebody: any, or the one that leads; nil where none is known to.
func (ns *nodes) pick(r *rand.Rand, anywhere bool) *machine {
	if anywhere {
		return ns.machines[r.IntN(len(ns.machines))]
	}
	return ns.leader()
}

// letter names a machine.
func (ns *nodes) letter(m *machine) string {
	return string(rune('a' + slices.Index(ns.machines, m)))
}

// unwell says why not all is well: one node leads, and all are ready.
func (ns *nodes) unwell() string {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	leaders := 0
	for i, s := range ns.sights {
		if !s.ready {
			return fmt.Sprintf("%s is not ready", ns.letter(ns.machines[i]))
		}
		if s.leads {
			leaders++
		}
	}
	if leaders != 1 {
		return fmt.Sprintf("%d nodes lead", leaders)
	}
	return ""
}

// unlevel says why the nodes are not level: all is well, and all are at the same position.
func (ns *nodes) unlevel() string {
	if why := ns.unwell(); why != "" {
		return why
	}
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for i, s := range ns.sights {
		if s.position != ns.sights[0].position {
			return fmt.Sprintf("%s is at %d, and a at %d", ns.letter(ns.machines[i]), s.position, ns.sights[0].position)
		}
	}
	return ""
}

// become waits until nothing speaks against the nodes.
func (ns *nodes) become(what string, against func() string) bool {
	why := ""
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if why = against(); why == "" {
			return true
		}
	}
	ns.t.Errorf("they do not become %s: %s", what, why)
	for _, m := range ns.machines {
		ns.t.Logf("%s: %s", ns.letter(m), m.logs.tail())
	}
	return false
}
