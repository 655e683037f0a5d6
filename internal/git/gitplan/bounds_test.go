package gitplan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Beyond its bound repositories are not planned for; those that are known are not affected, and one that is done makes room.
func TestRepositoriesAreBounded(t *testing.T) {
	b := newBench(t, gitplan.Config{Repositories: 2})
	b.want(b.lacks(repository(1, "x"), "a", needs(1)...), "a:1")
	b.want(b.lacks(repository(2, "x"), "a", needs(2)...), "a:2")
	b.want(b.lacks(repository(3, "x"), "a", needs(3)...), "")
	b.want(b.gives("a", 1), "")
	b.want(b.lacks(repository(3, "x"), "a", needs(3)...), "a:3")
	if s := b.plan.Stats(b.clock()); s.Lacking != 2 || len(b.plan.Lacking(5)) != 2 || len(b.plan.Lacking(1)) != 1 {
		t.Errorf("%+v", s)
	}
}

// Surveys wait for a place that nobody else wants, one is under way at a time, and a server that rests is not asked.
func TestSurveys(t *testing.T) {
	b := newBench(t, gitplan.Config{Concurrency: 2})
	prove(b, "a b")
	for i := range 300 {
		if room := b.plan.Survey(repository(7, fmt.Sprint(i)), at("a")); room != (i < 256) {
			t.Fatalf("room for number %d: %v", i, room)
		}
	}
	b.want(b.step(), "a")
	b.want(b.step(), "")
	b.want(b.lacks(repository(1, "x"), "b", needs(1)...), "b:1")
	b.want(b.lacks(repository(2, "x"), "b", needs(2)...), "")
	b.want(b.ends("a", gitplan.Outcome{}), "b:2") // what is lacked goes before
	b.want(b.gives("b", 1), "a")
	if s := b.plan.Stats(b.clock()); s.Surveys != 254 {
		t.Errorf("%+v", s)
	}
	b.want(b.ends("a", gitplan.Outcome{Answer: gitplan.Failed}), "")
	if s := b.plan.Stats(b.clock()); s.Surveys != 0 {
		t.Errorf("a server that fails is surveyed: %+v", s)
	}
}

// However many wait whom nobody can be found for, those behind them have their turn.
func TestManyWhoseServersRest(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	b.want(b.lacks(repository(1, "first"), "dead", needs(1)...), "dead:1")
	for range 10 { // it rests for hours
		b.ends("dead", gitplan.Outcome{Answer: gitplan.Failed})
		b.plan.PushFailed(b.clock(), repository(1, "first"))
		b.until(2 * time.Hour)
	}
	b.ends("dead", gitplan.Outcome{Answer: gitplan.Failed})
	for i := range 5000 {
		b.adds(gitplan.Lack{Of: repository(1, fmt.Sprint(i)), Needs: needs(2), Sources: sources("dead")})
	}
	b.adds(gitplan.Lack{Of: repository(1, "last"), Needs: needs(3), Sources: sources("alive")})
	did, d := b.until(time.Hour)
	b.want(did, "alive:3")
	b.within(d, 0, 5*time.Second)
}

// It is remembered for 20,000 owners who gave something last.
func TestWhoGaveIsBounded(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	for i := range 20_001 {
		x := repository(0, "x")
		x.PubKey[1], x.PubKey[2] = byte(i>>8), byte(i)
		b.lacks(x, "a", needs(1)...)
		b.gives("a", 1)
	}
	first, last := repository(0, "x"), repository(0, "x")
	last.PubKey[1], last.PubKey[2] = 20_000>>8, 20_000&0xff
	b.want(b.lacks(first, "b a", needs(2)...), "b:2")
	b.want(b.lacks(last, "b a", needs(3)...), "a:3")
}

