package nip34

import (
	"strings"

	"github.com/graspd/graspd/internal/nostr"
)

// Searched are the kinds in which texts are searched for (NIP-50), in ascending order.
var Searched = []nostr.Kind{KindPatch, KindPullRequest, KindIssue, KindRepository}

// maxHeader is how much of a patch is looked through for its subject. Bytes.
const maxHeader = 8 << 10

// SearchText is what a search looks at: name, identifier and description of a repository; the subject of an issue, a patch or a pull
// request, which for a patch may stand in its mail header. It is "" for other kinds.
func SearchText(e *nostr.Event) string {
	var out []string
	add := func(names ...string) {
		for _, name := range names {
			if v, ok := tags(e).First(name); ok {
				out = append(out, v)
			}
		}
	}
	switch e.Kind {
	case KindRepository:
		add("name", "d", "description")
	case KindPullRequest, KindIssue:
		add("subject")
	case KindPatch:
		if add("subject"); len(out) == 0 {
			for line := range strings.Lines(e.Content[:min(len(e.Content), maxHeader)]) {
				if subject, ok := strings.CutPrefix(line, "Subject: "); ok {
					return subject
				}
			}
		}
	}
	return strings.Join(out, "\n")
}
