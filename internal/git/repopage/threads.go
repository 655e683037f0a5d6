package repopage

import (
	"context"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of what the page of a repository looks at and shows.
const (
	mostThreads = 10
	mostRead    = 100 // events that may begin one of these
	mostSubject = 160
)

// thread is an issue, a patch or a pull request.
type thread struct {
	Kind, Subject, Status, By, Day, Path string
	Labels                               []string
}

// section is a list of threads of one kind, with what the page of a repository says of it.
type section struct {
	Path, Name string
	kind       nostr.Kind
	done       string // how people call what was applied
}

// sections has one for each kind of threads.
var sections = []section{
	{"issues", "Issues", nip34.KindIssue, "resolved"},
	{"patches", "Patches", nip34.KindPatch, "merged"},
	{"pulls", "Pull requests", nip34.KindPullRequest, "merged"},
}

// sectionOf returns the path of the section in which events of a kind stand, or "".
func sectionOf(k nostr.Kind) string {
	for _, s := range sections {
		if s.kind == k {
			return s.Path
		}
	}
	return ""
}

// sectionAt returns the section with that path.
func sectionAt(path string) (section, bool) {
	i := slices.IndexFunc(sections, func(s section) bool { return s.Path == path })
	if i < 0 {
		return section{}, false
	}
	return sections[i], true
}

// isThread reports whether a path below a repository is that of a section, or of an event in one.
func isThread(rest string) bool {
	section, _, _ := strings.Cut(rest, "/")
	_, ok := sectionAt(section)
	return ok
}

// threads returns the newest threads of the repository at a path.
func threads(ctx context.Context, s *store.View, b *bill, path, d string, set *grasp.Set, call *people) (out []thread, err error) {
	most := mostRead
	f := nostr.Filter{
		Kinds: nip34.Kinds(nip34.Thread), Limit: &most,
		Tags: []nostr.TagFilter{{Name: 'a', Values: addresses(d, set.Members)}},
	}
	var roots []*nostr.Event
	for e, err := range s.Events(ctx, f) {
		if err != nil {
			return nil, err
		}
		if begins(e) {
			roots = append(roots, e)
		}
		if len(roots) == mostThreads {
			break
		}
	}
	for _, e := range roots {
		if err := b.err(); err != nil { // the meter does not end a short query
			return nil, err
		}
		t, err := threadOf(ctx, s, path, e, set, call)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// begins reports whether an event begins a thread. Later patches of a series do not: they name the first one.
func begins(e *nostr.Event) bool {
	_, follows := e.Tags.First("e")
	return e.Kind != nip34.KindPatch || !follows
}

// about reports whether an event changes a thread, and does not only mention it.
func about(change *nostr.Event, root nostr.ID) bool {
	for t := range change.Tags.All("e") {
		if len(t) > 1 && t[1] == root.String() && (len(t) < 4 || t[3] == "" || t[3] == "root") {
			return true
		}
	}
	return false
}

func statusName(of, status nostr.Kind) string {
	switch {
	case status == nip34.KindStatusApplied && of == nip34.KindIssue:
		return "resolved"
	case status == nip34.KindStatusApplied:
		return "merged"
	case status == nip34.KindStatusClosed:
		return "closed"
	case status == nip34.KindStatusDraft:
		return "draft"
	}
	return "open"
}

// subjectOf returns the title of a thread: its subject, else the beginning of its text.
func subjectOf(e *nostr.Event) string {
	subject, _ := e.Tags.First("subject")
	if strings.TrimSpace(subject) == "" && e.Kind == nip34.KindPatch {
		subject = patchSubject(e.Content)
	}
	if strings.TrimSpace(subject) == "" {
		subject = e.Content
	}
	if subject = safetext.Line(subject, mostSubject); subject == "" {
		return "(without a subject)"
	}
	return subject
}

// patchSubject returns the subject of a patch as git format-patch writes it, without the brackets before it; "" without one.
func patchSubject(content string) string {
	subject := header(content)
	if _, after, ok := strings.Cut(subject, "] "); ok && strings.HasPrefix(subject, "[") {
		subject = after
	}
	return subject
}
