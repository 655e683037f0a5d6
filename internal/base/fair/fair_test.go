package fair_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
)

func party(address string) fair.Party { return fair.Party{Address: address} }

// ask has somebody wait, who says that they have had their turn and gives it back.
func ask(t *testing.T, a *fair.Account, who string, got chan<- string) {
	go func() {
		g, err := a.Wait(t.Context(), party(who), 1)
		if err != nil {
			t.Error(err)
		}
		got <- who
		g.GiveBack()
	}()
	synctest.Wait()
}

// TestOneAloneMayHaveAllUntilOthersCome: who is alone gets everything, and no more than half for as long as others are refused.
func TestOneAloneMayHaveAllUntilOthersCome(t *testing.T) {
	now := time.Unix(1000, 0)
	a := fair.New(fair.Config{Name: "slots", Total: 10, Now: func() time.Time { return now }})
	var greedy []*fair.Grant
	for {
		g, why := a.Take(party("greedy"), 1)
		if why != fair.Granted {
			break
		}
		greedy = append(greedy, g)
	}
	if len(greedy) != 10 {
		t.Fatalf("one alone gets %d of 10", len(greedy))
	}
	if _, why := a.Take(party("other"), 1); why != fair.OverAll {
		t.Fatalf("the eleventh: %v", why)
	}
	for _, g := range greedy[3:] {
		g.GiveBack()
	}
	more := func() (n int) {
		for {
			if _, why := a.Take(party("greedy"), 1); why != fair.Granted {
				return n
			}
			n++
		}
	}
	if n := more(); n != 2 {
		t.Errorf("%d more while another is refused, want 2: half", n)
	}
	now = now.Add(10 * time.Second)
	if n := more(); n != 5 {
		t.Errorf("%d more when nobody else was refused for a while, want 5", n)
	}
}

// TestWhoTricklesGivesWay: one who takes much at once and then grows by little gives way, not the one who grows fast and has more.
func TestWhoTricklesGivesWay(t *testing.T) {
	now := time.Unix(1000, 0)
	a := fair.New(fair.Config{Name: "bytes", Total: 100 << 20, Slow: 16 << 10, Now: func() time.Time { return now }})
	drip, _ := a.Take(party("drip"), 40<<20)
	dropped := false
	drip.Revocable(func() { dropped = true; drip.GiveBack() })
	fast := a.Open(party("fast"))
	fast.Revocable(func() { t.Error("who grows fast gives way"); fast.GiveBack() })
	for range 59 {
		now = now.Add(time.Second)
		if drip.Grow(1<<10) != fair.Granted || fast.Grow(1<<20) != fair.Granted {
			t.Fatal("refused while there is room")
		}
	}
	if why := drip.Grow(1 << 20); why != fair.OverAll || dropped {
		t.Errorf("somebody gives way to one who is slow: %v", why)
	}
	if why := fast.Grow(1 << 20); why != fair.Granted || !dropped {
		t.Errorf("%v; dropped: %v", why, dropped)
	}
}

// TestRoom: what Room finds bounds everybody, and who waits sees within a second that it grew.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var room atomic.Int64
		room.Store(50)
		a := fair.New(fair.Config{Name: "bytes", Total: 1000, Room: room.Load})
		got := make(chan error, 1)
		go func() {
			g, err := a.Wait(t.Context(), party("one"), 51)
			defer g.GiveBack()
			got <- err
		}()
		synctest.Wait()
		room.Store(51)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(got) == 0 {
			t.Fatal("still waits")
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
		if _, why := a.Take(fair.Party{}, 52); why != fair.OverAll {
			t.Errorf("52 of 51: %v", why)
		}
	})
}

// TestPatience: who has waited for so long has others give way, and waits for these to give back; who waits for too long is told.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fair.New(fair.Config{Name: "slots", Total: 4, Patience: 3 * time.Second, Most: 5 * time.Second})
		revoked := 0
		for range 4 {
			g, _ := a.Take(party("greedy"), 1)
			g.Revocable(func() {
				revoked++
				time.AfterFunc(500*time.Millisecond, g.GiveBack) // as a process takes a while to end
			})
		}
		began := time.Now()
		g, err := a.Wait(t.Context(), party("one"), 1)
		if err != nil || time.Since(began) != 3500*time.Millisecond || revoked != 1 {
			t.Errorf("%v after %v, %d revoked", err, time.Since(began), revoked)
		}
		g.Revocable(func() { t.Error("who has least gives way") })
		began = time.Now()
		if _, err := a.Wait(t.Context(), party("other"), 3); !errors.Is(err, fair.TooLong) || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("left"))
		if _, err := a.Wait(ctx, party("third"), 1); err == nil || err.Error() != "left" {
			t.Errorf("who has left gets %v", err)
		}
	})
}

