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

// walk goes from a root event through what is on a shelf.
func walk(t *testing.T, s *surveytest.Shelf, root *nostr.Event) threads.Reached {
	t.Helper()
	in, err := threads.Values{IDs: []nostr.ID{root.ID}}.Walk(s.Store())
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// A walk finds each event once, however many lead to it.
func TestAWalkFindsEverythingOnce(t *testing.T) {
	var m mint
	root := m.Issue(1, address(key(0), "x"))
	s := shelve(root)
	want, missing := map[nostr.ID]bool{}, map[nostr.ID]bool{}
	keep := func(e *nostr.Event) *nostr.Event { s.Events[e.ID] = e; return e }
	last := root
	for i := range 1700 {
		e := keep(m.Event(nostr.KindComment, key(i%13), int64(100+i/7), nostr.Tag{"E", root.ID.String()}, nostr.Tag{"e", last.ID.String()}))
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
		case 3:
			last = e
		}
		want[e.ID] = true
	}
	in := walk(t, s, root)
	found := map[nostr.ID]int{}
	for _, id := range in.IDs {
		if found[id]++; !want[id] {
			t.Fatal("something is found that nothing leads to")
		}
	}
	for _, id := range in.Missing {
		if found[id]++; !missing[id] {
			t.Fatal("something is missing that nobody names")
		}
	}
	if len(found) != len(want)+len(missing) || len(in.IDs)+len(in.Missing) != len(found) || in.Full {
		t.Errorf("%d of %d ids, %d of %d missing, %d found, full %v", len(in.IDs), len(want), len(in.Missing), len(missing), len(found), in.Full)
	}
	if n := 13 + len(want) - 1700*9/10; len(in.Authors) != n {
		t.Errorf("%d authors of %d", len(in.Authors), n)
	}
}

func TestWhatAnEventLeadsTo(t *testing.T) {
	var m mint
	root := m.Issue(1, address(key(0), "x"))
	absent := nostr.ID{1}.String()
	named := func(e *nostr.Event) nostr.Tag { return nostr.Tag{"q", e.ID.String()} }
	note := m.Event(1, key(3), 1)
	answer := m.Event(7, key(4), 1, nostr.Tag{"e", note.ID.String()}, nostr.Tag{"q", nostr.ID{2}.String()})
	for name, tc := range map[string]struct {
		kind                  nostr.Kind
		tags                  []nostr.Tag
		ids, missing, authors int
	}{
		"a comment":                         {1111, nil, 1, 0, 1},
		"a root":                            {1618, []nostr.Tag{{"a", address(key(0), "x")}, {"q", absent}}, 0, 1, 1},
		"a root kind without repository":    {1619, []nostr.Tag{{"q", absent}}, 1, 1, 1},
		"missing, in every way of naming":   {7, []nostr.Tag{{"e", absent}, {"E", nostr.ID{2}.String()}, {"q", nostr.ID{3}.String()}, {"q", absent}}, 1, 3, 1},
		"no reference":                      {7, []nostr.Tag{{"p", absent}, {"e", "x"}, {"q", address(key(1), "y")}}, 1, 0, 1},
		"a deletion":                        {5, []nostr.Tag{{"e", absent}}, 1, 0, 1},
		"a request to vanish":               {62, []nostr.Tag{{"e", absent}}, 1, 0, 1},
		"what was refused":                  {7, []nostr.Tag{{"e", nostr.ID{9}.String()}}, 1, 0, 1},
		"the root event again":              {7, []nostr.Tag{named(root)}, 1, 0, 1},
		"what is here, and what answers it": {7, []nostr.Tag{named(note), named(note)}, 3, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := shelve(root, note, answer, m.Event(tc.kind, key(2), 10, append([]nostr.Tag{{"e", root.ID.String()}}, tc.tags...)...))
			s.Refused[nostr.ID{9}] = true
			in := walk(t, s, root)
			if len(in.IDs) != tc.ids || len(in.Missing) != tc.missing || len(in.Authors) != tc.authors || in.Full {
				t.Errorf("%+v", in)
			}
		})
	}
}

