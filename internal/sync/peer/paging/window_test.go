package paging

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestAWindowLacksWhatIsKnownOfItsEnds, though as many others that are known came in its place.
func TestAWindowLacksWhatIsKnownOfItsEnds(t *testing.T) {
	g := page{times: []int64{10, 11, 12, 13, 20}}
	for name, w := range map[string]window{"first": {Span: Span{10, 20}, known: 5, first: 2}, "last": {Span: Span{10, 20}, known: 5, last: 2}} {
		if n := w.lacks(g, w.Span); n != 1 {
			t.Errorf("of two of the %s second one came, and %d are lacked", name, n)
		}
	}
	if n := (window{Span: Span{10, 20}, known: 5, first: 2}).lacks(g, Span{11, 20}); n != 0 {
		t.Errorf("the first second was not asked for, and %d are lacked", n)
	}
}

// What is asked again after a full answer knows how many events of each of its ends came.
func TestWhatIsAskedAgainKnowsItsEnds(t *testing.T) {
	p := New(Span{0, 100}, &Habits{})
	for i := range 20 { // two in each second, the newest first
		p.Received(nostr.ID{byte(i)}, int64(90-i/2))
	}
	p.Done(20)
	upper, lower := p.todo[1], p.todo[0]
	if upper.Until != 100 || upper.first != 2 || upper.known <= 2 || lower.Until != upper.Since-1 || lower.last != 2 {
		t.Errorf("asked again: %+v, and before it %+v", upper, lower)
	}
}

// What came in time but for the end of a connection on which answers ended before is asked once more as it was, and then in parts.
func TestWhatOnlyCameLateIsAskedAsItWas(t *testing.T) {
	habits := &Habits{part: 10, ended: true}
	p := New(Span{0, 100}, habits)
	for time, want := range []int{1, 2} {
		for i := range 20 {
			p.Received(nostr.ID{byte(i)}, int64(90-i))
		}
		habits.ended = true
		habits.Lost()
		if !p.Lost(1000) || len(p.todo) != want || want == 1 && p.todo[0].Span != p.span {
			t.Errorf("after loss %d: %+v", time+1, p.todo)
		}
	}
}

// An answer that is nearly full and lacks what is known leaves a doubt, though the one before was no other.
func TestAnAnswerThatIsNearlyFullAndLacksWhatIsKnown(t *testing.T) {
	for most, doubt := range map[int]bool{10: true, 1000: false} {
		p := New(Span{0, 100}, &Habits{most: most})
		g := page{times: []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}, n: 9}
		p.doubt(g, window{Span: p.span, again: true, came: 9}, 1)
		if p.unproven != doubt || p.habits.wary != doubt {
			t.Errorf("9 events where the largest answer has %d: unproven %v, wary %v", most, p.unproven, p.habits.wary)
		}
	}
}
