package peer_test

import (
	"testing"

	"github.com/graspd/graspd/internal/sync/peer"
)

func TestFirstCatchup(t *testing.T) {
	type look struct {
		caughtUp               bool
		brought, stored, known uint64
		through                bool
	}
	for name, looks := range map[string][]look{
		"an empty relay":                             {{true, 0, 0, 0, true}},
		"nothing has been asked yet":                 {{false, 0, 0, 0, false}, {false, 0, 9, 9, false}, {true, 0, 9, 9, true}},
		"Wants do not know yet what came":            {{true, 5, 5, 3, false}, {true, 5, 5, 4, false}, {true, 5, 5, 5, true}},
		"what others bring meanwhile is not awaited": {{true, 5, 5, 3, false}, {true, 5, 50, 5, true}},
		"what it brings meanwhile is awaited":        {{true, 5, 5, 3, false}, {true, 7, 50, 10, false}, {true, 7, 90, 50, true}},
		"it asks again meanwhile":                    {{true, 5, 5, 3, false}, {false, 6, 6, 6, false}, {true, 6, 6, 6, true}},
		"it stays through":                           {{true, 0, 0, 0, true}, {false, 0, 9, 0, true}, {true, 9, 9, 0, true}},
	} {
		var f peer.FirstCatchup
		for i, l := range looks {
			if f.Look(l.caughtUp, l.brought, l.stored, l.known); f.Through() != l.through {
				t.Errorf("%s: look %d: through %t", name, i, f.Through())
			}
		}
	}
}
