package gitplan_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var (
	runs  = flag.Int("runs", 20, "random worlds")
	first = flag.Uint64("first", 1, "the seed of the first one")
)

// server is a git server of a world.
type server struct {
	name  string
	kind  string
	from  time.Duration   // when it begins to have what it has
	took  []time.Duration // when each fetch of it began
	ends  time.Duration   // of what it asked to be left alone
	under int
	vain  vain

	proven bool // it has answered
}

// vain is what a server was asked without giving anything: what is left of it when it may be asked once a second, and each answer that
// brought something makes up for some requests.
type vain struct {
	left float64
	at   time.Duration
}

func (v *vain) count(now time.Duration, requests float64) {
	v.left = max(0, max(0, v.left-(now-v.at).Seconds())+requests)
	v.at = now
}

// mostVain is what a server is asked at once in vain: its allowance of either sort, and what fetches under way take more than they were
// taken for.
const mostVain = 2*60 + 40

// job is a fetch under way in a world.
type job struct {
	gitplan.Fetch
	s       *server
	at      time.Duration // when it ends
	quietAt time.Duration
	heardAt time.Duration // when the host has sent everything; 0 where it never has
	began   time.Duration
	heard   bool
	quiet   bool
	o       gitplan.Outcome
}

// world is some owners' repositories and the servers that they name.
type world struct {
	t       *testing.T
	r       *rand.Rand
	looks   *rand.Rand // when it is looked whether the plan sleeps too long; what happens does not depend on it
	now     time.Duration
	wall    time.Time
	plan    *gitplan.Plan
	servers map[string]*server
	lacks   map[nip34.Address]*gitplan.Lack
	had     map[nostr.ID]*wait // what some good server has
	tales   map[nip34.Address]*tale
	jobs    map[uint64]*job
	brought map[nostr.ID]time.Duration
	cap     int
	steps   int
	later   []happening
	poison  map[nostr.ID]bool // that is taken from nobody
	slowly  map[nostr.ID]bool // that some server has, which takes long
	sets    bool              // its clock is set now and then
	event   uint16
	said    []string // what it saw, if it keeps that
	keeps   bool
}

// says writes down what happens.
func (w *world) says(format string, args ...any) {
	if w.keeps {
		w.said = append(w.said, fmt.Sprint(w.now, " ", fmt.Sprintf(format, args...)))
	}
}

// ids are the fetches under way, the oldest first.
func (w *world) ids() []uint64 { return slices.Sorted(maps.Keys(w.jobs)) }

// addresses are the repositories that lacked something, in the order of their owners and names.
func (w *world) addresses() []nip34.Address {
	return slices.SortedFunc(maps.Keys(w.lacks), nip34.Address.Compare)
}

// tale is what has happened to a repository.
type tale struct {
	sources []grasp.Source // of all that it ever lacked
	news    int            // how often something was new, after the beginning
	needs   int            // all that it ever lacked
	poison  bool           // something of that is not taken
}

// wait is how long it took until something came that a server has.
type wait struct {
	of      nip34.Address
	since   time.Duration // that some server has had it
	servers []*server     // that have it, now or later
	came    bool
	free    time.Duration // of the time until then, while there was a place for it
}

// happening is what a world does by itself.
type happening struct {
	at time.Duration
	do func()
}

func (w *world) clock() backoff.Now { return backoff.Now{Mono: w.now, Wall: w.wall.Add(w.now)} }

func source(s *server, d string) grasp.Source {
	return grasp.Source("https://" + s.name + "/" + d + ".git")
}

