package gitfake

import (
	"errors"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo"
)

func TestFakeConforms(t *testing.T) {
	Conform(t, func(*testing.T) Side { return Side{New(), &History{}} })
}

// A test may make any method fail, and sees what was called and what is open.
func TestFakeFails(t *testing.T) {
	f := New()
	broken := errors.New("broken")
	var fails string
	f.Fail = func(method string, _ gitrepo.ID) error {
		if method == fails {
			return broken
		}
		return nil
	}
	q, err := f.Begin(one)
	if err != nil || f.Open() != 1 || f.Calls("Begin") != 1 {
		t.Fatal(err, f.Open(), f.Calls("Begin"))
	}
	fails = "Prove"
	if _, err := q.Prove(t.Context(), gitrepo.Proving{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := q.Close(); err != nil || f.Open() != 0 {
		t.Error(err, f.Open())
	}
	if f.Refs(one) != nil {
		t.Error("refs of nothing")
	}
}
