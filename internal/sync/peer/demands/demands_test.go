package demands_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/demands"
)

const later = time.Hour

// TestAuth goes through what can happen between the first refusal and the verdict.
func TestAuth(t *testing.T) {
	var a demands.Auth
	if a.Challenged("first", 0) {
		t.Error("a challenge is signed though nothing was refused")
	}
	if h, sign := a.Refused(demands.RequestMode{}, 0); h != demands.AfterAuth || !sign || a.Challenge() != "first" {
		t.Errorf("the first refusal: hope %d, sign %v, challenge %q", h, sign, a.Challenge())
	}
	if h, sign := a.Refused(demands.RequestMode{}, 0); h != demands.AfterAuth || sign {
		t.Errorf("the second refusal: hope %d, sign %v", h, sign)
	}
	if a.Challenged("second", 0) {
		t.Error("a second challenge is signed")
	}
	if missed := a.Expire(a.Until() - 1); missed != "" || !a.Awaited() {
		t.Errorf("before its time: %q", missed)
	}
	if !a.Answered(true) || a.Answered(true) || !a.Granted() {
		t.Error("the verdict counts once")
	}
	if h, _ := a.Refused(demands.RequestMode{}, later); h != demands.Now {
		t.Errorf("what went out before the verdict: hope %d", h)
	}
	if h, _ := a.Refused(demands.RequestMode{Authorized: true}, later); h != demands.Never {
		t.Errorf("what was refused in spite of it: hope %d", h)
	}
}

// TestAuthExpires ends both waits, of which only the second is final.
func TestAuthExpires(t *testing.T) {
	var a demands.Auth
	a.Refused(demands.RequestMode{}, 0)
	if missed := a.Expire(a.Until()); missed != "no challenge" || a.Awaited() {
		t.Errorf("without a challenge: %q, awaited %v", missed, a.Awaited())
	}
	if h, sign := a.Refused(demands.RequestMode{}, later); h != demands.AfterAuth || sign {
		t.Errorf("after that: hope %d, sign %v", h, sign)
	}
	if !a.Challenged("late", later) {
		t.Error("the challenge that was awaited is not signed")
	}
	if missed := a.Expire(a.Until()); missed != "no answer" {
		t.Errorf("without a verdict: %q", missed)
	}
	if h, _ := a.Refused(demands.RequestMode{}, 2*later); h != demands.Never {
		t.Errorf("after that: hope %d", h)
	}
}

// TestALongChallengeIsNotSigned bounds the stranger's text that our key signs.
func TestALongChallengeIsNotSigned(t *testing.T) {
	var a demands.Auth
	a.Refused(demands.RequestMode{}, 0)
	if a.Challenged(string(make([]byte, demands.LongestChallenge+1)), 0) || !a.Challenged(string(make([]byte, demands.LongestChallenge)), 0) {
		t.Error("the bound does not hold")
	}
}

// TestKinds steps through the modes as refusals demand them.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		texts    []string
		answered bool // with kinds, before the last refusal
		again    bool
		mode     demands.Mode
	}{
		{texts: []string{"invalid: bad tag"}, mode: demands.NoKinds},
		{texts: []string{"blocked: filters must name kinds"}, again: true, mode: demands.AllKinds},
		{texts: []string{"kinds are needed", "kind 1 needs an author"}, again: true, mode: demands.NoNotes},
		{texts: []string{"kinds are needed", "too many kinds"}, again: true, mode: demands.FewKinds},
		{texts: []string{"kinds are needed", "kind 1", "too many kinds"}, again: true, mode: demands.FewKinds},
		{texts: []string{"kinds are needed", "kind 1", "kind 7"}, mode: demands.NoKinds},
		{texts: []string{"kinds are needed", "kind 1", "kind 7"}, answered: true, mode: demands.NoNotes},
		{texts: []string{"kinds are needed", "kind 1", "kind 7", "kind 7"}, mode: demands.NoKinds},
	} {
		var k demands.Kinds
		again := false
		for i, text := range c.texts {
			if c.answered && i == len(c.texts)-1 && !k.Answered(demands.RequestMode{Kindless: true, Mode: k.Mode()}) {
				t.Errorf("%q: the first answer is no news", c.texts)
			}
			again = k.Refused(k.Mode(), text)
		}
		if again != c.again || k.Mode() != c.mode {
			t.Errorf("%q: again %v, mode %d", c.texts, again, k.Mode())
		}
	}
	var k demands.Kinds
	k.Refused(demands.NoKinds, "kinds")
	if !k.Refused(demands.NoKinds, "kinds") || k.Mode() != demands.AllKinds {
		t.Error("a refusal of what went out before does not lead to the next mode")
	}
}

// TestKindsThatAreNamedStay and are added only where there are none.
func TestKindsThatAreNamedStay(t *testing.T) {
	own := []nostr.Kind{nostr.KindVanish}
	if f := demands.AllKinds.With(nostr.Filter{Kinds: own}); len(f.Kinds) != 1 {
		t.Errorf("kinds %v", f.Kinds)
	}
	for mode, n := range map[demands.Mode]int{demands.NoKinds: 0, demands.AllKinds: 17, demands.NoNotes: 16, demands.FewKinds: 10} {
		if f := mode.With(nostr.Filter{}); len(f.Kinds) != n {
			t.Errorf("mode %d adds %d kinds", mode, len(f.Kinds))
		}
	}
}

// TestOutdated is what makes live REQs be opened again.
func TestOutdated(t *testing.T) {
	bare, full := demands.RequestMode{Kindless: true}, demands.RequestMode{Kindless: true, Mode: demands.AllKinds}
	var k demands.Kinds
	if !k.Untold() || k.Outdated(bare) || k.Outdated(full) {
		t.Error("outdated before anything is known")
	}
	k.Brought(bare)
	if k.Untold() || k.Outdated(bare) || !k.Outdated(full) {
		t.Error("where none are needed, what has kinds brings less than it could")
	}
	k.Forget()
	k.AnswersNothing()
	if !k.Emptied() || !k.Outdated(bare) || k.Outdated(full) || k.Outdated(demands.RequestMode{}) {
		t.Error("where they are needed, what has none brings nothing")
	}
}

// TestVanishRefused leaves requests to vanish out once, and only where they may be the reason.
func TestVanishRefused(t *testing.T) {
	var k demands.Kinds
	if k.VanishRefused("kind 1 needs an author", true) || k.NoVanish() {
		t.Error("another kind is named")
	}
	if !k.VanishRefused("blocked: kind 62", true) || !k.NoVanish() || k.VanishRefused("blocked", false) {
		t.Error("once, by its name")
	}
	k.AnswersNothing()
	if !k.NoVanish() {
		t.Error("forgotten when kinds are added")
	}
	k.Forget()
	if !k.VanishRefused("restricted", false) {
		t.Error("where nothing better is known")
	}
}