// Of hosts so many are remembered. Those go first of which the least is lost: one that asked for less is left alone all the same, one that
// fails goes before it, and one that was asked too much in vain stays so.
func TestHostsAreBounded(t *testing.T) {
	b := newBench(t, gitplan.Config{Hosts: 10})
	n := 0
	asked := func(name string, o gitplan.Outcome) bool {
		n++
		of := repository(7, fmt.Sprint(n))
		began := b.lacks(of, name, needs(1)...) != ""
		if began {
			b.ends(name, o)
		}
		b.lacks(of, "")
		b.now += time.Millisecond
		return began
	}
	absent, failed := gitplan.Outcome{Answer: gitplan.Absent}, gitplan.Outcome{Answer: gitplan.Failed}
	for asked("vain", absent) {
	}
	asked("limited", gitplan.Outcome{Answer: gitplan.Limited, Retry: 30 * time.Second})
	asked("failing", failed)
	rest := func(names string) {
		t.Helper()
		for name := range strings.FieldsSeq(names) {
			if asked(name, absent) {
				t.Errorf("%s is not left alone", name)
			}
		}
		if s := b.plan.Stats(b.clock()); s.Hosts > 10 {
			t.Errorf("%d hosts are known", s.Hosts)
		}
	}
	for i := range 100 {
		if !asked(fmt.Sprint("s", i), absent) {
			t.Fatalf("s%d is not asked", i)
		}
		rest("vain limited failing")
	}
	for i := range 100 {
		asked(fmt.Sprint("f", i), failed)
		rest("vain limited")
	}
	if !asked("failing", absent) {
		t.Error("one that failed long ago is remembered, and those that failed since are not")
	}
}

// Where nothing is lacked any more nothing is waited for.
func TestNothingIsWaitedFor(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	pushed := gitplan.Need{Event: event(1), After: gitplan.PushWithin}
	b.want(b.lacks(repository(1, "x"), "a", pushed), "")
	b.within(b.wake, gitplan.PushWithin, gitplan.PushWithin)
	b.want(b.lacks(repository(1, "x"), "a"), "")
	b.within(b.wake, 0, 0)
	b.want(b.lacks(repository(1, "x"), "a", needs(1)...), "a:1")
	b.want(b.gives("a", 1), "")
	b.within(b.wake, 0, 0)
}

// However many hosts return at once, all that they concern is looked for once a second, and those beyond a thousand have to wait.
func TestManyReturn(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	rests := func(name string, n byte) {
		b.want(b.lacks(repository(n, "x"), name, needs(n)...), fmt.Sprint(name, ":", n))
		for range 5 {
			b.want(b.ends(name, gitplan.Outcome{Answer: gitplan.Failed}), "")
			b.until(time.Hour)
		}
		b.want(b.ends(name, gitplan.Outcome{Answer: gitplan.Failed}), "")
	}
	soon := func(name string, n byte, least, most time.Duration) {
		t.Helper()
		did, d := b.until(time.Hour)
		b.want(did, fmt.Sprint(name, ":", n))
		b.within(d, least, most)
		b.ends(name, gitplan.Outcome{Answer: gitplan.Absent})
		b.lacks(repository(n, "x"), "")
	}
	rests("a", 1)
	rests("b", 2)
	b.plan.Returned("a.example.org")
	b.want(b.step(), "")
	b.plan.Returned("b.example.org")
	b.want(b.after(time.Millisecond), "")
	soon("a", 1, 1900*time.Millisecond, 2*time.Second)
	soon("b", 2, 900*time.Millisecond, time.Second)
	rests("c", 3)
	for i := range 1000 {
		b.plan.Returned(fmt.Sprint("other", i, ".example.org"))
	}
	b.plan.Returned("c.example.org")
	soon("c", 3, 9*time.Minute, 15*time.Minute)
}

// What is under way is remembered, however little is.
func TestHostsUnderWayAreRemembered(t *testing.T) {
	b := newBench(t, gitplan.Config{Hosts: 1})
	for i, name := range strings.Fields("a b c d") {
		b.want(b.lacks(repository(byte(i), "x"), name, needs(byte(i))...), fmt.Sprint(name, ":", i))
	}
	for i, name := range strings.Fields("a b c d") {
		b.want(b.gives(name, byte(i)), "")
	}
	b.want(b.lacks(repository(9, "x"), "e", needs(9)...), "e:9")
	if s := b.plan.Stats(b.clock()); s.Hosts > 2 {
		t.Errorf("%+v", s)
	}
}

