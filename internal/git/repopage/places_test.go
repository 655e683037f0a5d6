package repopage

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/serve/front"
)

// TestLongWorkIsDoneInSpells: who waits for a page waits for one spell of colouring, and the work has no more time by that.
func TestLongWorkIsDoneInSpells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{})
		for range p.places.Left() - 1 { // but one place is taken
			if _, err := p.place(t.Context(), nip34.Address{}, front.Client{}); err != nil {
				t.Fatal(err)
			}
		}
		looks := 0
		done := make(chan error)
		go func() {
			done <- p.inSpells(t.Context(), &code{b: p.bill(nil)}, 300*time.Millisecond, func(late func() bool) {
				for ; !late(); looks++ {
					time.Sleep(time.Millisecond)
				}
			})
		}()
		time.Sleep(5 * time.Millisecond)
		for range 5 {
			begun := time.Now()
			end, err := p.place(t.Context(), nip34.Address{}, front.Client{})
			if waited := time.Since(begun); err != nil || waited > spellTime {
				t.Errorf("waited for %s, %v", waited, err)
			}
			time.Sleep(100 * time.Millisecond)
			end()
		}
		if err := <-done; err != nil || looks < 300 || looks > 302 {
			t.Errorf("%d looks, %v", looks, err)
		}
	})
}
