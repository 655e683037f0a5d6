package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
)

// TestChangesOfRows: whoever has begun hears of every row that a commit writes or removes, and of what a batch tells besides, once the commit is
// visible; nobody hears of a batch that is dropped; whoever has just begun or comes too late is told to look at all.
func TestChangesOfRows(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, store.Options{Dir: "data", FS: fs})
	if names, at, all, _ := s.Changes(0); len(names) > 0 || at == 0 || !all {
		t.Fatalf("at first %q, %d, %t", names, at, all)
	}
	_, at, _, more := s.Changes(0)
	write := func(commit bool, names ...string) {
		t.Helper()
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer b.Discard()
		for _, n := range names {
			if tell, is := strings.CutPrefix(n, "!"); is {
				b.Tell(tell)
				continue
			}
			value := []byte("x")
			if gone, is := strings.CutPrefix(n, "-"); is {
				n, value = gone, nil
			}
			if err := b.SetRow(n, value); err != nil {
				t.Fatal(err)
			}
		}
		if commit {
			if _, err := b.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	is := func(want string) {
		t.Helper()
		var names []string
		var all bool
		if names, at, all, more = s.Changes(at); strings.Join(names, " ") != want || all {
			t.Errorf("%q, %t, want %q", names, all, want)
		}
	}
	is("")
	write(false, "dropped")
	is("")
	woken := more
	write(true, "a", "!b", "b", "-a")
	select {
	case <-woken:
	default:
		t.Error("nobody was woken")
	}
	is("a b a")
	write(true, "c")
	write(true, "d")
	is("c d")
	is("")
	select {
	case <-more:
		t.Error("woken for nothing")
	default:
	}
	behind := at
	for i := range 9 {
		var many []string
		for j := range 1000 {
			many = append(many, fmt.Sprint("row", i, "/", j))
		}
		write(true, many...)
		if names, upTo, all, _ := s.Changes(behind); i < 8 && (all || len(names) != 1000*(i+1)) || i == 8 && (!all || names != nil || upTo != behind+9000) {
			t.Errorf("%d names after %d, all %t", len(names), i, all)
		}
	}
	for i := range 6 { // few names that are long
		var many []string
		for j := range 1000 {
			many = append(many, fmt.Sprint(i, j, strings.Repeat("n", 190)))
		}
		write(true, many...)
	}
	_, last, _, _ := s.Changes(0)
	if names, _, all, _ := s.Changes(last - 5900); !all || names != nil {
		t.Errorf("%d long names are kept", len(names))
	}
	if names, _, all, _ := s.Changes(last - 2); all || !slices.Equal(names, []string{"5 998" + strings.Repeat("n", 190), "5 999" + strings.Repeat("n", 190)}) {
		t.Errorf("%q", names)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Dir: "data", FS: fs})
	if names, _, all, _ := s.Changes(last); !all || names != nil {
		t.Errorf("after a restart %q, %t", names, all)
	}
}