// TestGivenBackIsGone: a grant that was given back takes nothing again, whatever is done with it.
func TestGivenBackIsGone(t *testing.T) {
	a := fair.New(fair.Config{Name: "bytes", Total: 100})
	g, _ := a.Take(party("one"), 10)
	g.GiveBack()
	g.Revocable(func() { t.Error("revoked") })
	g.Shrink(5)
	g.Oust()
	if why := g.Grow(1); why != fair.OverAll {
		t.Error(why)
	}
	if err := g.Wait(t.Context(), 1); err == nil {
		t.Error("a grant that was given back grows")
	}
	var none *fair.Grant
	none.GiveBack()
	if left := a.Unreturned(); len(left) > 0 {
		t.Errorf("%q", left)
	}
	a.Take(party("one"), 10)
	if left := a.Unreturned(); len(left) != 2 {
		t.Errorf("%q are not given back", left)
	}
}

// TestWhoUsedItLatelyGoesLast: of those who have nothing, the ones go first who used the account least lately, and then whose owners did.
func TestWhoUsedItLatelyGoesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fair.New(fair.Config{Name: "slots", Total: 1, Places: 10})
		a.Charge(party("busy"), time.Minute)
		a.Charge(fair.Party{Owner: "popular"}, time.Minute)
		g, _ := a.Take(fair.Party{}, 1)
		var order []string
		for _, p := range []fair.Party{party("busy"), {Address: "one", Owner: "popular"}, {Address: "two", Owner: "other"}, {Address: "three", Owner: "other"}} {
			go func() {
				g, err := a.Wait(t.Context(), p, 1)
				if err != nil {
					t.Error(err)
				}
				order = append(order, p.Address)
				g.GiveBack()
			}()
			synctest.Wait()
		}
		g.GiveBack()
		synctest.Wait()
		if want := []string{"two", "three", "one", "busy"}; !slices.Equal(order, want) {
			t.Errorf("%q, want %q", order, want)
		}
	})
}

// TestRevokedWhileItChangesHands: who takes over a grant that was revoked meanwhile learns of it, unless it is given back or nobody may revoke it.
func TestRevokedWhileItChangesHands(t *testing.T) {
	a := fair.New(fair.Config{Name: "slots", Total: 10})
	g, _ := a.Take(party("a"), 9)
	revoked := ""
	g.Revocable(func() { revoked += "waits " })
	g.Revocable(func() { revoked += "joins " })
	if revoked != "" {
		t.Fatalf("%q", revoked)
	}
	g.Oust()
	g.Revocable(nil)
	g.Revocable(func() { revoked += "runs " })
	g.GiveBack()
	g.Revocable(func() { revoked += "ended " })
	if revoked != "joins runs " {
		t.Errorf("%q", revoked)
	}
}

// TestWhatSeveralShareIsOfWhoHasLeast: who shares something keeps it although another that shares it took most since, and that one gives way with
// what they have alone. Where only those share it that have most, it gives way.
func TestWhatSeveralShareIsOfWhoHasLeast(t *testing.T) {
	a := fair.New(fair.Config{Name: "bytes", Total: 100})
	gone := ""
	open := func(what string, p fair.Party, n int64) *fair.Grant {
		g := a.Open(p)
		g.Revocable(func() { gone += what; g.GiveBack() })
		if why := g.Grow(n); why != fair.Granted {
			t.Fatal(why)
		}
		return g
	}
	open("other ", party("honest"), 15)
	shared := open("shared ", party("greedy"), 10)
	shared.Of(party("greedy"), party("honest")) // who has none beside it
	greedy := open("greedy ", party("greedy"), 70)
	greedy.Progress(1)
	if _, why := a.Take(party("third"), 20); why != fair.Granted || gone != "greedy " {
		t.Errorf("%v, and %q gave way", why, gone)
	}
	ours := open("ours ", party("greedy"), 40)
	ours.Of(party("greedy"), fair.Party{})
	gone = ""
	if _, why := a.Take(party("third"), 20); why != fair.OverAll || gone != "" {
		t.Errorf("what the service uses too: %v, and %q gave way", why, gone)
	}
	ours.Of(party("greedy"))
	if _, why := a.Take(party("third"), 18); why != fair.Granted || gone != "ours " {
		t.Errorf("%v, and %q gave way", why, gone)
	}
}

