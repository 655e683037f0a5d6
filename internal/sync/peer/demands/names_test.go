package demands_test

import (
	"testing"

	"github.com/graspd/graspd/internal/sync/peer/demands"
)

// TestNames steps through what a relay shows of how it takes tag names in upper case.
func TestNames(t *testing.T) {
	upper, lower := demands.RequestMode{Upper: true}, demands.RequestMode{Lower: true}
	var n demands.Names
	if n.Alone(upper, "") || n.Doubted(demands.RequestMode{}, "invalid: filter") || n.Doubted(upper, "rate-limited: slow down") || n.Doubted(upper, "invalid limit 0") || n.Left() {
		t.Error("names are doubted for what is not about them")
	}
	if !n.Doubted(upper, "invalid: Invalid input") || !n.Left() || n.Refuses() {
		t.Error("a refusal that may be about them does not count")
	}
	if n.Mute(upper) {
		t.Error("silence counts though they are left out already")
	}
	fine := n
	if fine.Answered(upper); fine.Left() || fine.Open() || !fine.Outdated(lower) || fine.Doubted(upper, "invalid: Invalid input") || fine.Alone(upper, "invalid: filter") {
		t.Error("an answer does not prove that the relay takes them")
	}
	if !n.Alone(upper, "") || !n.Refuses() || n.Outdated(lower) {
		t.Error("silence to one alone does not count where they are doubted")
	}
	if n.Answered(upper); !n.Refuses() {
		t.Error("a late answer counts")
	}
	var mute demands.Names
	if mute.Mute(demands.RequestMode{}) || !mute.Mute(upper) || !mute.Left() {
		t.Error("a NOTICE that nobody understands does not count")
	}
}
