package nostr_test

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestKindClasses(t *testing.T) {
	classes := map[string]func(nostr.Kind) bool{
		"regular": nostr.Kind.IsRegular, "replaceable": nostr.Kind.IsReplaceable,
		"ephemeral": nostr.Kind.IsEphemeral, "addressable": nostr.Kind.IsAddressable,
	}
	tests := map[nostr.Kind]string{
		0: "replaceable", 1: "regular", 2: "regular", 3: "replaceable", 4: "regular", 44: "regular", 45: "regular",
		62: "regular", 999: "regular", 1000: "regular", 1617: "regular", 9999: "regular",
		10000: "replaceable", 10002: "replaceable", 19999: "replaceable",
		20000: "ephemeral", 22242: "ephemeral", 29999: "ephemeral",
		30000: "addressable", 30617: "addressable", 39999: "addressable",
		40000: "regular", 65535: "regular",
	}
	for kind, want := range tests {
		for name, is := range classes {
			if is(kind) != (name == want) {
				t.Errorf("kind %d: %s = %v, want only %s", kind, name, is(kind), want)
			}
		}
	}
}
