package refs_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestJudge(t *testing.T) {
	m := members("alice", "bob", "(carol)")
	now := state("now", "alice", 10, "main=1 dev=2 tags/v1=3")
	s := func(name, author string, at int64, rs string) refs.State { return state(name, author, at, rs) }
	next := s("next", "bob", 20, "main=4 dev=2 tags/v1=3")
	flawed := s("flawed", "bob", 30, "main=4 dev=2 tags/v1=3")
	flawed.Flaw = "impossible"
	other := s("other", "alice", 20, "main=4 dev=2 tags/v1=3")
	other.D = "e"
	for _, tc := range []struct {
		name   string
		states []refs.State
		push   string
		want   string
		by     string
	}{
		{"aligned", []refs.State{next}, "main:1>4", "ok", "next"},
		{"nothing", []refs.State{next}, "", "", ""},
		{"without a state", nil, "main:1>4", "no_state", ""},
		{"another value", []refs.State{next}, "main:1>5", "other_state", ""},
		{"one ref more", []refs.State{next}, "main:1>4 x:>5", "other_state other_state", ""},
		{"one ref less", []refs.State{s("s", "alice", 20, "main=4 dev=5 tags/v1=3")}, "main:1>4", "other_state", ""},
		{"several refs", []refs.State{s("s", "alice", 20, "main=4 x=5 tags/v1=3 tags/v2=6")}, "main:1>4 dev:2> x:>5 tags/v2:>6", "ok ok ok ok", "s"},
		{"deletion", []refs.State{s("s", "alice", 20, "main=1 tags/v1=3")}, "dev:2>", "ok", "s"},
		{"deletion of all", []refs.State{s("s", "alice", 20, "")}, "dev:2> main:1> tags/v1:3>", "ok ok ok", "s"},
		{"deletion that the state does not want", []refs.State{next}, "main:1>4 dev:2>", "other_state other_state", ""},
		{"without the deletion that the state wants", []refs.State{s("s", "alice", 20, "main=4 tags/v1=3")}, "main:1>4", "other_state", ""},
		{"branch for directory", []refs.State{s("s", "alice", 20, "main=1 dev/x=2 tags/v1=3")}, "dev/x:>2 dev:2>", "ok ok", "s"},
		{"stale", []refs.State{next}, "main:9>4", "moved", ""},
		{"created again", []refs.State{next}, "main:>4", "moved", ""},
		{"takes for there what is not", []refs.State{s("s", "alice", 20, "main=1 dev=2 tags/v1=3 x=5")}, "x:4>5", "moved", ""},
		{"stale, and with it what is not", []refs.State{s("s", "alice", 20, "main=4 dev=5 tags/v1=3")}, "dev:2>5 main:9>4", "with_others moved", ""},
		{"changes nothing", nil, "main:1>1", "ok", ""},
		{"is there already", nil, "main:9>1 dev:>2", "ok ok", ""},
		{"deletes what is not there", nil, "x:> y:5>", "ok ok", ""},
		{"changes nothing beside what is refused", nil, "main:1>1 dev:2>5", "ok no_state", ""},
		{"changes nothing beside what is aligned", []refs.State{next}, "main:1>4 dev:9>2", "ok ok", "next"},
		{"changes nothing where a state says the same", []refs.State{s("s", "bob", 20, "main=1 dev=2 tags/v1=3")}, "main:1>1", "ok", "s"},
		{"the newest of two", []refs.State{s("s", "alice", 30, "main=4 dev=2 tags/v1=3"), next}, "main:1>4", "ok", "s"},
		{"the older of two", []refs.State{s("s", "alice", 30, "main=5 dev=2 tags/v1=3"), next}, "main:1>4", "ok", "next"},
		{"an older one than what rules", []refs.State{s("s", "bob", 9, "main=4 dev=2 tags/v1=3")}, "main:1>4", "older_state", ""},
		{"not even as the older one", []refs.State{s("s", "bob", 9, "main=4 dev=2 tags/v1=3")}, "main:1>5", "no_state", ""},
		{"the one that rules", []refs.State{now}, "main:1>4", "no_state", ""},
		{"back to what rules", []refs.State{now}, "main:4>1", "ok", ""},
		{"by somebody invited", []refs.State{s("s", "carol", 20, "main=4 dev=2 tags/v1=3")}, "main:1>4", "not_maintainer", ""},
		{"not even as the invited one", []refs.State{s("s", "carol", 20, "main=5 dev=2 tags/v1=3")}, "main:1>4", "not_maintainer", ""},
		{"by a stranger", []refs.State{s("s", "mallory", 20, "main=4 dev=2 tags/v1=3")}, "main:1>4", "not_maintainer", ""},
		{"not even as the stranger's", []refs.State{s("s", "mallory", 20, "main=5 dev=2 tags/v1=3")}, "main:1>4", "no_state", ""},
		{"by a stranger, and another by a maintainer", []refs.State{s("s", "mallory", 20, "main=5 dev=2 tags/v1=3"), next}, "main:1>5", "not_maintainer", ""},
		{"by both", []refs.State{s("s", "mallory", 30, "main=4 dev=2 tags/v1=3"), next}, "main:1>4", "ok", "next"},
		{"flawed", []refs.State{flawed}, "main:1>4", "flawed_state", ""},
		{"not even as the flawed one", []refs.State{flawed}, "main:1>5", "flawed_state", ""},
		{"flawed, and another", []refs.State{flawed, next}, "main:1>5", "other_state", ""},
		{"another identifier", []refs.State{other}, "main:1>4", "no_state", ""},
		{"notes", []refs.State{next}, "main:1>4 refs/notes/commits:>5", "ok namespace", "next"},
		{"only elsewhere", nil, "HEAD:1>4 refs/pull/1/head:>4 refs/head:>4 refs/heads:>4 refs/nostrich:>4 refs/replace/x:>4", "namespace namespace namespace namespace namespace namespace", ""},
		{"twice", []refs.State{next}, "main:1>4 dev:2>2 main:1>4", "twice ok twice", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := standing(ruled(m, now), m, tc.states...)
			p := push(tc.push)
			wantVerdict(t, refs.Judge(in, p), tc.want, tc.by)
			p.Atomic = true
			want, state := tc.want, tc.by
			if words := strings.Fields(want); slices.ContainsFunc(words, func(w string) bool { return w != "ok" }) {
				want, state = strings.Join(strings.Split(strings.ReplaceAll(want, "ok", "with_others"), " "), " "), ""
			}
			wantVerdict(t, refs.Judge(in, p), want, state)
		})
	}
}

