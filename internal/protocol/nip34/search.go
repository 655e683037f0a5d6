package nip34

import (
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// maxHeader is how many bytes of a patch SearchText reads for the subject.
const maxHeader = 8 << 10

// SearchText returns the text that a search reads: name, identifier and description of a repository; the subject of an issue, a pull
// request or a patch. The subject of a patch may stand in its mail header. SearchText returns "" for other kinds.
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
