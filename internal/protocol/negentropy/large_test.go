package negentropy_test

import (
	"bytes"
	"testing"

	"github.com/graspd/graspd/internal/protocol/negentropy"
)

func TestReconcileLarge(t *testing.T) {
	for _, c := range []struct {
		clock, overlap           string
		clientLimit, serverLimit int
	}{
		{"spread", "equal", 0, 0},
		{"spread", "few differ", 60_000, 500_000},
		{"crowded", "few differ", 60_000, 60_000},
		{"one time", "none", 60_000, 60_000},
		{"spread", "newest gone", 4096, 4096},
		{"one burst", "disjoint", 60_000, 0},
	} {
		t.Run(c.clock+"/"+c.overlap, func(t *testing.T) {
			testSets(t, 100_000, clocks[c.clock], overlaps[c.overlap], c.clientLimit, c.serverLimit)
		})
	}
}

// A second reconciliation of equal sets moves nothing, in one round.
func TestEqualSetsMoveNothing(t *testing.T) {
	for _, n := range []int{0, 1, 31, 32, 1000, 20_000} {
		a, b := set(counted(n)...), set(counted(n)...)
		initiator := negentropy.NewInitiator(a, 0)
		answer := respond(t, b, 0, initiator.Start())
		// Below 32 items the first message lists ids, and so does the answer.
		if n >= 32 && !bytes.Equal(answer, []byte{0x61}) {
			t.Errorf("%d items: answer %x", n, answer)
		}
		reply, have, need, err := initiator.Step(answer)
		if reply != nil || len(have)+len(need) > 0 || err != nil {
			t.Errorf("%d items: reply %x, have %x, need %x, error %v", n, reply, have, need, err)
		}
	}
}

// Honest sides never come near the bound on idle messages: no reconciliation
// takes more messages without a limit than the sets are deep.
func TestRoundsWithoutLimit(t *testing.T) {
	for overlapName, who := range overlaps {
		r := seeded(7)
		client, server := randomSets(r, 20_000, clocks["spread"], who)
		if o := reconcile(t, set(client...), set(server...), 0, 0); o.rounds > 4 {
			t.Errorf("%s: %d rounds", overlapName, o.rounds)
		}
	}
}