func newWorld(t *testing.T, seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &world{
		t: t, r: r, looks: rand.New(rand.NewPCG(seed, 2)), wall: time.Unix(1_700_000_000, 0), servers: map[string]*server{}, lacks: map[nip34.Address]*gitplan.Lack{},
		had: map[nostr.ID]*wait{}, tales: map[nip34.Address]*tale{}, jobs: map[uint64]*job{}, brought: map[nostr.ID]time.Duration{}, cap: 2 + r.IntN(10),
		poison: map[nostr.ID]bool{}, slowly: map[nostr.ID]bool{},
	}
	w.plan = gitplan.New(gitplan.Config{Concurrency: w.cap})
	kinds := []string{"good", "good", "dead", "empty", "slow", "limited", "lying", "later", "absent", "endless", "large", "long", "long"}
	var all []*server
	for i := range 2 + r.IntN(12) {
		s := &server{name: fmt.Sprintf("s%d.example.org", i), kind: kinds[r.IntN(len(kinds))]}
		if s.kind == "later" {
			s.from = time.Duration(r.IntN(72)) * time.Hour
		}
		w.servers[s.name] = s
		all = append(all, s)
	}
	if r.IntN(5) == 0 {
		w.crowd(all)
	}
	for i := range 1 + r.IntN(40) {
		of := nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{byte(1 + r.IntN(5))}, D: fmt.Sprintf("d%d", i)}
		l := &gitplan.Lack{Of: of}
		for _, k := range r.Perm(len(all))[:1+r.IntN(min(5, len(all)))] {
			l.Sources = append(l.Sources, source(all[k], of.D))
		}
		for range 1 + r.IntN(4) {
			w.need(l, all)
		}
		w.lacks[of] = l
		if r.IntN(3) == 0 {
			w.later = append(w.later, happening{w.soon(), func() { w.need(l, all); w.plan.Lacks(w.clock(), *l) }})
		}
		if r.IntN(4) == 0 {
			w.later = append(w.later, happening{w.soon(), func() { w.push(l) }})
		}
	}
	for range r.IntN(20) {
		w.later = append(w.later, happening{w.soon(), func() { w.plan.Returned(all[r.IntN(len(all))].name) }})
	}
	if w.sets = r.IntN(4) == 0; w.sets {
		for range 3 {
			w.later = append(w.later, happening{w.soon(), func() { w.wall = w.wall.Add(time.Duration(r.IntN(2000)-1000) * time.Hour) }})
		}
	}
	slices.SortStableFunc(w.later, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	return w
}

// crowd is many repositories of one server, which has none of them.
func (w *world) crowd(all []*server) {
	s := &server{name: "crowded.example.org", kind: "empty"}
	if w.r.IntN(2) == 0 {
		s.kind = "absent"
	}
	w.servers[s.name] = s
	for i := range 40 + w.r.IntN(80) {
		of := nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{byte(10 + w.r.IntN(1+i))}, D: fmt.Sprintf("c%d", i)}
		l := &gitplan.Lack{Of: of, Sources: []grasp.Source{source(s, of.D)}}
		w.need(l, all)
		w.lacks[of] = l
	}
}

// soon is some time of the first three days, of the first minutes mostly.
func (w *world) soon() time.Duration {
	if w.r.IntN(2) == 0 {
		return time.Duration(w.r.IntN(600_000)) * time.Millisecond
	}
	return time.Duration(w.r.IntN(72*3600)) * time.Second
}

// need adds something to what a repository lacks.
func (w *world) need(l *gitplan.Lack, all []*server) {
	w.event++
	n := gitplan.Need{Event: nostr.ID{byte(w.event >> 8), byte(w.event), 1}}
	if w.r.IntN(3) == 0 {
		n.After = gitplan.PushWithin
	}
	if w.r.IntN(4) == 0 {
		n.Sources = []grasp.Source{source(all[w.r.IntN(len(all))], "fork")}
	}
	l.Needs = append(l.Needs, n)
	x := w.tales[l.Of]
	if x == nil {
		x = &tale{sources: l.Sources}
		w.tales[l.Of] = x
	}
	if x.needs++; w.now > 0 {
		x.news++
	}
	x.sources = append(slices.Clone(x.sources), n.Sources...)
	if w.r.IntN(8) == 0 {
		x.poison = true
		w.poison[n.Event] = true
		return
	}
	for _, s := range append(slices.Clone(l.Sources), n.Sources...) {
		if w.servers[s.Host()].kind == "long" {
			w.slowly[n.Event] = true
		}
		if x := w.servers[s.Host()]; x.kind == "good" || x.kind == "later" {
			since := max(x.from, w.now)
			if w.had[n.Event] == nil {
				w.had[n.Event] = &wait{of: l.Of, since: since}
			}
			h := w.had[n.Event]
			h.since, h.servers = min(h.since, since), append(h.servers, x)
		}
	}
}