// TestWhoIsBusyIsNotSlow: a grant that does not grow, and of which something is used, is not slow.
func TestWhoIsBusyIsNotSlow(t *testing.T) {
	now := time.Unix(1000, 0)
	a := fair.New(fair.Config{Name: "bytes", Total: 100, Slow: 5, Now: func() time.Time { return now }})
	idle, _ := a.Take(party("idle"), 20)
	busy, _ := a.Take(party("busy"), 80)
	busy.Revocable(func() { t.Error("who is busy gives way") })
	idle.Revocable(idle.GiveBack)
	for range 20 {
		now = now.Add(time.Second)
		busy.Progress(8)
	}
	if _, why := a.Take(party("other"), 20); why != fair.Granted {
		t.Error(why)
	}
}

// TestWhoAsksForMuchIsServed: while others ask for little without end, each of another address, one who wants much gets it once those have ended
// who had much when it came; and those who have little go on meanwhile.
func TestWhoAsksForMuchIsServed(t *testing.T) {
	for _, x := range []struct {
		little int64
		used   time.Duration // lately, by who wants much
		waits  time.Duration
	}{{0, 0, 20 * time.Second}, {10, 0, 20 * time.Second}, {0, time.Hour, 40 * time.Second}, {10, time.Hour, 40 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			little := x.little
			a := fair.New(fair.Config{Name: "bytes", Total: 100, Little: little, Places: 1000, Most: time.Minute})
			ctx, stop := context.WithCancel(t.Context())
			var served atomic.Int64
			ask := func(who string, n int64, lasts time.Duration) {
				if g, err := a.Wait(ctx, party(who), n); err == nil {
					served.Add(1)
					time.Sleep(lasts)
					g.GiveBack()
				}
			}
			go ask("large", 50, 20*time.Second)
			synctest.Wait()
			go func() {
				for i := 0; ctx.Err() == nil; i++ { // they want more than there is
					go ask(fmt.Sprint(i), 10, 7*time.Second)
					time.Sleep(500 * time.Millisecond)
				}
			}()
			time.Sleep(10 * time.Second)
			a.Charge(party("other"), x.used)
			began := time.Now()
			g, err := a.Wait(t.Context(), party("other"), 50)
			if waited := time.Since(began); err != nil || waited > x.waits {
				t.Errorf("%+v: %v after %v", x, err, waited)
			}
			before := served.Load()
			time.Sleep(20 * time.Second)
			if served.Load() == before {
				t.Error("nobody else is served")
			}
			g.GiveBack()
			stop()
			time.Sleep(time.Minute)
			if left := a.Unreturned(); len(left) > 0 {
				t.Errorf("%q", left)
			}
		})
	}
}

// TestWhoWaitsLongestGoesFirst: after fifteen seconds, whatever they used. Until then those who used least go first.
func TestWhoWaitsLongestGoesFirst(t *testing.T) {
	for waits, want := range map[time.Duration][]string{10 * time.Second: {"new", "much", "more"}, 15 * time.Second: {"more", "much", "new"}} {
		synctest.Test(t, func(t *testing.T) {
			a := fair.New(fair.Config{Name: "slots", Total: 1})
			g, _ := a.Take(party("one"), 1)
			a.Charge(party("more"), 2*time.Hour)
			a.Charge(party("much"), time.Hour)
			got := make(chan string, 3)
			ask := func(who string) { ask(t, a, who, got) }
			ask("more")
			ask("much")
			time.Sleep(waits)
			ask("new")
			g.GiveBack()
			if all := []string{<-got, <-got, <-got}; !slices.Equal(all, want) {
				t.Errorf("after %v: %q", waits, all)
			}
		})
	}
}

// TestNoRoomIsKeptForWhoCannotHaveIt: those who ask for little do not wait for one who asks for more than there is, or than it may have.
func TestNoRoomIsKeptForWhoCannotHaveIt(t *testing.T) {
	for name, x := range map[string]struct {
		p fair.Party
		n int64
	}{"more than there is": {fair.Party{}, 101}, "more than all but the eighth": {party("one"), 90}, "more than it may have": {party("one"), 95}} {
		synctest.Test(t, func(t *testing.T) {
			a := fair.New(fair.Config{Name: "bytes", Total: 100, Address: 93, Little: 10})
			held, _ := a.Take(party("other"), 40)
			go func() { _, _ = a.Wait(t.Context(), x.p, x.n) }()
			time.Sleep(time.Minute)
			if _, why, _ := a.Try(party("third"), 20); why != fair.Granted {
				t.Errorf("%s: %v", name, why)
			}
			held.GiveBack()
		})
	}
}

