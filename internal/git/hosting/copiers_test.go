package hosting

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestCopiesTakeTurns: one copy for each payer at a time, and next who had copies made for the least time lately, whoever owns the repositories.
func TestCopiesTakeTurns(t *testing.T) {
	repo := func(owner byte, d string) nip34.Address { return nip34.Address{PubKey: nostr.PubKey{owner}, D: d} }
	var j jobs
	var p payers
	p.init()
	j.init(p.who)
	for _, x := range []struct {
		of nip34.Address
		by string
	}{{repo(1, "a"), "many"}, {repo(2, "b"), "many"}, {repo(3, "c"), "many"}, {repo(4, "d"), "few"}, {repo(5, "e"), ""}, {repo(5, "f"), ""}} {
		if x.by != "" {
			p.pushed(x.of, x.by)
		}
		j.push(job{kind: shared, of: x.of})
	}
	now := time.Unix(1000, 0)
	next := func() (string, func(time.Time)) {
		x, done := j.next(now)
		return x.of.D, done
	}
	var ends []func(time.Time)
	for _, want := range []string{"a", "d", "e", ""} {
		got, done := next()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		ends = append(ends, done)
	}
	p.copied(repo(1, "a"), "many")
	ends[0](now.Add(time.Minute))
	ends[2](now.Add(time.Second))
	now = now.Add(time.Minute)
	for _, want := range []string{"f", "b", ""} {
		if got, _ := next(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if p.party(repo(2, "b")) != "many" || p.party(repo(1, "a")) != unknownPayer || p.party(repo(5, "e")) != p.party(repo(9, "x")) {
		t.Error("the wrong one pays")
	}
}

// TestNobodyPaysForWhatDidNotCome: a push of which nothing came, or of nobody's address, leaves no entry.
func TestNobodyPaysForWhatDidNotCome(t *testing.T) {
	var p payers
	p.init()
	of := nip34.Address{D: "tool"}
	p.pushed(of, "one")()
	p.pushed(of, "")
	if len(p.of) != 0 {
		t.Errorf("%v", p.of)
	}
	p.pushed(of, "one")
	undo := p.pushed(of, "two")
	p.pushed(of, "three")
	if undo(); p.party(of) != "three" {
		t.Errorf("%s pays, and not who pushed since", p.party(of))
	}
	p.pushed(of, "four")()
	if p.party(of) != "three" {
		t.Errorf("%s pays, and not who pushed before", p.party(of))
	}
	if p.pushed(of, ""); p.party(of) != unknownPayer {
		t.Errorf("%s pays for what the operator pushed", p.party(of))
	}
}

// TestWhatIsPostponedIsTriedAgain: a copy that would begin one repository too many is not given up.
func TestWhatIsPostponedIsTriedAgain(t *testing.T) {
	if err := (reason{ManyNew, "later"}); hopeless(err) || !postponed(err) || !told(err) {
		t.Error(err)
	}
	if err := (reason{OwnerFull, "full"}); !hopeless(err) || postponed(err) {
		t.Error(err)
	}
}

// closing is a quarantine that calls a function when it closes.
type closing struct {
	gitrepo.Quarantine
	close func()
}

func (c closing) Close() error { c.close(); return nil }

// doing is a host that closes so many uploads, of as many parties.
func doing(parties, uploads uint64, closes func()) *Host {
	h := &Host{cfg: Config{Now: time.Now}}
	h.uploads.held = map[uint64]*upload{}
	h.adopts.init(h.uploads.who)
	for n := range uploads {
		h.uploads.held[n] = &upload{q: closing{close: closes}, party: string(rune('a' + n%parties))}
		h.adopts.fail(job{kind: dropped, upload: n})
	}
	return h
}

// TestWorkIsDoneBesideOther: who does a job wakes another one.
func TestWorkIsDoneBesideOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int64
		letGo := make(chan struct{})
		h := doing(2, 10, func() { closed.Add(1); <-letGo })
		ctx, cancel := context.WithCancel(t.Context())
		var g sync.WaitGroup
		for range 3 {
			g.Go(func() { h.work(ctx, &h.adopts) })
		}
		synctest.Wait()
		h.adopts.again()
		synctest.Wait()
		if n := closed.Load(); n != 2 {
			t.Errorf("%d at once, not one for each of two", n)
		}
		close(letGo)
		synctest.Wait()
		if n := closed.Load(); n != 10 {
			t.Errorf("%d are done", n)
		}
		cancel()
		g.Wait()
	})
}