// push brings one of the things that a repository lacks, or fails.
func (w *world) push(l *gitplan.Lack) {
	if len(l.Needs) == 0 || w.r.IntN(3) == 0 {
		w.tales[l.Of].news++
		w.plan.PushFailed(w.clock(), l.Of)
		return
	}
	delete(w.had, l.Needs[0].Event)
	delete(w.slowly, l.Needs[0].Event)
	l.Needs = slices.Delete(slices.Clone(l.Needs), 0, 1)
	w.plan.Lacks(w.clock(), *l)
}

// begin checks what is begun, and decides how it ends.
func (w *world) begin(f gitplan.Fetch) {
	s := w.servers[f.Source.Host()]
	l := w.lacks[f.Of]
	if l == nil || len(f.Needs) == 0 {
		w.t.Fatalf("asked for nothing that is lacked: %+v", f)
	}
	for _, id := range f.Needs {
		i := slices.IndexFunc(l.Needs, func(n gitplan.Need) bool { return n.Event == id })
		if i < 0 {
			w.t.Fatalf("%v is not lacked by %s", id, f.Of)
		}
		if !slices.Contains(l.Sources, f.Source) && !slices.Contains(l.Needs[i].Sources, f.Source) {
			w.t.Fatalf("%s is asked for %v, which nobody says it has", f.Source, id)
		}
	}
	if s.under++; s.under > gitplan.PerHost {
		w.t.Fatalf("%d at once of %s", s.under, s.name)
	}
	if w.now < s.ends {
		w.t.Fatalf("%s is asked %v before it wants to be", s.name, s.ends-w.now)
	}
	s.took = append(s.took, w.now)
	if s.vain.count(w.now, 3); s.vain.left > mostVain {
		w.t.Fatalf("%s is asked %.0f requests in vain", s.name, s.vain.left)
	}
	w.says("%s of %s is asked for %v", f.Source, f.Of, f.Needs)
	j := &job{Fetch: f, s: s, began: w.now, quietAt: w.now + gitplan.QuietFor}
	took := time.Duration(50+w.r.IntN(2000)) * time.Millisecond
	switch s.kind {
	case "good", "later":
		if w.now >= s.from {
			j.gives(w.poison)
		}
	case "long":
		took = time.Duration(2+w.r.IntN(20)) * time.Minute
		j.gives(w.poison)
	case "dead":
		took, j.o.Answer = 10*time.Second, gitplan.Failed
	case "slow":
		took, j.o.Answer = 30*time.Minute, gitplan.Failed
	case "endless":
		took, j.o.Answer = 20*time.Minute, gitplan.Failed
	case "limited":
		if w.r.IntN(2) == 0 {
			j.o.Answer, j.o.Retry = gitplan.Limited, time.Duration(w.r.IntN(7200))*time.Second
		}
	case "lying":
		j.o.Answer = gitplan.Ours
	case "large":
		took, j.o.Answer = 4*time.Minute, gitplan.TooMuch
	case "absent":
		j.o.Answer = gitplan.Absent
	}
	j.at = w.now + took
	if len(j.o.Brought) > 0 && w.r.IntN(2) == 0 {
		j.heardAt = w.now + took/time.Duration(1+w.r.IntN(4))
	}
	w.jobs[f.ID] = j
	if len(w.jobs) > 4*w.cap {
		w.t.Fatalf("%d fetches at once", len(w.jobs))
	}
}

// gives lets a fetch bring what it is for, or nothing of it if something of that is not taken.
func (j *job) gives(poison map[nostr.ID]bool) {
	if slices.ContainsFunc(j.Needs, func(id nostr.ID) bool { return poison[id] }) {
		j.o.Answer = gitplan.Refused
	} else {
		j.o.Brought = j.Needs
	}
}

