package githttp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestOneProcessFindsOutForAll who ask for the same object by id at the same moment. Where who asked first leaves, or has no place, another one asks.
func TestOneProcessFindsOutForAll(t *testing.T) {
	for name, c := range map[string]struct {
		leaves, busy bool // what becomes of the first
		processes    int
	}{"found": {false, false, 1}, "leaves": {true, false, 2}, "busy": {false, true, 2}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
				asked := make(chan struct{})
				w.sends(4)
				w.leads = func(ctx context.Context, party string) error {
					select {
					case <-asked:
						if c.busy && party == stranger {
							return fmt.Errorf("git: %w", gitproc.ErrBusy)
						}
						return nil
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				by := func(id byte, from string) *client {
					client := w.fetch(t, from, &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{mustID(t, strings.Repeat(string(id), 40))}})
					synctest.Wait()
					return client
				}
				processes := func() int { return strings.Count(w.took(), "unreached") }
				first := by('2', stranger)
				others := []*client{by('2', another), by('2', another), by('2', "198.51.100.9")}
				if n := processes(); n != 1 {
					t.Errorf("%d processes", n)
				}
				unlike := by('3', another)
				if n := processes(); n != 1 {
					t.Errorf("%d processes for another object", n)
				}
				leaves := by('2', another)
				leaves.Close()
				synctest.Wait()
				if n := w.server.Stats().Requests; !slices.ContainsFunc(n, func(c githttp.RequestCount) bool { return c.Answer == githttp.Refused && c.Count == 1 }) {
					t.Errorf("who has left still waits: %v", n)
				}
				w.change()
				later := by('2', another)
				if n := processes(); n != 1 {
					t.Errorf("%d processes once refs have changed", n)
				}
				if c.leaves {
					first.Close()
					synctest.Wait()
				}
				close(asked)
				for _, o := range append(others, unlike, later) {
					if got := o.all(); unpacked(t, got) != "\x00\x00\x00\x00" {
						t.Errorf("%q", got)
					}
				}
				if got, _ := first.rest(); !c.leaves && strings.Contains(got, "packfile") == c.busy {
					t.Errorf("the first: %q", got)
				}
				if n := processes(); n != c.processes-1 {
					t.Errorf("%d processes more", n)
				}
				w.change()
				by('2', stranger).all()
				if n := processes(); n != 1 {
					t.Errorf("%d processes after the answer, once refs have changed again", n)
				}
			})
		})
	}
}

// TestWhoAsksByIDWaitsForFewOthers who find no place: then all ask by themselves.
func TestWhoAsksByIDWaitsForFewOthers(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.leads = func(context.Context, string) error {
			time.Sleep(time.Minute)
			return gitproc.ErrBusy
		}
		began, all := time.Now(), []*client(nil)
		for i := range 9 {
			all = append(all, w.fetch(t, fmt.Sprint("198.51.100.", i), &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{mustID(t, strings.Repeat("2", 40))}}))
			synctest.Wait()
		}
		for _, c := range all {
			if got := c.all(); !strings.HasPrefix(got, "429") {
				t.Errorf("%q", got)
			}
		}
		if took := time.Since(began).Round(time.Minute); took != 5*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}