// Strangers with the same identifier are many; what they say is looked at for an explanation, and not without end.
func TestStrangersAreLookedAtForSoLong(t *testing.T) {
	m := members("alice")
	var states []refs.State
	for i := range 100 {
		states = append(states, state(fmt.Sprint(i), fmt.Sprint("stranger", i), 20, fmt.Sprintf("main=%d", i)))
	}
	in := standing(refs.Projection{}, m, states...)
	wantVerdict(t, refs.Judge(in, push("main:>10")), "not_maintainer", "")
	wantVerdict(t, refs.Judge(in, push("main:>90")), "no_state", "")
	in.States = append(in.States, state("s", "alice", 20, "main=200"))
	wantVerdict(t, refs.Judge(in, push("main:>90")), "other_state", "")
	wantVerdict(t, refs.Judge(in, push("main:>200")), "ok", "s")
}

// The first push finds no refs and no ruling state.
func TestJudgeFirstPush(t *testing.T) {
	m := members("alice")
	in := standing(refs.Projection{}, m, state("s", "alice", 5, "main=1"))
	wantVerdict(t, refs.Judge(in, push("main:>1")), "ok", "s")
	wantVerdict(t, refs.Judge(in, push("main:>2")), "other_state", "")
	wantVerdict(t, refs.Judge(in, push("main:2>1")), "moved", "")
	in.States = []refs.State{state("s", "alice", 5, "")}
	wantVerdict(t, refs.Judge(in, push("x:>")), "ok", "s")
}

// Whoever decides no longer has nothing to say, whatever the age of what he said: the newest of those who stay counts.
func TestJudgeAfterTheAuthorLeft(t *testing.T) {
	p := ruled(members("alice", "bob"), state("by bob", "bob", 10, "main=1"))
	in := standing(p, members("alice"), state("by alice", "alice", 5, "main=2"))
	wantVerdict(t, refs.Judge(in, push("main:1>2")), "ok", "by alice")
	in.States = append(in.States, state("by bob again", "bob", 20, "main=3"))
	wantVerdict(t, refs.Judge(in, push("main:1>3")), "not_maintainer", "")
}

func TestVerdict(t *testing.T) {
	m := members("alice")
	in := standing(ruled(m, state("now", "alice", 1, "main=1 dev=1")), m, state("s", "alice", 5, "main=2 x=2"))
	p := push("main:1>2 x:>2 dev:1> refs/notes/x:>9 " + pending("a") + ":>3")
	v := refs.Judge(in, p)
	if !v.Refused() || !v.Changes() || len(v.Uploads) != 1 {
		t.Errorf("got %+v", v)
	}
	if needs := v.Needs(p); !slices.Equal(needs, []gitwire.ObjectID{oid("2"), oid("3")}) {
		t.Errorf("needs %v", needs)
	}
	if ids := p.Events(); len(ids) != 1 || ids[0] != id("a") {
		t.Errorf("events %v", ids)
	}
	p.Atomic = true
	if v = refs.Judge(in, p); v.Changes() || !v.Refused() || len(v.Needs(p)) != 0 {
		t.Errorf("atomic: %+v", v)
	}
	p = push("main:1>2 x:>2 dev:1>")
	p.Refused = true
	wantVerdict(t, refs.Judge(in, p), "ok ok ok", "s")
	p.Atomic = true
	wantVerdict(t, refs.Judge(in, p), "with_others with_others with_others", "")
	p = push("main:1>1")
	if v = refs.Judge(in, p); v.Changes() || v.Refused() {
		t.Errorf("without a change: %+v", v)
	}
}

