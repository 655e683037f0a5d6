package grasp_test

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

func TestHasCredentials(t *testing.T) {
	for raw, want := range map[string]bool{
		"https://example.org/a.git": false, "https://me:secret@example.org/a.git": true, " HTTPS://token@example.org/a.git": true,
		"https://:secret@example.org/a": true, "https://@example.org/a": true, "ssh://git@example.org/a": false, "ssh://git:pw@example.org/a": true,
		"git@example.org:a.git": false, "https://example.org/@a:b": false, "": false, "://": false,
	} {
		if got := grasp.HasCredentials(raw); got != want {
			t.Errorf("%q: %v", raw, got)
		}
	}
}
