package gitrepo

import (
	"errors"
	"fmt"
	"testing"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/git/gitproc"
)

// TestWhoGaveWayIsNotMadeToWait: a large pack that was ended for others, or found no memory, was not refused for its work.
func TestWhoGaveWayIsNotMadeToWait(t *testing.T) {
	for _, test := range []struct {
		what   string
		err    error
		costly bool
	}{
		{"taken", nil, false},
		{"no slot", gitproc.ErrBusy, true},
		{"gave way", gitproc.ErrGaveWay, false},
		{"waited too long for memory", fmt.Errorf("%w: memory: %w", gitproc.ErrBusy, fair.TooLong), false},
		{"no place to wait for memory", fmt.Errorf("%w: memory: %w", gitproc.ErrBusy, fair.NoPlace), false},
		{"another error", errors.New("git: no such file"), false},
	} {
		err := test.err
		if err != nil {
			err = fmt.Errorf("index-pack: %w", err)
		}
		got := heavyError(err)
		if Costly(got) != test.costly || !errors.Is(got, test.err) {
			t.Errorf("%s: %v is costly: %v", test.what, got, Costly(got))
		}
	}
}
