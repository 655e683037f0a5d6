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
		"https://me:50%off@example.org/a.git": true, "https://me:pa#ss@example.org/a.git": true, "https://me:p^a ss@example.org/a.git": true, "me:secret@example.org/a.git": true,
		"example.org:8443/@a:b": false, "https://example.org:x/a@b": false, "https://example.org/a%zz@b": false, "ssh://git@example.org:x/a.git": false, "git@example.org:a/me:b@c.git": false,
	} {
		if got := grasp.HasCredentials(raw); got != want {
			t.Errorf("%q: %v", raw, got)
		}
	}
}
