package refs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// world is one service with the repositories of one identifier. Its events come in any order, its objects too.
type world struct {
	t       *testing.T
	objects map[gitwire.ObjectID]bool
	orphans []*nostr.Event // that policy would not accept yet
	waiting refs.Waiting   // with what is served
	prs     []refs.PullRequest
	served  map[nostr.ID]bool
	rows    map[nostr.PubKey]refs.Projection
}

func newWorld(t *testing.T) *world {
	return &world{t: t, objects: map[gitwire.ObjectID]bool{}, served: map[nostr.ID]bool{}, rows: map[nostr.PubKey]refs.Projection{}}
}

func (w *world) has(o gitwire.ObjectID) bool { return w.objects[o] }

// accepts is as much of policy as orders what depends on announcements.
func (w *world) accepts(e *nostr.Event) bool {
	announced := func(pk nostr.PubKey) bool {
		return slices.ContainsFunc(slices.Concat(w.waiting.Served, w.waiting.Announcements), func(a refs.Announcement) bool { return a.Author == pk })
	}
	switch e.Kind {
	case nip34.KindState:
		return announced(e.PubKey)
	case nip34.KindPullRequest:
		return slices.ContainsFunc(nip34.Repositories(e), func(a nip34.Address) bool { return announced(a.PubKey) })
	}
	return true
}

func (w *world) arrive(e *nostr.Event) {
	if !w.accepts(e) {
		w.orphans = append(w.orphans, e)
		return
	}
	d := refs.Decide(e, refs.About{Hosting: true, Lists: true, Has: w.has, Announcements: slices.Concat(w.waiting.Served, w.waiting.Announcements),
		States: w.waiting.Complete, PullRequests: w.prs})
	switch e.Kind {
	case nip34.KindRepository:
		a, _ := refs.ReadAnnouncement(e)
		w.waiting.Announcements = append(w.waiting.Announcements, a)
		if d.Outcome == refs.Store {
			w.serve(a.ID)
		}
	case nip34.KindState:
		s, _ := refs.ReadState(e)
		w.waiting.States = append(w.waiting.States, s)
	case nip34.KindPullRequest:
		p, _ := refs.ReadPullRequest(e)
		w.waiting.PullRequests = append(w.waiting.PullRequests, p)
	}
	w.settle()
	if w.served[e.ID] != (d.Outcome == refs.Store) {
		w.t.Errorf("kind %d: %+v, served %v", e.Kind, d, w.served[e.ID])
	}
	again := w.orphans
	w.orphans = nil
	for _, o := range again {
		w.arrive(o)
	}
}

// settle releases what is complete.
func (w *world) settle() {
	ready := map[nostr.ID]bool{}
	for _, s := range w.waiting.States {
		ready[s.ID] = !slices.ContainsFunc(s.Refs, func(r refs.Ref) bool { return !w.has(r.ID) })
	}
	for _, p := range w.waiting.PullRequests {
		ready[p.ID] = w.has(p.Tip)
	}
	for _, i := range w.waiting.Release(func(i nostr.ID) bool { return ready[i] }) {
		w.serve(i)
	}
	if more := w.waiting.Release(func(i nostr.ID) bool { return ready[i] }); len(more) > 0 {
		w.t.Errorf("a second look releases %d more", len(more))
	}
	w.project()
}

func (w *world) serve(i nostr.ID) {
	w.served[i] = true
	w.waiting.Announcements = slices.DeleteFunc(w.waiting.Announcements, func(a refs.Announcement) bool {
		if a.ID == i {
			w.waiting.Served = append(w.waiting.Served, a)
		}
		return a.ID == i
	})
	w.waiting.States = slices.DeleteFunc(w.waiting.States, func(s refs.State) bool {
		if s.ID == i {
			w.waiting.Complete = append(w.waiting.Complete, s)
		}
		return s.ID == i
	})
	w.waiting.PullRequests = slices.DeleteFunc(w.waiting.PullRequests, func(p refs.PullRequest) bool {
		if p.ID == i {
			w.prs = append(w.prs, p)
		}
		return p.ID == i
	})
}

func (w *world) project() {
	all := slices.Concat(w.waiting.Served, w.waiting.Announcements)
	for _, a := range w.waiting.Served {
		m := councilOf(a.Author, w.waiting.Served...)
		of := a.Address()
		w.rows[a.Author] = w.rows[a.Author].Next(of, refs.Change{Members: m, States: w.waiting.Complete, PullRequests: w.prs})
		for _, s := range w.waiting.Complete {
			if m.Has(s.Author) != councilOf(a.Author, all...).Has(s.Author) {
				w.t.Errorf("what waits tells otherwise than what is served who decides")
			}
		}
	}
}

// lived are the events and objects of one world.
func lived(seed uint64) (events []*nostr.Event, objects []gitwire.ObjectID) {
	r := rand.New(rand.NewPCG(seed, 9))
	for _, who := range people {
		if r.IntN(4) == 0 {
			continue
		}
		lists := tag("maintainers")
		for _, l := range randomAnnouncement(r, who).Listed {
			lists = append(lists, l.String())
		}
		tags := nostr.Tags{tag("d", "d"), lists}
		if r.IntN(8) == 0 {
			tags = append(tags, tag("u", "https://x"))
		}
		events = append(events, event("a"+who, who, int64(r.IntN(4)), nip34.KindRepository, tags...))
		if r.IntN(2) == 0 {
			object := fmt.Sprint(1 + r.IntN(4))
			events = append(events, event("s"+who, who, int64(r.IntN(4)), nip34.KindState, tag("d", "d"), tag("HEAD", "refs/heads/main"),
				tag("refs/heads/main", hexOID(object)), tag("refs/heads/"+who, hexOID(object))))
		}
	}
	for i := range r.IntN(3) {
		events = append(events, event(fmt.Sprint("p", i), "mallory", 1, nip34.KindPullRequest, tag("c", hexOID(fmt.Sprint(1+r.IntN(4)))),
			tag("a", repo(people[r.IntN(5)], "d").String()), tag("a", repo(people[r.IntN(5)], "d").String())))
	}
	for i := range 3 { // the fourth never comes
		objects = append(objects, oid(fmt.Sprint(i+1)))
	}
	return events, objects
}

// summary is what strangers see in the end.
func (w *world) summary() string {
	var lines []string
	for i := range w.served {
		lines = append(lines, i.String())
	}
	for pk, p := range w.rows {
		lines = append(lines, fmt.Sprint(pk, p.ID, p.Head, p.All()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// However events and objects come, the same is served in the end, with the same refs.
func TestWorldsAreTheSameInAnyOrder(t *testing.T) {
	complete := 0
	for seed := range uint64(400) {
		events, objects := lived(seed)
		var want string
		for order := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, order))
			var steps []func(*world)
			for _, e := range events {
				steps = append(steps, func(w *world) { w.arrive(e) })
			}
			for _, o := range objects {
				steps = append(steps, func(w *world) { w.objects[o] = true; w.settle() })
			}
			r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
			w := newWorld(t)
			for _, s := range steps {
				s(w)
			}
			got := w.summary()
			if order == 0 {
				want = got
			}
			if got != want {
				t.Fatalf("seed %d, order %d:\n%s\nwant\n%s", seed, order, got, want)
			}
			complete += len(w.waiting.Complete)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if complete < 1000 {
		t.Errorf("only %d states were released", complete)
	}
}
