package relaysync_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestRepeatsAreReadSlowly: a relay that sends one event again and again is read no faster than a rate, over its connections too, and keeps its
// connection.
func TestRepeatsAreReadSlowly(t *testing.T) {
	for name, drop := range map[string]bool{"on one connection": false, "over a lost connection": true, "that cannot be read": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, boot, p := settledWorld(t, 3)
				defer w.stop()
				issue := p.later("again and again")
				boot.Add(issue)
				wait(time.Second)
				w.wantStored(issue)
				if name == "that cannot be read" {
					issue = issue.Clone()
					issue.Content += "\xff"
				}
				begun := time.Now()
				repeat := func(n int) {
					var sub string
					for _, f := range boot.Frames() {
						if rest, ok := strings.CutPrefix(f, `["REQ","l`); ok && strings.Contains(rest, `"#a":["`+p.address) {
							sub = "l" + rest[:strings.Index(rest, `"`)]
						}
					}
					for range n {
						boot.Send(nostr.AppendRelayEvent(nil, sub, issue.AppendJSON(nil)))
					}
					after := p.later(fmt.Sprint("after ", n))
					boot.Add(after)
					for !w.has(after) {
						wait(100 * time.Millisecond)
					}
				}
				repeat(40_000)
				if took := time.Since(begun); took > 10*time.Second {
					t.Errorf("the first took %v", took)
				}
				if drop {
					boot.Drop()
					wait(8 * time.Second)
				}
				begun = time.Now()
				repeat(40_000) // with 8 to 18 seconds of tokens; it takes 29.9 s, and a look of 100 ms more
				if took := time.Since(begun); took < 10*time.Second || took > 31*time.Second {
					t.Errorf("the next took %v", took)
				}
				if s, _ := w.status(bootURL); !s.Connected {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}