func (w *world) step() time.Duration {
	if w.steps++; w.steps > 2_000_000 {
		w.t.Fatal("it does not come to rest")
	}
	e := w.plan.Step(w.clock())
	for _, id := range e.Stop {
		w.says("%d is stopped", id)
		if w.jobs[id] == nil {
			w.t.Fatalf("fetch %d is stopped, and is not under way", id)
		}
		w.end(w.jobs[id], gitplan.Outcome{Answer: gitplan.Ours})
	}
	for _, f := range e.Start {
		w.begin(f)
	}
	if len(e.Stop) > 0 {
		return w.step()
	}
	if e.Wake == 0 {
		return 1 << 62
	}
	return w.now + e.Wake
}

func (w *world) end(j *job, o gitplan.Outcome) {
	delete(w.jobs, j.ID)
	if !j.heard {
		j.s.under--
	}
	j.s.proven = j.s.proven || o.Answer != gitplan.Failed && o.Answer != gitplan.Limited && o.Answer != gitplan.Ours
	if o.Answer == gitplan.Limited {
		j.s.ends = w.now + min(o.Retry, time.Hour)
	}
	if o.Requests = w.r.IntN(7); o.Requests > 0 {
		j.s.vain.count(w.now, float64(o.Requests-3))
	}
	if len(o.Brought) > 0 {
		j.s.vain.count(w.now, -3-18)
	}
	w.says("%d ends: %v %v", j.ID, o.Answer, o.Brought)
	w.plan.Ended(w.clock(), j.ID, o)
	if l := w.lacks[j.Of]; l != nil && len(o.Brought) > 0 {
		for _, id := range o.Brought {
			if _, ok := w.brought[id]; !ok {
				w.brought[id] = w.now
			}
			if h := w.had[id]; h != nil {
				h.came = true
			}
		}
		l.Needs = slices.DeleteFunc(slices.Clone(l.Needs), func(n gitplan.Need) bool { return slices.Contains(o.Brought, n.Event) })
		w.plan.Lacks(w.clock(), *l)
	}
}

func (w *world) run(until time.Duration) {
	for _, of := range w.addresses() {
		w.plan.Lacks(w.clock(), *w.lacks[of])
	}
	wake := w.step()
	for w.now < until {
		next := min(wake, until)
		for _, j := range w.jobs {
			next = min(next, j.at)
			if j.heardAt > w.now {
				next = min(next, j.heardAt)
			}
			if j.quietAt > w.now && (j.s.kind == "slow" || j.s.kind == "dead") {
				next = min(next, j.quietAt)
			}
		}
		if len(w.later) > 0 {
			next = min(next, w.later[0].at)
		}
		w.waits(next - w.now)
		w.early(next)
		w.now = next
		for len(w.later) > 0 && w.later[0].at <= w.now {
			w.later[0].do()
			w.later = w.later[1:]
		}
		for _, id := range w.ids() {
			if j := w.jobs[id]; j.at <= w.now {
				w.end(j, j.o)
			} else if j.heardAt > 0 && j.heardAt <= w.now && !j.heard {
				j.heard = true
				j.s.under--
				w.plan.Heard(j.ID)
			} else if j.quietAt <= w.now && (j.s.kind == "slow" || j.s.kind == "dead") {
				j.quiet = true
				w.plan.Quiet(j.ID)
			}
		}
		wake = w.step()
	}
}

// early steps before anything has happened and before the plan wants to: it has nothing to do yet, as it would have been late by its own
// time otherwise.
func (w *world) early(next time.Duration) {
	if w.sets || next-w.now <= time.Millisecond || w.looks.IntN(4) > 0 {
		return
	}
	w.now += time.Duration(w.looks.Int64N(int64(next - w.now)))
	if e := w.plan.Step(w.clock()); len(e.Start)+len(e.Stop) > 0 {
		w.t.Fatalf("%v: it would have slept, and begins %v and stops %v", w.now, e.Start, e.Stop)
	}
}

