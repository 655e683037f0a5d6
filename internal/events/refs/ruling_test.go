package refs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit/lives"
)

// step is one change in a table: the states that are looked at and who maintains the repository by then.
type step struct {
	members *grasp.Set
	states  []refs.State
}

func TestWhichStateRules(t *testing.T) {
	ours := members("alice", "bob", "(carol)")
	s := func(name, author string, at int64) refs.State { return state(name, author, at, "main="+name) }
	other := s("other", "alice", 9)
	other.D = "e"
	flawed := s("flawed", "alice", 9)
	flawed.Flaw = "impossible"
	low, high := "tie0", "tie1"
	if id(low).Compare(id(high)) > 0 {
		low, high = high, low
	}
	for _, tc := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"none", []step{{ours, nil}}, ""},
		{"one", []step{{ours, []refs.State{s("a", "alice", 5)}}}, "a"},
		{"the newest", []step{{ours, []refs.State{s("a", "alice", 5), s("b", "bob", 7), s("c", "alice", 6)}}}, "b"},
		{"on a tie the lowest id", []step{{ours, []refs.State{s(high, "alice", 5), s(low, "bob", 5)}}}, low},
		{"an invited author does not", []step{{ours, []refs.State{s("c", "carol", 9), s("a", "alice", 5)}}}, "a"},
		{"a stranger does not", []step{{ours, []refs.State{s("m", "mallory", 9)}}}, ""},
		{"another identifier", []step{{ours, []refs.State{other, s("a", "alice", 5)}}}, "a"},
		{"what no repository can be", []step{{ours, []refs.State{flawed, s("a", "alice", 5)}}}, "a"},
		{"an older one later", []step{{ours, []refs.State{s("a", "alice", 5)}}, {ours, []refs.State{s("b", "bob", 4)}}}, "a"},
		{"a newer one later", []step{{ours, []refs.State{s("a", "alice", 5)}}, {ours, []refs.State{s("b", "bob", 6)}}}, "b"},
		{"gone, and an older one is left", []step{{ours, []refs.State{s("a", "alice", 5), s("b", "bob", 4)}}, {ours, []refs.State{s("b", "bob", 4)}}}, "a"},
		{"gone, and the next is newer", []step{{ours, []refs.State{s("a", "alice", 5)}}, {ours, nil}, {ours, []refs.State{s("b", "bob", 6)}}}, "b"},
		{"gone, and the next is older", []step{{ours, []refs.State{s("a", "alice", 5)}}, {ours, nil}, {ours, []refs.State{s("b", "bob", 4)}}}, "a"},
		{"its author leaves", []step{{ours, []refs.State{s("a", "alice", 5), s("b", "bob", 7)}}, {members("alice"), []refs.State{s("a", "alice", 5), s("b", "bob", 7)}}}, "a"},
		{"its author leaves, and nobody else has one", []step{{ours, []refs.State{s("b", "bob", 7)}}, {members("alice"), []refs.State{s("b", "bob", 7)}}}, "b"},
		{"its author left, and an older one comes", []step{{ours, []refs.State{s("b", "bob", 7)}}, {members("alice"), nil}, {members("alice"), []refs.State{s("a", "alice", 5)}}}, "a"},
		{"another leaves", []step{{ours, []refs.State{s("a", "alice", 5), s("b", "bob", 4)}}, {members("alice"), nil}}, "a"},
		{"a newer author joins", []step{{members("alice"), []refs.State{s("a", "alice", 5)}}, {ours, []refs.State{s("a", "alice", 5), s("b", "bob", 7)}}}, "b"},
		{"an older author joins", []step{{members("alice"), []refs.State{s("a", "alice", 5)}}, {ours, []refs.State{s("a", "alice", 5), s("b", "bob", 4)}}}, "a"},
		{"leaves and joins again", []step{{ours, []refs.State{s("a", "alice", 5), s("b", "bob", 7)}}, {members("alice"), []refs.State{s("a", "alice", 5)}},
			{ours, []refs.State{s("a", "alice", 5), s("b", "bob", 7)}}}, "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p refs.Projection
			for _, st := range tc.steps {
				p = p.Next(repo("alice", "d"), refs.Change{Members: st.members, States: st.states})
			}
			if !p.Ruled {
				if tc.want != "" || len(p.Refs) > 0 || p.Generation != 0 {
					t.Errorf("nothing rules: %+v", p)
				}
				return
			}
			if p.ID != id(tc.want) || !p.Refs.Equal(set("main="+tc.want)) {
				t.Errorf("%v rules with %v", p.ID, p.Refs)
			}
		})
	}
}

