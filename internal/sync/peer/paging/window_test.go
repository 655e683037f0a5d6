package paging

import "testing"

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
