package repopage

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of a patch on a page.
const (
	mostPatches   = 100 // patches of a thread, with all revisions
	mostDiff      = 40 << 10
	mostDiffs     = 200 << 10 // bytes of the diffs of all patches of a page, where each line counts as lineBytes more
	lineBytes     = 20
	mostDiffLines = 1500
)

// patch is one of a series.
type patch struct {
	Subject, By, Note string
	Alone             string // the path of the page of this patch
	Text              string // what its author says about it
	Diff              []line
	Cut               bool // there is more of the text or the diff
	number            int
	created           int64
}

// line is a line of a diff. Is tells its class: a for added, d for deleted, h for a line about the diff itself, "" for context.
type line struct{ Is, Text string }

// revision is a series of patches that belong together, in order.
type revision struct {
	Number  int
	Patches []patch
}

var (
	bracket = regexp.MustCompile(`^\[[^\]]{0,80}\]`)
	ofMany  = regexp.MustCompile(`\b(\d{1,4})/\d{1,4}\b`)
	version = regexp.MustCompile(`\bv(\d{1,3})\b`)
)

// numbered reads the revision and the number in a subject such as "[PATCH v2 1/3] …"; 0 for what the subject does not say.
func numbered(content string) (revision, number int) {
	subject := header(content)
	b := bracket.FindString(subject)
	if m := version.FindStringSubmatch(b); m != nil {
		revision, _ = strconv.Atoi(m[1])
	}
	if m := ofMany.FindStringSubmatch(b); m != nil {
		number, _ = strconv.Atoi(m[1])
	}
	return revision, number
}

// revisions sorts the patches of a thread: the newest revision first, the patches of each by number. The root belongs to revision 1.
func revisions(root *nostr.Event, more []*nostr.Event, call func(nostr.PubKey) string, note func(nostr.ID) string) (out []revision) {
	of, last := map[nostr.ID]int{}, 1
	groups := map[int][]patch{}
	left := mostDiffs
	slices.SortFunc(more, func(a, b *nostr.Event) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), a.ID.Compare(b.ID))
	})
	type placed struct {
		e    *nostr.Event
		n, r int
	}
	var all []placed
	for _, e := range append([]*nostr.Event{root}, more...) {
		r, n := numbered(e.Content)
		parent := 0
		for t := range e.Tags.All("e") {
			if id, err := nostr.ParseID(t.Value()); err == nil && id != root.ID && of[id] > 0 {
				parent = of[id]
			}
		}
		switch {
		case e == root:
			r = 1
		case begun(e) && r <= 1:
			r = last + 1
		case parent > 0:
			r = parent
		case r == 0:
			r = 1
		}
		of[e.ID], last = r, max(last, r)
		all = append(all, placed{e, n, r})
	}
	slices.SortStableFunc(all, func(a, b placed) int { return b.r - a.r }) // the newest revision gets its share of mostDiffs first
	for _, x := range all {
		p := readPatch(x.e.Content, left)
		for _, l := range p.Diff {
			left -= len(l.Text) + lineBytes
		}
		p.Subject, p.By, p.Note, p.number, p.created = subjectOf(x.e), call(x.e.PubKey), note(x.e.ID), x.n, x.e.CreatedAt
		groups[x.r] = append(groups[x.r], p)
	}
	for r, g := range groups {
		slices.SortStableFunc(g, func(a, b patch) int {
			return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.created, b.created))
		})
		out = append(out, revision{r, g})
	}
	slices.SortFunc(out, func(a, b revision) int { return b.Number - a.Number })
	return out
}

// begun reports whether the tags of a patch say that it begins a revision.
func begun(e *nostr.Event) bool {
	for t := range e.Tags.All("t") {
		if v := t.Value(); v == "root-revision" || v == "revision-root" {
			return true
		}
	}
	return false
}

// readPatch takes the text and the diff out of what git format-patch has written, at most so many bytes of the diff.
func readPatch(content string, most int) (p patch) {
	content = strings.ReplaceAll(strings.ToValidUTF8(content, "\uFFFD"), "\r\n", "\n")
	body := content
	if _, after, ok := strings.Cut(content, "\n\n"); ok && header(content) != "" {
		body = after
	}
	text, diff := body, ""
	if i := strings.Index("\n"+body, "\ndiff --git "); i >= 0 {
		text, diff = body[:i], body[i:]
	}
	if before, _, ok := strings.Cut("\n"+text, "\n---\n"); ok {
		text = before
	}
	p.Text, p.Cut = safetext.Cut(strings.TrimSpace(text), mostAbout)
	if cut := min(mostDiff, max(0, most)); len(diff) > cut {
		diff, _ = safetext.Cut(diff, cut)
		p.Cut = true
	}
	for l := range strings.Lines(diff) {
		if len(p.Diff) == mostDiffLines {
			p.Cut = true
			break
		}
		p.Diff = append(p.Diff, line{lineKind(l), strings.TrimSuffix(l, "\n")})
	}
	return p
}

func lineKind(l string) string {
	switch {
	case strings.HasPrefix(l, "+++ "), strings.HasPrefix(l, "--- "), strings.HasPrefix(l, "@@"), strings.HasPrefix(l, "diff "), strings.HasPrefix(l, "index "):
		return "h"
	case strings.HasPrefix(l, "+"):
		return "a"
	case strings.HasPrefix(l, "-"):
		return "d"
	}
	return ""
}

// mostHeader is how many bytes of a patch are searched for its subject.
const mostHeader = 8 << 10

// header returns the Subject of a patch as it stands; "" without one.
func header(content string) string {
	for l := range strings.Lines(content[:min(len(content), mostHeader)]) {
		if s, ok := strings.CutPrefix(l, "Subject: "); ok {
			return strings.TrimSpace(s)
		}
	}
	return ""
}