func TestHead(t *testing.T) {
	for _, tc := range []struct {
		name   string
		states []refs.State
		want   string
	}{
		{"named", []refs.State{withHead(state("1", "alice", 1, "a=1 dev=1 main=1"), "dev")}, "dev"},
		{"main", []refs.State{state("1", "alice", 1, "a=1 main=1 master=1")}, "main"},
		{"master", []refs.State{state("1", "alice", 1, "a=1 master=1")}, "master"},
		{"first by name", []refs.State{state("1", "alice", 1, "tags/a=1 z=1 b=1")}, "b"},
		{"named and not there", []refs.State{withHead(state("1", "alice", 1, "a=1 main=1"), "dev")}, "main"},
		{"left", []refs.State{withHead(state("1", "alice", 1, "dev=1 main=1"), "dev"), state("2", "alice", 2, "dev=2 main=2")}, "dev"},
		{"left where the named one is not there", []refs.State{withHead(state("1", "alice", 1, "dev=1 main=1"), "dev"), withHead(state("2", "bob", 2, "dev=2 main=2"), "x")}, "dev"},
		{"moved", []refs.State{withHead(state("1", "alice", 1, "dev=1 main=1"), "dev"), withHead(state("2", "alice", 2, "dev=1 main=1"), "main")}, "main"},
		{"its branch goes", []refs.State{withHead(state("1", "alice", 1, "dev=1 main=1"), "dev"), state("2", "alice", 2, "a=1 main=1")}, "main"},
		{"tags only", []refs.State{state("1", "alice", 1, "tags/a=1")}, ""},
		{"emptied", []refs.State{state("1", "alice", 1, "main=1"), state("2", "alice", 2, "")}, ""},
		{"nothing", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := ruled(members("alice", "bob"), tc.states...)
			want := ""
			if tc.want != "" {
				want = "refs/heads/" + tc.want
			}
			if p.Head != want {
				t.Errorf("HEAD is at %q, want %q", p.Head, want)
			}
		})
	}
}

// A tag is no branch, even where a state calls it one.
func TestHeadIsNoTag(t *testing.T) {
	s := state("1", "alice", 1, "tags/v=1 main=1")
	s.Head = "refs/tags/v"
	if p := ruled(members("alice"), s); p.Head != "refs/heads/main" {
		t.Errorf("HEAD is at %q", p.Head)
	}
}

// history is the random life of one repository, told in full after every step.
type history struct {
	r       *rand.Rand
	people  []string
	members []string // alice is always one
	stored  []refs.State
	n       int
}

func newHistory(seed uint64) *history {
	return &history{r: rand.New(rand.NewPCG(seed, 2)), people: []string{"alice", "bob", "carol", "dave"}, members: []string{"alice", "bob"}}
}

// arrive stores a state, in the place of an older one by its author.
func (h *history) arrive() (refs.State, bool) {
	author := h.people[h.r.IntN(len(h.people))]
	s := state(fmt.Sprint("s", h.n), author, int64(h.r.IntN(6)), fmt.Sprintf("main=%d dev=%d", h.r.IntN(3), h.r.IntN(3)))
	h.n++
	i := slices.IndexFunc(h.stored, func(o refs.State) bool { return o.Author == s.Author })
	if i >= 0 && !s.Newer(h.stored[i].Stamp) {
		return s, false
	}
	if i >= 0 {
		h.stored = slices.Delete(h.stored, i, i+1)
	}
	h.stored = append(h.stored, s)
	return s, true
}

func (h *history) set() *grasp.Set { return members(h.members...) }

func (h *history) has(s refs.State) bool {
	return slices.ContainsFunc(h.members, func(m string) bool { return key(m) == s.Author })
}

// rule is the naive model: what rules after a step, told what ruled before.
func (h *history) rule(before *refs.State) *refs.State {
	var best *refs.State
	for _, s := range h.stored {
		floor := before != nil && h.has(*before)
		newer := func(a, b *refs.State) bool {
			return a.CreatedAt > b.CreatedAt || a.CreatedAt == b.CreatedAt && a.ID.String() < b.ID.String()
		}
		if !h.has(s) || floor && !newer(&s, before) || best != nil && !newer(&s, best) {
			continue
		}
		best = &s
	}
	if best == nil {
		return before
	}
	return best
}

