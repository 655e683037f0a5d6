package hosting

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestCopiesTakeTurns: one copy for each payer at a time, and next who had copies made for the least time lately, whoever owns the repositories.
func TestCopiesTakeTurns(t *testing.T) {
	repo := func(owner byte, d string) nip34.Address { return nip34.Address{PubKey: nostr.PubKey{owner}, D: d} }
	var j jobs
	var p payers
	j.init()
	p.init()
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
		var done func(time.Time)
		x, ok := j.take(func(list []job) (i int) { i, done = p.choose(now, list); return i })
		if !ok {
			return "", nil
		}
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
