package repopage

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

// Bounds of the patches of a page.
const mostPatches = 100 // of a thread, with all revisions

// patch is one of a series.
type patch struct {
	Subject, By, Note string
	Mail              string // the path of the patch as mail
	Text              string // what its author says about it
	Diff              *diffShown
	Cut               bool // there is more of the text
	number            int
	created           int64
	event             *nostr.Event
}

// revision is a series of patches that belong together, in order.
type revision struct {
	Number  int
	Patches []patch
}

var (
	bracket = regexp.MustCompile(`^\[[^\]]{0,80}\]`)
	ofMany  = regexp.MustCompile(`\b(\d{1,4})/\d{1,4}\b`)
	revised = regexp.MustCompile(`\bv(\d{1,3})\b`)
)

// numbered reads the revision and the number in a subject such as "[PATCH v2 1/3] …"; 0 for what the subject does not say.
func numbered(content string) (revision, number int) {
	subject := header(content)
	b := bracket.FindString(subject)
	if m := revised.FindStringSubmatch(b); m != nil {
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
	left := &room{mostAllLines, mostAllText, openLines}
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
		p := left.patch(x.e.Content, note(x.e.ID)+"-")
		p.Subject, p.By, p.Note, p.number, p.created, p.event = subjectOf(x.e), call(x.e.PubKey), note(x.e.ID), x.n, x.e.CreatedAt, x.e
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

// patch takes the text and the difference out of what git format-patch has written. The prefix stands before the anchors of the files.
func (left *room) patch(content, prefix string) (p patch) {
	content = strings.ReplaceAll(strings.ToValidUTF8(content, "\uFFFD"), "\r\n", "\n")
	body := content
	if _, after, ok := strings.Cut(content, "\n\n"); ok && header(content) != "" {
		body = after
	}
	d, text, err := gitread.ParsePatch(body + "\n")
	if err == nil && len(d.Files) > 0 {
		p.Diff = left.diff(d, prefix)
	} else if i := strings.Index("\n"+body, "\ndiff --git "); i >= 0 {
		text = body[:i]
		p.Diff = left.raw(signature.ReplaceAllString(body[i:], ""), prefix)
	} else {
		text = body
	}
	text = signature.ReplaceAllString(text, "")
	if before, _, ok := strings.Cut("\n"+text, "\n---\n"); ok {
		text = before
	}
	p.Text, p.Cut = safetext.Cut(strings.TrimSpace(text), mostAbout)
	return p
}

// raw shows a difference that cannot be read as it is.
func (left *room) raw(diff, prefix string) *diffShown {
	f := fileShown{Anchor: prefix + "f1", Name: "as it was sent", Did: "git would not take it", Open: true}
	for l := range strings.Lines(diff) {
		if left.lines--; left.lines < 0 || left.text < 0 || len(f.Lines) == mostFileLines {
			f.Note = "the rest is left out here"
			break
		}
		x := diffLine{Is: lineKind(l), Text: lineText(strings.TrimSuffix(l, "\n"))}
		switch {
		case x.Is == "a":
			f.Added++
		case x.Is == "d":
			f.Deleted++
		}
		if x.Is != "h" && x.Text != "" { // the template writes the sign
			x.Text = x.Text[1:]
		}
		left.text -= len(x.Text)
		f.Lines = append(f.Lines, x)
	}
	return &diffShown{Files: []fileShown{f}, All: 1, Added: f.Added, Deleted: f.Deleted}
}

// signature matches what git format-patch writes below a patch: its version.
var signature = regexp.MustCompile(`(?:^|\n)-- \n[^\n]*\n*$`)

// isMail reports whether a path below a repository is that of a series as mail.
func isMail(rest string) bool {
	return strings.HasPrefix(rest, "patches/") && strings.HasSuffix(rest, ".patch")
}

// mail returns a patch as mail for git am; for the first one of a series all of its newest revision.
func (p *Pages) mail(ctx context.Context, of nip34.Address, rest string, from front.Client) ([]byte, error) {
	k, err := p.open(ctx, of, from)
	if err != nil {
		return nil, err
	}
	defer func() { k.end() }()
	e, err := p.event(k, strings.TrimSuffix(strings.TrimPrefix(rest, "patches/"), ".patch"))
	if err == nil && e.Kind != nip34.KindPatch {
		err = errNothing
	}
	if err != nil {
		return nil, err
	}
	more, err := patchesOf(ctx, k.view.Metered(k.b.charge), e)
	if err != nil {
		return nil, err
	}
	b := mbox(revisions(e, more, func(nostr.PubKey) string { return "" }, nip19.Note)[0].Patches)
	return b, k.b.charge(len(b) / patchPerStep)
}

// mbox writes patches as mails one after the other, as git am reads them. A cover letter changes nothing, which git am takes for a fault, so it
// is left out.
func mbox(patches []patch) []byte {
	var b bytes.Buffer
	for _, p := range patches {
		if p.Diff == nil {
			continue
		}
		if !strings.HasPrefix(p.event.Content, "From ") {
			fmt.Fprintf(&b, "From %040d Mon Sep 17 00:00:00 2001\n", 0)
		}
		b.WriteString(strings.TrimRight(p.event.Content, "\n") + "\n\n")
	}
	return b.Bytes()
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
