package relaysync_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestWhatWasRefusedIsNotFetchedAgain: not after a restart either, whatever it was refused for.
func TestWhatWasRefusedIsNotFetchedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 50)
		boot.Store(p.all()...)
		at := p.issues[20].CreatedAt
		author := testkit.Key(66)
		var refused []*nostr.Event
		for i := range 31 {
			n := 200 << 10
			if i > 9 {
				n = 630 << 10
			}
			refused = append(refused, testkit.Issue(author, at+int64(i), p.address, fmt.Sprint(i, strings.Repeat("x", n))))
		}
		refused = append(refused,
			testkit.Sign(author, at, 1621, "", nostr.Tag{"a", p.address}, nostr.Tag{}),
		)
		boot.Store(refused...)
		for range 4 {
			w.start()
			wait(30 * time.Minute)
			w.wantStored(p.all()...)
			w.wantAbsent(refused...)
			w.stop()
		}
		var asked strings.Builder
		for _, f := range boot.Frames() {
			if strings.Contains(f, `{"ids":`) {
				asked.WriteString(f)
			}
		}
		for i, e := range refused {
			if n := strings.Count(asked.String(), e.ID.String()); n != 1 {
				t.Errorf("%d was asked for %d times by its id, and sent %d times", i, n, boot.Deliveries()[e.ID])
			}
		}
	})
}