// waits counts the time for what waits though there is a place for it: as many fetches as may be take none, the owner has less than half,
// and a server that has it may be asked.
func (w *world) waits(d time.Duration) {
	half := max(1, w.cap/2)
	young, unproven, owners, ofOwners := 0, 0, map[nostr.PubKey]int{}, map[nostr.PubKey]int{}
	for _, j := range w.jobs {
		ofOwners[j.Of.PubKey]++
		if !j.quiet && w.now-j.began < time.Minute {
			young++
			owners[j.Of.PubKey]++
			if !j.s.proven {
				unproven++
			}
		}
	}
	if young >= w.cap || len(w.jobs) >= 4*w.cap {
		return
	}
	for _, h := range w.had {
		if h.came || w.now < h.since || owners[h.of.PubKey] >= half || ofOwners[h.of.PubKey] >= 4*half {
			continue
		}
		if slices.ContainsFunc(h.servers, func(s *server) bool {
			v := s.vain
			v.count(w.now, 0)
			return w.now >= s.from && s.under < gitplan.PerHost && (s.proven || unproven < half) && v.left < 50
		}) {
			h.free += d
		}
	}
}

// most is how long something may wait though there is a place for it. Its server has its turn after the wait of a round, which is two
// minutes and an eighth for what was there from the start, after the three minutes for a push, and an hour and an eighth for the rest.
// Before it each other source is asked once, which holds it up for ten seconds, or for five minutes if bytes come for so long; and again
// with each thing that is new, and before each part in which it is asked for where something is not taken.
func (w *world) most(id nostr.ID) time.Duration {
	h := w.had[id]
	x := w.tales[h.of]
	round := gitplan.LazyEvery + gitplan.LazyEvery/8
	if h.since == 0 && !w.sets {
		round = gitplan.PushWithin + 2*time.Minute + 15*time.Second
	}
	times := 1 + x.news
	if x.poison {
		times += 2 * x.needs
	}
	others := time.Duration(0)
	for _, s := range x.sources {
		if others += 15 * time.Second; slices.Contains([]string{"long", "endless", "large"}, w.servers[s.Host()].kind) {
			others += 5 * time.Minute
		}
	}
	return round + time.Duration(times)*others
}

// check holds the world to what is promised.
func (w *world) check() {
	for id, h := range w.had {
		at, ok := w.brought[id]
		if most := w.most(id); !ok || h.free > most {
			w.t.Errorf("%v has been had since %v, and came at %v (%v), after %v with a place for it, which is to be %v", id, h.since, at, ok, h.free, most)
		}
	}
	for id := range w.slowly {
		if _, ok := w.brought[id]; !ok {
			w.t.Errorf("%v takes long, and never came", id)
		}
	}
	for _, s := range w.servers {
		if s.kind == "dead" && len(s.took) > 200 {
			w.t.Errorf("%s, which is dead, was asked %d times", s.name, len(s.took))
		}
	}
	if left := w.plan.Stats(w.clock()).Fetching; left != len(w.jobs) {
		w.t.Errorf("%d fetches are under way, and %d are counted", len(w.jobs), left)
	}
}

// TestWorlds runs random worlds of git servers for weeks: whatever others do, what some server has arrives, and nobody is asked for
// more than they may be.
func TestWorlds(t *testing.T) {
	for i := range *runs {
		seed := *first + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			w.run(5 * 24 * time.Hour)
			w.check()
		})
	}
}

// TestAWorldIsLivedTheSameWay: the same seed is the same life, fetch by fetch.
func TestAWorldIsLivedTheSameWay(t *testing.T) {
	for seed := range uint64(12) {
		var lives [2][]string
		for i := range lives {
			w := newWorld(t, seed)
			w.keeps = true
			w.run(24 * time.Hour)
			lives[i] = w.said
		}
		for i := range min(len(lives[0]), len(lives[1])) {
			if lives[0][i] != lives[1][i] {
				t.Fatalf("world %d, line %d\n%s\n%s", seed, i+1, lives[0][i], lives[1][i])
			}
		}
		if len(lives[0]) != len(lives[1]) || len(lives[0]) == 0 {
			t.Fatalf("world %d: %d and %d lines", seed, len(lives[0]), len(lives[1]))
		}
	}
}
