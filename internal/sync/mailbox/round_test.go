package mailbox_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/mailbox"
	"github.com/graspd/graspd/internal/test/testkit"
)

// shareOf is the share of a relay that n people write to.
func shareOf(t *testing.T, n int) *mailbox.Mailbox {
	t.Helper()
	f, a := newFold(mailbox.Bounds{}, "wss://a.example"), asked{}
	for i := range n {
		f.Add(lists(i, 1, "wss://a.example"))
		for j := range 1 + i%12 {
			f.Add(issue(i, int64(j)))
		}
	}
	a.take(f)
	return a["wss://a.example"]
}

// What is asked in a round asks for everybody, within the bound of a list, and brings whatever they wrote about something here.
func TestARoundAsksForEverybody(t *testing.T) {
	for _, values := range []int{1, 7, 100, 1000} {
		t.Run(fmt.Sprint(values), func(t *testing.T) {
			s := shareOf(t, 90)
			var r mailbox.Round
			if f, ok := r.Next(values); ok {
				t.Fatalf("before it has begun: %+v", f)
			}
			r.Begin(s, 0.4)
			var all []nostr.Filter
			for f, ok := r.Next(values); ok; f, ok = r.Next(values) {
				again, _ := r.Next(values)
				if !slices.Equal(f.Authors, again.Authors) || f.Key() != again.Key() {
					t.Fatal("it changes its mind")
				}
				all = append(all, f)
				if r.Done(f, true); len(f.Authors) > values || len(f.Authors) == 0 || len(f.Tags) > 0 && len(f.Tags[0].Values) > values || len(f.Kinds)+len(f.Tags) == 0 {
					t.Fatalf("%+v", f)
				}
				if len(all) > 10_000 {
					t.Fatal("no end of it")
				}
			}
			for i := range 90 {
				own := issue(i, int64(i%12))
				for what, e := range map[string]*nostr.Event{
					"profile": says(i, 5, nostr.KindMetadata), "list": lists(i, 5), "servers": says(i, 5, nip34.KindGraspList),
					"comment":  says(i, 5, nostr.KindComment),
					"state":    says(i, 5, nip34.KindState),
					"reaction": says(i, 5, nostr.KindReaction, nostr.Tag{"e", own.ID.String()}),
					"quote":    says(i, 5, nostr.KindNote, nostr.Tag{"q", own.ID.String()}),
					"deletion": says(i, 5, nostr.KindDeletion, nostr.Tag{"e", own.ID.String()}),
					"note":     says(i, 5, nostr.KindNote, nostr.Tag{"a", repository}),
				} {
					if values == 1 && (what == "reaction" || what == "quote" || what == "deletion") {
						continue // nobody's threads fit
					}
					if values == 7 && i%12 > 6 {
						continue
					}
					if !slices.ContainsFunc(all, func(f nostr.Filter) bool { return f.Matches(e) }) {
						t.Errorf("%s of %d is not asked for", what, i)
					}
				}
				for what, e := range map[string]*nostr.Event{
					"note": says(i, 5, nostr.KindNote), "follows": says(i, 5, nostr.KindFollows), "deletion": says(i, 5, nostr.KindDeletion, nostr.Tag{"e", says(200, 9, 1).ID.String()}),
				} {
					if slices.ContainsFunc(all, func(f nostr.Filter) bool { return f.Matches(e) }) {
						t.Errorf("%s of %d is asked for", what, i)
					}
				}
			}
			if most := 90*6 + 100; len(all) > most {
				t.Errorf("%d questions", len(all))
			}
			if values == 100 && len(all) > 100 {
				t.Errorf("%d questions for 90 people", len(all))
			}
		})
	}
}

