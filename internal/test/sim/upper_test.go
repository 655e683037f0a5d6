package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestARelayThatTakesNoUpperCaseTagNames, and says so by a NOTICE that names no subscription, or some other way: what its other filters match
// comes live within seconds, and what is stored there comes too.
func TestARelayThatTakesNoUpperCaseTagNames(t *testing.T) {
	upper := func(f nostr.Filter) bool {
		return slices.ContainsFunc(f.Tags, func(t nostr.TagFilter) bool { return t.Name >= 'A' && t.Name <= 'Z' })
	}
	for _, text := range []string{"invalid: Invalid input", "invalid: \"[2].#E\" is not allowed", "could not parse command", "ERROR: bad req: unrecognised filter item", "closed", "what?"} {
		t.Run(text, func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				p.relay.Neg = testkit.NegNotice
				p.relay.Subs = testkit.Bound{Most: 10, How: testkit.ByNotice, Text: "Subscription rejected: Too many subscriptions: Number of subscriptions must be less than or equal to 10"}
				p.relay.Filters = testkit.Bound{Most: 10, How: testkit.ByNotice, Text: "Subscription rejected: Too many filters: Number of filters per susbscription must be less then or equal to 10"}
				p.relay.Refuse = func(sub string, filters []nostr.Filter) string {
					switch {
					case !slices.ContainsFunc(filters, upper):
						return ""
					case text == "closed":
						return string(nostr.AppendClosed(nil, sub, "invalid: filter"))
					}
					return string(nostr.AppendNotice(nil, text))
				}
				x := p.project("proj", 30, p.relay.URL)
				p.relay.Store(x.all()...)
				p.here.Start()
				wait(3 * time.Minute)
				p.here.WantStored(x.all()...)
				live, answer := x.issueAt(p.w.Unix(), "live"), commentAt(p.w.Unix(), x.issues[3])
				p.relay.Add(live, answer)
				wait(10 * time.Second)
				p.here.WantStored(live, answer)
				if s := state(t, p.here, p.relay.URL); s.Phase != status.PhaseUnproven || asks(p.relay) > 40 {
					t.Errorf("asked %d times, %+v", asks(p.relay), s)
				}
			})
		})
	}
}