// Answers to answers are followed so far.
func TestLevels(t *testing.T) {
	var m mint
	root := m.Issue(1, address(key(0), "x"))
	s := shelve(root)
	for last, i := root, 0; i < 20; i++ {
		last = m.Event(nostr.KindReaction, key(i), 1, nostr.Tag{"e", last.ID.String()})
		s.Events[last.ID] = last
	}
	if in := walk(t, s, root); len(in.IDs) != threads.MostLevels {
		t.Errorf("%d levels", len(in.IDs))
	}
}

// What one event brings with it is bounded, and so is what all of them do: the newest come first.
func TestWalkBounds(t *testing.T) {
	var m mint
	root := m.Issue(1, address(key(0), "x"))
	s := shelve(root)
	greedy := m.Event(1111, key(2), 10, nostr.Tag{"E", root.ID.String()})
	s.Events[greedy.ID] = greedy
	for i := range 200 {
		note := m.Event(1, key(3), 1)
		s.Events[note.ID] = note
		greedy.Tags = append(greedy.Tags, nostr.Tag{"q", nostr.ID{1, byte(i)}.String()}, nostr.Tag{"q", note.ID.String()})
	}
	if in := walk(t, s, root); len(in.Missing) != threads.MostNamed || len(in.IDs) != 1+threads.MostForward || in.Full {
		t.Errorf("%d missing, %d ids", len(in.Missing), len(in.IDs))
	}
	s.Err = errors.New("disk")
	if _, err := (threads.Values{IDs: []nostr.ID{root.ID}}).Walk(s.Store()); !errors.Is(err, s.Err) {
		t.Errorf("%v", err)
	}

	s = shelve(root)
	var newest *nostr.Event
	for i := range threads.MostReached + 100 {
		newest = m.Event(1111, key(2), int64(i), nostr.Tag{"E", root.ID.String()})
		s.Events[newest.ID] = newest
	}
	if in := walk(t, s, root); len(in.IDs) != threads.MostReached || !in.Full || in.IDs[0] != newest.ID {
		t.Errorf("%d ids, full %v", len(in.IDs), in.Full)
	}

	s = shelve(root)
	for i := range 200 { // each names so much that is here
		e := m.Event(1111, key(2), int64(i), nostr.Tag{"E", root.ID.String()})
		for n := range 200 {
			e.Tags = append(e.Tags, nostr.Tag{"q", nostr.ID{2, byte(i), byte(n)}.String()})
			s.Refused[nostr.ID{2, byte(i), byte(n)}] = true
		}
		s.Events[e.ID] = e
	}
	if in := walk(t, s, root); s.Looks > 20_001 || !in.Full {
		t.Errorf("%d looks, full %v", s.Looks, in.Full)
	}
}

// Events that name all newer ones come again with each lot of those. A walk does not read them without end.
func TestAWalkReadsNoKnotWithoutEnd(t *testing.T) {
	var m mint
	root := m.Issue(1, address(key(0), "x"))
	s := shelve(root)
	var newer nostr.Tags
	for i := range 600 {
		e := m.Event(1111, key(2), int64(1000-i), append(nostr.Tags{{"E", root.ID.String()}}, newer...)...)
		s.Events[e.ID] = e
		newer = append(newer, nostr.Tag{"e", e.ID.String()})
	}
	if in := walk(t, s, root); !in.Full || s.Looks > 0 || s.Tags > 20_000*17 {
		t.Errorf("full %v, %d tags were read", in.Full, s.Tags)
	}
}

// The authors of all root events are found, however many these are.
func TestAuthorsOfRootEvents(t *testing.T) {
	var m mint
	s := shelve()
	for i := range threads.MostReached + 200 {
		e := m.Issue(int64(i), address(key(0), "x"))
		e.PubKey = key(i)
		s.Events[e.ID] = e
	}
	in, err := threads.Values{Addresses: []string{address(key(0), "x")}}.Walk(s.Store())
	if err != nil || len(in.IDs) != 0 || in.Full || len(in.Authors) != threads.MostReached+200 {
		t.Errorf("%d ids, %d authors, full %v, %v", len(in.IDs), len(in.Authors), in.Full, err)
	}
}