// pending is the name of the tip of an event.
func pending(name string) string { return "nostr/" + id(name).String() }

// naiveJudge says per command of branches and tags whether it succeeds, and by which state.
func naiveJudge(in refs.Standing, ruling *refs.State, now refs.Set, p refs.Push) (ok []bool, by *refs.State) {
	after, at := naive(now), naive(now)
	ok = make([]bool, len(p.Commands))
	stale := false
	for _, c := range p.Commands {
		if at[c.Ref] == c.New {
			continue
		}
		stale = stale || at[c.Ref] != c.Old
		after[c.Ref] = c.New
		if c.New.IsZero() {
			delete(after, c.Ref)
		}
	}
	for _, s := range in.States {
		isMember := slices.Contains(in.Members.Members, s.Author)
		floor := ruling != nil && slices.Contains(in.Members.Members, ruling.Author)
		newer := func(than *refs.State) bool {
			return s.CreatedAt > than.CreatedAt || s.CreatedAt == than.CreatedAt && s.ID.Compare(than.ID) < 0
		}
		if stale || !isMember || s.Flaw != "" || s.D != "d" || floor && !newer(ruling) || !maps.Equal(naive(s.Refs), after) {
			continue
		}
		if by == nil || newer(by) {
			by = &s
		}
	}
	for i, c := range p.Commands {
		ok[i] = by != nil || at[c.Ref] == c.New
	}
	return ok, by
}

// What succeeds is exactly what leaves the refs of a candidate, whatever else waits and whatever the push takes to be there.
func TestAlignmentLikeANaiveModel(t *testing.T) {
	var accepted, refused int
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 6))
		people := []string{"alice", "bob", "carol", "mallory"}
		m := []*grasp.Set{members("alice", "bob", "(carol)"), members("alice", "(bob)")}[r.IntN(2)]
		var p refs.Projection
		var ruling *refs.State
		if r.IntN(4) > 0 {
			s := state("ruling", people[r.IntN(2)], int64(r.IntN(3)), "")
			s.Refs = randomSet(r, 4, 2)
			p = ruled(members("alice", "bob"), s)
			ruling = &s
		}
		var states []refs.State
		for i := range r.IntN(4) {
			s := state(fmt.Sprint("s", i), people[r.IntN(4)*r.IntN(2)], int64(r.IntN(6)), "")
			if s.Refs = randomSet(r, 4, 2); r.IntN(8) == 0 {
				s.Flaw = "impossible"
			}
			if r.IntN(8) == 0 {
				s.D = "e"
			}
			states = append(states, s)
		}
		pushed := randomPush(r, p.Refs, states)
		in := standing(p, m, states...)
		want, by := naiveJudge(in, ruling, p.Refs, pushed)
		v := refs.Judge(in, pushed)
		for i, res := range v.Results {
			if (res.Cause == refs.None) != want[i] {
				t.Fatalf("seed %d: command %d: %v, want success %v\nnow %v\nstates %+v\n%+v", seed, i, res, want[i], p.Refs, states, pushed)
			}
		}
		if (v.State == nil) != (by == nil) && len(pushed.Commands) > 0 || v.State != nil && v.State.ID != by.ID {
			t.Fatalf("seed %d: by %v, want %v", seed, v.State, by)
		}
		if v.Refused() == (len(v.Lines) == 0) {
			t.Fatalf("seed %d: refused %v with %q", seed, v.Refused(), v.Lines)
		}
		if v.State != nil {
			accepted++
		}
		if v.Refused() {
			refused++
		}
		p2 := pushed
		p2.Atomic = true
		if a := refs.Judge(in, p2); a.Refused() != v.Refused() || a.Refused() && a.Changes() {
			t.Fatalf("seed %d: atomic %+v, else %+v", seed, a, v)
		}
		wantAgain(t, in, pushed, v)
	}
	if accepted < 2000 || refused < 2000 {
		t.Errorf("%d accepted, %d refused: the histories say little", accepted, refused)
	}
}