// A clock that is set, and a machine that sleeps, put nothing off.
func TestClocksThatAreSet(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	b.want(b.lacks(repository(1, "x"), "a", needs(1)...), "a:1")
	for _, set := range []time.Duration{-48 * time.Hour, 1000 * time.Hour, 0} {
		b.set = set
		b.gives("a")
		did, d := b.until(3 * time.Hour)
		b.want(did, "a:1")
		b.within(d, 20*time.Second, eighth(gitplan.LazyEvery))
	}
}

func TestStanding(t *testing.T) {
	b := newBench(t, gitplan.Config{})
	x := repository(1, "x")
	if _, ok := b.plan.Standing(b.clock(), x); ok {
		t.Error("something is known of what nobody told of")
	}
	tip := gitplan.Need{Event: event(2), Sources: sources("fork")}
	b.lacks(x, "a b", append(needs(1), tip)...)
	s, ok := b.plan.Standing(b.clock(), x)
	if !ok || s.Needs != 2 || s.Next != 0 || !slices.Equal(s.Fetching, sources("a")) || !slices.Equal(s.Sources, sources("a b fork")) || !s.Asked[at("a")].Last.IsZero() {
		t.Errorf("%+v", s)
	}
	b.gives("a", 1)
	b.ends("b", gitplan.Outcome{Answer: gitplan.Failed})
	b.ends("fork", gitplan.Outcome{Answer: gitplan.Absent})
	s, _ = b.plan.Standing(b.clock(), x)
	a, f := s.Asked[at("a")], s.Asked[at("b")]
	if s.Needs != 1 || len(s.Fetching) != 0 || !a.Gave || a.Answer != gitplan.Answered || !a.Last.Equal(b.clock().Wall) || f.Answer != gitplan.Failed || f.Gave {
		t.Errorf("%+v", s)
	}
	b.within(s.Next, 20*time.Second, eighth(20*time.Second))
	b.lacks(x, "", needs(2)...)
	if s, _ := b.plan.Standing(b.clock(), x); s.Next != 0 || len(s.Sources) != 0 || len(s.Asked) != 0 {
		t.Errorf("with nobody to ask: %+v", s)
	}
	if b.wake > 8*time.Hour {
		t.Errorf("wakes in %v", b.wake)
	}
}

func TestCompare(t *testing.T) {
	refs := func(text string) *gitwire.Refs {
		r := &gitwire.Refs{}
		for pair := range strings.FieldsSeq(text) {
			name, n, _ := strings.Cut(pair, "=")
			r.List = append(r.List, gitwire.Ref{Name: name, ID: gitwire.ObjectIDOf([20]byte{n[0]})})
		}
		return r
	}
	ours := refs("refs/heads/a=1 refs/heads/b=2 refs/tags/c=3 refs/nostr/x=4")
	for theirs, want := range map[string]string{
		"refs/heads/a=1 refs/heads/b=2 refs/tags/c=3":                             "",
		"refs/heads/a=1 refs/heads/b=2 refs/tags/c=3 refs/nostr/y=5 refs/pull/1=": "",
		"": "lacks 3 branches and tags",
		"refs/heads/a=1 refs/heads/b=9 refs/tags/d=3":                              "lacks 1 branches and tags, has other commits at 1, has 1 that are not signed for",
		"refs/heads/a=1 refs/heads/b=2 refs/tags/c=3 refs/heads/e=1 refs/tags/f=1": "has 2 that are not signed for",
	} {
		if strings.HasSuffix(theirs, "=") {
			theirs += "7"
		}
		if got := gitplan.Compare(ours, refs(theirs)).String(); got != want {
			t.Errorf("%q: %q, want %q", theirs, got, want)
		}
	}
	if d := gitplan.Compare(refs(""), ours); d != (gitplan.Difference{Beside: 3}) {
		t.Errorf("%+v", d)
	}
}