// The fold, told only what is new, agrees with a model that looks at everything, through arrivals, deletions and changes of
// the membership; nobody who is no member ever comes to rule; a row made anew is the same.
func TestRulingLikeANaiveModel(t *testing.T) {
	of := repo("alice", "d")
	for seed := range lives.Of(400, 2000) {
		h := newHistory(seed)
		var p refs.Projection
		var want *refs.State
		for range 30 {
			c := refs.Change{Members: h.set()}
			switch h.r.IntN(5) {
			case 0:
				if n := len(h.stored); n > 0 {
					h.stored = slices.Delete(h.stored, n-1, n)
				}
			case 1:
				h.members = []string{"alice"}
				for _, who := range h.people[1:] {
					if h.r.IntN(2) == 0 {
						h.members = append(h.members, who)
					}
				}
				c = refs.Change{Members: h.set(), States: slices.Clone(h.stored)}
				h.r.Shuffle(len(c.States), func(i, j int) { c.States[i], c.States[j] = c.States[j], c.States[i] })
			default:
				if s, ok := h.arrive(); ok {
					c.States = []refs.State{s}
				}
			}
			before := p
			p = p.Next(of, c)
			want = h.rule(want)
			if (want != nil) != p.Ruled || want != nil && (p.ID != want.ID || !p.Refs.Equal(want.Refs)) {
				t.Fatalf("seed %d: %v rules, want %v", seed, p.Ruling, want)
			}
			if p.ID != before.ID && !h.set().Has(p.Author) {
				t.Fatalf("seed %d: a state by no member has come to rule", seed)
			}
			if p.Head != "" && p.Refs.Get(p.Head).IsZero() {
				t.Fatalf("seed %d: HEAD at %s, which is not there", seed, p.Head)
			}
			wantSteady(t, p, before, of, refs.Change{Members: h.set(), States: h.stored})
		}
	}
}

// wantSteady requires that the same told again changes nothing, and that the generation grows with a change alone.
func wantSteady(t *testing.T, p, before refs.Projection, of nip34.Address, all refs.Change) {
	t.Helper()
	if again := p.Next(of, all); again.Generation != p.Generation || again.ID != p.ID {
		t.Fatalf("told again: %+v, was %+v", again, p)
	}
	if anew := p.Anew(of, all); anew.Generation != p.Generation || anew.ID != p.ID {
		t.Fatalf("made anew: %+v, was %+v", anew, p)
	}
	changed := p.ID != before.ID || p.Ruled != before.Ruled || p.Head != before.Head || !p.All().Equal(before.All())
	if grown := p.Generation - before.Generation; grown > 1 || (grown == 1) != changed {
		t.Fatalf("generation %d after %d: %+v after %+v", p.Generation, before.Generation, p, before)
	}
}

// However states come, one by one or together, in whatever order: the same rules, with the same refs.
func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	of, m := repo("alice", "d"), members("alice", "bob", "(carol)")
	for seed := range lives.Of(400, 2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var all []refs.State
		for i := range 6 {
			all = append(all, state(fmt.Sprint(i), []string{"alice", "bob", "carol", "mallory"}[r.IntN(4)], int64(r.IntN(3)), fmt.Sprintf("main=%d", i)))
			if r.IntN(2) == 0 {
				all[i] = withHead(all[i], "main")
			}
		}
		want := refs.Projection{}.Next(of, refs.Change{Members: m, States: all})
		for range 5 {
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			var p refs.Projection
			for rest := all; len(rest) > 0; {
				n := 1 + r.IntN(len(rest))
				p = p.Next(of, refs.Change{Members: m, States: rest[:n]})
				rest = rest[n:]
			}
			if p.Ruled != want.Ruled || p.ID != want.ID || !p.All().Equal(want.All()) || p.Head != want.Head {
				t.Fatalf("seed %d: %+v, want %+v", seed, p, want)
			}
		}
	}
}

func TestRulingKeepsItsState(t *testing.T) {
	s := withHead(state("1", "bob", 7, "main=1"), "x")
	p := ruled(members("alice", "bob"), s)
	if p.Stamp != (nostr.Stamp{CreatedAt: 7, ID: id("1")}) || p.Author != key("bob") || !p.Ruled || p.Generation != 1 {
		t.Errorf("got %+v", p)
	}
}
