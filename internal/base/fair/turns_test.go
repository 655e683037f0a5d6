package fair_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/base/fair"
)

// TestTurns: parties have turns one after the other in the order in which they came to wait, and the things of one in theirs.
func TestTurns(t *testing.T) {
	var turns fair.Turns[string, int]
	if turns.Pop() != 0 {
		t.Error("something comes out of nothing")
	}
	for i := range 4 {
		turns.Push("much", 1+i)
	}
	turns.Push("little", 10)
	if !slices.Equal(turns.Parties(), []string{"much", "little"}) || !slices.Equal(turns.Waiting("much"), []int{1, 2, 3, 4}) {
		t.Errorf("%v, %v", turns.Parties(), turns.Waiting("much"))
	}
	got := []int{turns.Pop(), turns.Pop()}
	turns.Push("little", 11) // which comes anew, and so behind
	for range 5 {
		got = append(got, turns.Pop())
	}
	if want := []int{1, 10, 2, 11, 3, 4, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestAWholeTurn: who has the turn says what of theirs waits on, and what waits on does so behind all others.
func TestAWholeTurn(t *testing.T) {
	var turns fair.Turns[string, int]
	for i := range 3 {
		turns.Push("a", i)
		turns.Push("b", 10+i)
	}
	backwards := func(p string, waiting []int) []int {
		if p != "a" {
			t.Errorf("it is the turn of %s", p)
		}
		slices.Reverse(waiting)
		return waiting[:2]
	}
	if !turns.Turn(backwards) || !slices.Equal(turns.Parties(), []string{"b", "a"}) || !slices.Equal(turns.Waiting("a"), []int{2, 1}) {
		t.Errorf("%v, %v", turns.Parties(), turns.Waiting("a"))
	}
	none := func(string, []int) []int { return nil }
	for range 2 {
		if turns.Turn(none) {
			t.Error("a turn in which nothing was taken counts")
		}
	}
	if len(turns.Parties()) > 0 || turns.Waiting("b") != nil {
		t.Errorf("%v wait", turns.Parties())
	}
}

// TestNobodyWaitsForMoreThanOneTurnOfEach tries that in random histories: of each other party, at most one thing comes before the first of one
// that begins to wait.
func TestNobodyWaitsForMoreThanOneTurnOfEach(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var turns fair.Turns[int, int]
	waiting, next, began, popped := map[int]int{}, map[int]int{}, map[int]int{}, 0
	for range 20_000 {
		if p := r.IntN(8); r.IntN(2) == 0 {
			if waiting[p]++; waiting[p] == 1 {
				began[p] = popped
			}
			turns.Push(p, p+8*(next[p]+waiting[p]-1))
			continue
		}
		if len(turns.Parties()) == 0 {
			continue
		}
		x := turns.Pop()
		p := x % 8
		if popped++; popped-began[p] > 8 || x/8 != next[p] {
			t.Fatalf("%d of %d comes after %d others, the next was %d", x/8, p, popped-began[p]-1, next[p])
		}
		waiting[p]--
		next[p]++
		began[p] = popped
		if len(turns.Waiting(p)) != waiting[p] {
			t.Fatalf("%d wait, want %d", len(turns.Waiting(p)), waiting[p])
		}
	}
}

// TestTurnsThatTookLong: a party lets others go first as often as its turns took longer than theirs, and nobody waits for ever.
func TestTurnsThatTookLong(t *testing.T) {
	var turns fair.Turns[string, string]
	for range 6 {
		turns.Push("long", "L")
		turns.Push("short", "s")
	}
	got := ""
	pop := func(n int) {
		for range n {
			got += turns.Pop()
		}
	}
	pop(1)
	turns.Charge("long", 2)
	pop(4)
	turns.Charge("long", 0)
	pop(7)
	if got != "LsssLsLsLsLL" {
		t.Errorf("the turns were those of %s", got)
	}
}

// TestWhoOwesTurnsWaitsForNobodyElse: with others who owe as much, and alone, a party waits no longer than without.
func TestWhoOwesTurnsWaitsForNobodyElse(t *testing.T) {
	var turns fair.Turns[string, string]
	turns.Charge("a", 1000)
	turns.Push("a", "a")
	if turns.Pop() != "a" {
		t.Error("a party that waits alone has no turn")
	}
	turns.Charge("b", 33)
	for range 2 {
		turns.Push("a", "a")
		turns.Push("b", "b")
	}
	turns.Push("c", "c")
	got := ""
	for range 5 {
		got += turns.Pop()
	}
	if got != "cabab" {
		t.Errorf("the turns were those of %s", got)
	}
}

// TestDebtsAreBounded: of a thousand parties and more that owe turns, those are forgiven who came first.
func TestDebtsAreBounded(t *testing.T) {
	var turns fair.Turns[int, int]
	for p := range 1025 {
		turns.Charge(p, 1)
	}
	for _, p := range []int{1024, 1023, 0} {
		turns.Push(p, p)
	}
	if got := []int{turns.Pop(), turns.Pop(), turns.Pop()}; !slices.Equal(got, []int{1023, 0, 1024}) {
		t.Errorf("the turns were those of %v", got)
	}
}