// randomPush goes to what a state says, mostly, with mistakes.
func randomPush(r *rand.Rand, now refs.Set, states []refs.State) (p refs.Push) {
	want := randomSet(r, 4, 2)
	if len(states) > 0 && r.IntN(8) > 0 {
		want = states[r.IntN(len(states))].Refs
	}
	for i := range 4 {
		name := randomName(i)
		c := gitwire.Command{Ref: name, Old: now.Get(name), New: want.Get(name)}
		if r.IntN(40) == 0 {
			c.New = oid("2")
		}
		if r.IntN(40) == 0 {
			c.Old = oid("1")
		}
		if c.Old != c.New || r.IntN(4) == 0 {
			p.Commands = append(p.Commands, c)
		}
	}
	r.Shuffle(len(p.Commands), func(i, j int) { p.Commands[i], p.Commands[j] = p.Commands[j], p.Commands[i] })
	return p
}

// wantAgain requires that a push that was authorised succeeds at its commit also when another one has released its state in
// the meantime, and then changes nothing.
func wantAgain(t *testing.T, in refs.Standing, p refs.Push, v refs.Verdict) {
	t.Helper()
	if v.State == nil {
		return
	}
	released := *v.State
	in.Projection = in.Projection.Next(in.Of, refs.Change{Members: in.Members, States: []refs.State{released}})
	if !in.Projection.Refs.Equal(released.Refs) {
		t.Fatalf("released, it does not rule: %+v", in.Projection)
	}
	in.States = slices.DeleteFunc(slices.Clone(in.States), func(s refs.State) bool { return s.ID == released.ID })
	if again := refs.Judge(in, p); again.Refused() {
		t.Fatalf("refused after another push had released it: %+v", again)
	}
}

// TestJudgeContributed: at a contributed repository nothing but pull requests of its signer is taken, whatever states there are (GRASP-06).
func TestJudgeContributed(t *testing.T) {
	of := grasp.Contributed(key("carol"), "d")
	known := pullRequest("known", 10, "tip", "alice")
	known.Repositories = append(known.Repositories, of)
	announced := pullRequest("announced", 10, "tip", "alice") // names no contributed repository
	others := pullRequest("others", 10, "tip", "alice")
	others.Repositories = append(others.Repositories, grasp.Contributed(key("dave"), "d"))
	tip := func(name string) string { return "nostr/" + id(name).String() }
	for _, c := range []struct{ name, push, want string }{
		{"its pull request", tip("known") + ":>tip", "ok"},
		{"another commit", tip("known") + ":>other", "other_tip"},
		{"one that names the announced repository alone", tip("announced") + ":>tip", "other_repository"},
		{"somebody else's", tip("others") + ":>tip", "other_repository"},
		{"before its event", tip("unknown") + ":>tip", "ok"},
		{"a branch that a state names", "main:1>4", "namespace"},
		{"a tag", "tags/v1:>3", "namespace"},
		{"what is no ref of ours", "refs/notes/x:>3 HEAD:>3 refs/pull/1/head:>3", "namespace namespace namespace"},
		{"a branch beside it", "main:>4 " + tip("known") + ":>tip", "namespace ok"},
	} {
		in := standing(ruled(members("carol"), state("now", "carol", 10, "main=1")), members("carol"), state("next", "carol", 20, "main=4"))
		in.Of, in.Pending = of, &refs.Pending{}
		in.Known = map[nostr.ID]refs.Known{}
		for _, p := range []refs.PullRequest{known, announced, others} {
			in.Known[p.ID] = refs.Known{Kind: nip34.KindPullRequest, PullRequest: p}
		}
		v := refs.Judge(in, push(c.push))
		if got := causes(v); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if v.State != nil {
			t.Errorf("%s: a state decides: %+v", c.name, v.State)
		}
	}
}

// TestCommandsAreSortedBefore: who has sorted the commands before hears the same.
func TestCommandsAreSortedBefore(t *testing.T) {
	var p refs.Push
	for i := range 40 {
		name := fmt.Sprintf("refs/heads/%d", i*7%37) // some come twice
		p.Commands = append(p.Commands, gitwire.Command{Ref: name, New: oid("1")})
	}
	next := state("next", "alice", 2, "")
	m := members("alice")
	in := standing(ruled(m, state("now", "alice", 1, "")), m, next)
	want := refs.Judge(in, p)
	p.Order = refs.OrderOf(p.Commands)
	name := func(i int) string { return p.Commands[i].Ref }
	if !slices.IsSortedFunc(p.Order, func(a, b int) int { return cmp.Or(strings.Compare(name(a), name(b)), a-b) }) {
		t.Errorf("the order is %v", p.Order)
	}
	if got := refs.Judge(in, p); !reflect.DeepEqual(got, want) || got.Results[0].Cause != refs.Twice {
		t.Errorf("%+v, and without an order %+v", got, want)
	}
}