// Who writes so much that a question is given up is asked for alone in the end, after everybody else.
func TestWhoWritesMuchTakesNobodysTurn(t *testing.T) {
	s := shareOf(t, 60)
	much := s.People[17].PubKey
	for seed := range uint64(20) {
		var r mailbox.Round
		r.Begin(s, rand.New(rand.NewPCG(seed, 1)).Float64())
		served, spent, alone := make(map[nostr.PubKey]bool), 0, false
		for f, ok := r.Next(100); ok; f, ok = r.Next(100) {
			whole := !slices.Contains(f.Authors, much) || !slices.Contains(f.Kinds, nip34.KindPatch)
			if !whole {
				spent++
				alone = alone || len(f.Authors) == 1
			}
			for _, pk := range f.Authors {
				served[pk] = served[pk] || whole && slices.Contains(f.Kinds, nip34.KindPatch)
			}
			r.Done(f, whole)
		}
		for _, p := range s.People {
			if !served[p.PubKey] && p.PubKey != much {
				t.Fatalf("seed %d: somebody is not asked for", seed)
			}
		}
		if spent > 7 || !alone {
			t.Fatalf("seed %d: given up %d times, alone %v", seed, spent, alone)
		}
	}
}

// A round that is cut short goes on with whose turn it was, though others come and go.
func TestARoundGoesOn(t *testing.T) {
	s := shareOf(t, 200)
	var r mailbox.Round
	seen := make(map[nostr.PubKey]bool)
	for round := range 30 {
		share := *s
		share.Index = nil
		share.People = slices.DeleteFunc(slices.Clone(s.People), func(p mailbox.Person) bool { return p.PubKey == testkit.Someone(round) })
		r.Begin(&share, 0)
		for range 10 {
			f, ok := r.Next(100)
			if !ok {
				break
			}
			for _, pk := range f.Authors {
				seen[pk] = true
			}
			r.Done(f, true)
		}
	}
	if len(seen) < 200 {
		t.Errorf("%d of 200 have had a turn", len(seen))
	}
	if r.Begin(nil, 0.5); fmt.Sprintf("%+v", r) != fmt.Sprintf("%+v", mailbox.Round{}) {
		t.Error("nothing is left of nobody")
	}
}

// A round that goes on where it was asks for nobody who has gone meanwhile, and for everybody else as before.
func TestARoundGoesOnWithoutThoseWhoHaveGone(t *testing.T) {
	s := shareOf(t, 100)
	s.Index = nil
	for i := range 90 {
		s.Index = append(s.Index, s.People[i].PubKey)
	}
	for _, cut := range []int{0, 1, 2, 4, 7, 20, 26, 27, 40, 120, 200, 300} {
		var r mailbox.Round
		r.Begin(s, 0)
		asked := func(most int) (authors []string) {
			for range most {
				f, ok := r.Next(100)
				if !ok {
					break
				}
				if len(f.Authors) == 0 {
					t.Fatalf("everybody is asked for: %+v", f)
				}
				for _, pk := range f.Authors {
					authors = append(authors, fmt.Sprintf("%s %v %v", pk, f.Kinds, f.Tags != nil))
				}
				r.Done(f, false) // all are halved, and asked again
			}
			return authors
		}
		before := asked(cut)
		fewer := mailbox.Mailbox{Index: s.Index[10:]}
		for i, p := range s.People {
			if i%7 > 0 {
				fewer.People = append(fewer.People, p)
			}
		}
		gone := func(author string) bool {
			return !slices.ContainsFunc(fewer.People, func(p mailbox.Person) bool { return author[:64] == p.PubKey.String() })
		}
		more := r.GoOn(&fewer)
		after := asked(10_000)
		if more != (len(after) > 0) {
			t.Fatalf("after %d questions more is %v, and %d are asked for", cut, more, len(after))
		}
		for _, a := range after {
			inIndex := slices.ContainsFunc(fewer.Index, func(pk nostr.PubKey) bool { return a[:64] == pk.String() })
			if gone(a) && !(cut == 0 && inIndex) {
				t.Fatalf("after %d questions who has gone is asked for: %s", cut, a)
			}
		}
		for _, p := range fewer.People {
			if all := append(before, after...); !slices.ContainsFunc(all, func(a string) bool { return a[:64] == p.PubKey.String() && a[64:] != " [0 62 10002 10317] false" }) {
				t.Fatalf("after %d questions somebody is left out", cut)
			}
		}
		if r.GoOn(nil) || r.GoOn(&mailbox.Mailbox{}) {
			t.Fatal("nobody is asked for")
		}
	}
}
