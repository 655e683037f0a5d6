package threads_test

import (
	"errors"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/threads"
	"github.com/graspd/graspd/internal/sync/peer/threads/surveytest"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

type mint = wanttest.Mint

var (
	key     = wanttest.Key
	address = wanttest.Address
	shelve  = surveytest.Shelve
)

// Paging finds what one look at everything finds, whatever the pages are cut by.
func TestSurveyPages(t *testing.T) {
	var m mint
	root := m.Issue(1, address(key(0), "x"))
	s := shelve(root)
	want := map[nostr.ID]bool{}
	missing := map[nostr.ID]bool{}
	keep := func(e *nostr.Event) *nostr.Event { s.Events[e.ID] = e; return e }
	for i := range 1700 {
		e := keep(m.Event(nostr.KindComment, key(i%13), int64(100+i/7), nostr.Tag{"E", root.ID.String()}))
		switch i % 10 {
		case 0: // a root of the repository, too
			e.Kind, e.Tags = 1617, append(e.Tags, nostr.Tag{"a", address(key(0), "x")})
			continue
		case 1:
			for range i % 9 {
				absent := m.Event(1, key(1), 1)
				missing[absent.ID] = true
				e.Tags = append(e.Tags, nostr.Tag{"q", absent.ID.String()})
			}
		case 2:
			note := keep(m.Event(1, key(20+i), 1))
			e.Tags = append(e.Tags, nostr.Tag{"q", note.ID.String()})
			want[note.ID] = true
		}
		want[e.ID] = true
	}
	in := threads.PageAnswer{}
	ids, gone, pages := map[nostr.ID]int{}, map[nostr.ID]int{}, 0
	for e := (threads.PageQuery{Values: threads.Values{IDs: []nostr.ID{root.ID}}}); ; e.After = in.Next {
		var err error
		if in, err = s.Answer(e); err != nil {
			t.Fatal(err)
		}
		if pages++; len(in.IDs) > threads.PageIDs || len(in.Missing) > threads.PageIDs || len(in.Authors) > threads.PageReads+threads.PageIDs {
			t.Fatalf("a page of %d ids, %d missing, %d authors", len(in.IDs), len(in.Missing), len(in.Authors))
		}
		for _, id := range in.IDs {
			ids[id]++
		}
		for _, id := range in.Missing {
			gone[id]++
		}
		if in.Next == nil {
			break
		}
	}
	if len(ids) != len(want) || len(gone) != len(missing) || pages > 25 {
		t.Errorf("%d ids of %d, %d missing of %d, in %d pages", len(ids), len(want), len(gone), len(missing), pages)
	}
	for id := range want {
		if ids[id] != 1 {
			t.Fatalf("%v is found %d times", id, ids[id])
		}
	}
	for id := range missing {
		if gone[id] != 1 {
			t.Fatalf("%v is missing %d times", id, gone[id])
		}
	}
}

// page surveys what is about a root event, with something else above.
func page(t *testing.T, s *surveytest.Shelf, root *nostr.Event, above ...*nostr.Event) threads.PageAnswer {
	t.Helper()
	e := threads.PageQuery{Values: threads.Values{IDs: []nostr.ID{root.ID}}}
	for _, x := range above {
		e.Above = append(e.Above, threads.Values{IDs: []nostr.ID{x.ID}, Addresses: []string{address(key(7), "above")}})
	}
	in, err := s.Answer(e)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestSurveyPage(t *testing.T) {
	var m mint
	root, above := m.Issue(1, address(key(0), "x")), m.Issue(1, address(key(0), "x"))
	absent := nostr.ID{1}.String()
	named := func(e *nostr.Event) nostr.Tag { return nostr.Tag{"q", e.ID.String()} }
	onRoot := nostr.Tag{"e", root.ID.String()}
	other, aboutAbove := m.Event(1, key(3), 1), m.Event(7, key(3), 1, nostr.Tag{"e", above.ID.String()})
	announcement := m.Announce(key(7), "above", 1, nil)
	for name, tc := range map[string]struct {
		kind    nostr.Kind
		tags    []nostr.Tag
		ids     int
		missing int
		authors int
	}{
		"a comment":                         {1111, nil, 1, 0, 1},
		"about what is above as well":       {1111, []nostr.Tag{{"E", above.ID.String()}, {"q", absent}}, 0, 0, 0},
		"at an address above":               {1111, []nostr.Tag{{"A", address(key(7), "above")}}, 0, 0, 0},
		"an address where an id stands":     {1111, []nostr.Tag{{"e", address(key(7), "above")}}, 1, 0, 1},
		"an id where an address stands":     {1111, []nostr.Tag{{"a", above.ID.String()}}, 1, 0, 1},
		"a root":                            {1618, []nostr.Tag{{"a", address(key(0), "x")}, {"q", absent}}, 0, 1, 1},
		"a root kind without repository":    {1619, []nostr.Tag{{"q", absent}}, 1, 1, 1},
		"missing, in every way of naming":   {7, []nostr.Tag{{"e", absent}, {"E", nostr.ID{2}.String()}, {"q", nostr.ID{3}.String()}, {"q", absent}}, 1, 3, 1},
		"no reference":                      {7, []nostr.Tag{{"p", absent}, {"e", "x"}, {"q", address(key(1), "y")}}, 1, 0, 1},
		"a deletion":                        {5, []nostr.Tag{{"e", absent}}, 1, 0, 1},
		"a request to vanish":               {62, []nostr.Tag{{"e", absent}}, 1, 0, 1},
		"what was refused":                  {7, []nostr.Tag{{"e", nostr.ID{9}.String()}}, 1, 0, 1},
		"what is here and led to otherwise": {7, []nostr.Tag{named(root), named(aboutAbove)}, 1, 0, 1},
		"what is here and nothing leads to": {7, []nostr.Tag{named(other), named(other)}, 2, 0, 2},
		"what stands at an address above":   {7, []nostr.Tag{named(announcement)}, 1, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := m.Event(tc.kind, key(2), 10, append([]nostr.Tag{onRoot}, tc.tags...)...)
			s := shelve(root, above, other, aboutAbove, announcement, e)
			s.Refused[nostr.ID{9}] = true
			in := page(t, s, root, above)
			if len(in.IDs) != tc.ids || len(in.Missing) != tc.missing || len(in.Authors) != tc.authors || in.Next != nil {
				t.Errorf("%+v", in)
			}
		})
	}
}

// What one event brings with it is bounded, and comes before what the others do.
func TestSurveyBounds(t *testing.T) {
	var m mint
	root := m.Issue(1, address(key(0), "x"))
	s := shelve(root)
	greedy := m.Event(1111, key(2), 10, nostr.Tag{"E", root.ID.String()})
	s.Events[greedy.ID] = greedy
	before := greedy
	for i := range 200 {
		greedy.Tags = append(greedy.Tags, nostr.Tag{"q", nostr.ID{1, byte(i)}.String()})
		note := m.Event(1, key(3), 1)
		s.Events[note.ID] = note
		if i%2 == 0 { // a chain, else a fan
			before.Tags = append(before.Tags, nostr.Tag{"q", note.ID.String()})
			before = note
		} else {
			greedy.Tags = append(greedy.Tags, nostr.Tag{"q", note.ID.String()})
		}
	}
	in := page(t, s, root)
	if len(in.Missing) != threads.MostNamed || len(in.IDs) != 1+threads.MostForward {
		t.Errorf("%d missing, %d ids", len(in.Missing), len(in.IDs))
	}
	if s.Looks > 1000 {
		t.Errorf("%d looks for one event", s.Looks)
	}
	s.Err = errors.New("disk")
	if _, err := s.Answer(threads.PageQuery{Values: threads.Values{IDs: []nostr.ID{root.ID}}}); !errors.Is(err, s.Err) {
		t.Errorf("%v", err)
	}
}

// A repository of root events only is read in bounded pages as well.
func TestSurveyReads(t *testing.T) {
	var m mint
	s := shelve()
	for i := range 1200 {
		e := m.Issue(int64(i), address(key(0), "x"))
		s.Events[e.ID] = e
	}
	e, pages := threads.PageQuery{Values: threads.Values{Addresses: []string{address(key(0), "x")}}}, 0
	for {
		in, err := s.Answer(e)
		if err != nil || len(in.IDs) != 0 || len(in.Authors) > threads.PageReads {
			t.Fatalf("%d ids, %d authors, %v", len(in.IDs), len(in.Authors), err)
		}
		if pages++; in.Next == nil {
			break
		}
		e.After = in.Next
	}
	if pages != 3 {
		t.Errorf("%d pages", pages)
	}
}
