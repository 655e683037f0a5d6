package sim_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestWhateverARelayPutsIntoAPage, without NIP-77 and fifty at a time: all of it comes, and the relay is asked little more than one that
// answers newest first.
func TestWhateverARelayPutsIntoAPage(t *testing.T) {
	for name, habits := range map[string]testkit.Habits{
		"newest first":                  {},
		"what came first, first":        {First: true},
		"any":                           {Any: true},
		"exclusive ends":                {Inside: true},
		"what came first, exclusive":    {First: true, Inside: true},
		"any, exclusive":                {Any: true, Inside: true},
		"oldest first, exclusive":       {Oldest: true, Inside: true},
		"sifted":                        {Sifted: true},
		"sifted, oldest first":          {Sifted: true, Oldest: true},
		"sifted, what came first":       {Sifted: true, First: true},
		"any, and no limit of 0":        {Any: true, Zero: testkit.ZeroRefused},
		"any, and kinds must be told":   {Any: true, Kinds: testkit.KindsRefuses},
		"any, to whoever authenticates": {Any: true, Auth: testkit.AuthLate},
	} {
		t.Run(name, func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				habits.Neg, habits.PageCap = testkit.NegNotice, 50
				p.relay.Habits = habits
				x := p.project("proj", 300, p.relay.URL)
				all := x.all()
				rand.New(rand.NewPCG(1, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				p.relay.Store(all...)
				p.here.Start()
				settle(t, p.here, 20*time.Minute)
				p.here.WantStored(x.all()...)
				if n := asks(p.relay); n > 180 || p.relay.Dials() != 1 {
					t.Errorf("asked %d times on %d connections", n, p.relay.Dials())
				}
				if s := state(t, p.here, p.relay.URL); s.Phase != status.PhaseLive || s.Unproven.Items() > 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}