// TestWhoOverstaysGivesWay: past its usual time a grant gives way to one who would have as much, if that used the account less lately.
func TestWhoOverstaysGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fair.New(fair.Config{Name: "bytes", Total: 100, Patience: 5 * time.Second, Newest: true})
		hold := func(who string) (g *fair.Grant, gone chan bool) {
			gone = make(chan bool, 1)
			g, err := a.Wait(t.Context(), party(who), 50)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			g.RevocableFor(40*time.Second, func() { a.Charge(party(who), time.Since(began)); g.GiveBack(); gone <- true })
			return g, gone
		}
		_, first := hold("a")
		time.Sleep(time.Second)
		_, second := hold("b")
		began := time.Now()
		_, third := hold("c")
		if waited := time.Since(began); waited != 39*time.Second || len(first) == 0 {
			t.Errorf("after %v; %d %d", waited, len(first), len(second))
		}
		a.Charge(party("a"), time.Minute)
		began = time.Now()
		if _, _ = hold("a"); time.Since(began) < 10*time.Second || len(second) == 0 && len(third) == 0 {
			t.Errorf("who used it for longer has others give way after %v", time.Since(began))
		}
	})
}

// TestNobodyGivesWayInVain: where all that may be revoked would not be enough, nobody's work ends.
func TestNobodyGivesWayInVain(t *testing.T) {
	a := fair.New(fair.Config{Name: "things", Total: 1000})
	take := func(p fair.Party, n int64) *fair.Grant {
		g, why := a.Take(p, n)
		if why != fair.Granted {
			t.Fatal(p, n, why)
		}
		return g
	}
	large, small := fair.Party{Network: "large"}, fair.Party{Network: "small"}
	ours, kept, gone := take(fair.Party{}, 500), take(large, 250), take(large, 50)
	gone.Revocable(func() { t.Error("it gave way in vain"); gone.GiveBack() })
	if _, why := a.Take(small, 290); why != fair.OverAll {
		t.Errorf("%v", why)
	}
	enough := false
	gone.Revocable(func() { enough = true; gone.GiveBack() })
	ours.Shrink(450)
	if g, why := a.Take(small, 290); why != fair.Granted || !enough {
		t.Errorf("%v, gave way: %v", why, enough)
	} else {
		g.GiveBack()
	}
	ours.GiveBack()
	kept.GiveBack()
	if left := a.Unreturned(); len(left) > 0 {
		t.Error(left)
	}
}

// TestWhoWaitsKeepsThePlace: nobody takes the only place of a party, however long that had the account.
func TestWhoWaitsKeepsThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fair.New(fair.Config{Name: "slots", Total: 1, Places: 2})
		g, _ := a.Take(party("one"), 1)
		a.Charge(party("large"), time.Minute)
		got := make(chan string, 10)
		for _, who := range []string{"large", "x", "y", "z"} {
			go func() {
				g, err := a.Wait(t.Context(), party(who), 1)
				if err != nil {
					who += ": " + err.Error()
				}
				got <- who
				g.GiveBack()
			}()
			synctest.Wait()
		}
		g.GiveBack()
		synctest.Wait()
		close(got)
		var all []string
		for who := range got {
			all = append(all, who)
		}
		if want := []string{"y: too many wait already", "z: too many wait already", "x", "large"}; !slices.Equal(all, want) {
			t.Errorf("%q, want %q", all, want)
		}
	})
}

// TestLittleUse: who used an account for less than counts as a use comes by the order of their coming alone.
func TestLittleUse(t *testing.T) {
	for brief, want := range map[time.Duration]string{0: "first", time.Second: "first", time.Millisecond: "second", 5 * time.Millisecond: "first"} {
		synctest.Test(t, func(t *testing.T) {
			a := fair.New(fair.Config{Name: "turns", Total: 1, Brief: brief})
			a.Charge(party("first"), 4*time.Millisecond)
			held, _ := a.Take(fair.Party{}, 1)
			got := make(chan string, 2)
			ask(t, a, "first", got)
			ask(t, a, "second", got)
			held.GiveBack()
			if who := <-got; who != want {
				t.Errorf("with %v the %s one goes first", brief, who)
			}
			synctest.Wait()
		})
	}
}
