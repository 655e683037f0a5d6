package repopage

import (
	"context"
	"crypto/sha256"
	"errors"
	"html/template"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/serve/markdown"
)

const perTree = 500 // entries on one page of a directory

// treeShown has what the page of a directory shows.
type treeShown struct {
	codeHead
	Entries     []entryShown
	All         int
	Page, Pages int
	Clone       string // on the uppermost one
	Readme      readme
}

type entryShown struct {
	Name, Path, Size string
	Sort             string   // "directory", "link", "submodule" or ""
	Last             *oneLine // the commit that changed it last; nil where that is not known
}

// tree shows a directory.
func (p *Pages) tree(ctx context.Context, c *code) (a answer, err error) {
	s, err := c.spot(ctx, p)
	if err != nil {
		return a, err
	}
	number, err := numberIn(c.q, "page")
	if err != nil {
		return a, err
	}
	a, ok := c.before(p, s, strconv.Itoa(number))
	if ok {
		return a, nil
	}
	o := gitread.Opening{First: (number - 1) * perTree, Most: perTree, Bytes: mostReadme}
	if number == 1 {
		o.Also = chooseReadme
	}
	x, err := p.Code.Open(ctx, c.read, s.Commit, s.Path, o)
	switch {
	case err != nil:
		return a, err
	case !x.IsDir():
		return a, movedTo(under(c.home+"/blob/"+escapePath(s.Ref), "", s.Path))
	case o.First >= max(1, len(x.Entries)):
		return a, errNothing
	}
	t := &treeShown{codeHead: c.head("tree", s), All: len(x.Entries), Page: number, Pages: max(1, (len(x.Entries)+perTree-1)/perTree)}
	t.Last = c.line(x.Commit)
	touched, err := p.Code.Touched(ctx, c.read, s.Commit, s.Path)
	if err != nil {
		if !errors.As(inWords(err), new(wrong)) { // the page does without, for now
			return a, err
		}
		a.key = [sha256.Size]byte{}
	}
	for _, e := range x.Entries[o.First:min(o.First+perTree, len(x.Entries))] {
		one := c.entry(s, e)
		if last := touched[e.Name]; last != nil {
			one.Last = c.line(last)
		}
		t.Entries = append(t.Entries, one)
	}
	if s.Path == "" {
		t.Clone = p.Service.CloneURL(c.of.PubKey, c.of.D)
	}
	if t.Readme.Name = shown(x.Also.Name); x.Also.Name != "" {
		t.Readme.Text, t.Readme.Large = p.text(ctx, c, s, s.Path, x.Also, 3), x.Also.Data == nil
		if c.b.texts < 0 || ctx.Err() != nil { // it is not rendered
			a.key = [sha256.Size]byte{}
		}
	}
	title := c.name
	if s.Path != "" {
		title = shown(path.Base(s.Path))
	}
	a.page, a.Fixed = page{frame{Title: title, Tab: "files", Summary: "Files of " + c.name}, "tree.html", t}, s.Fixed
	return a, nil
}

func (c *code) entry(s spot, e gitread.Entry) entryShown {
	one := entryShown{Name: shown(e.Name), Path: under(c.home+"/blob/"+escapePath(s.Ref), s.Path, e.Name), Size: inBytes(e.Size)}
	switch e.Mode {
	case gitread.ModeDir:
		one.Sort, one.Path = "directory", under(c.home+"/tree/"+escapePath(s.Ref), s.Path, e.Name)
	case gitread.ModeLink:
		one.Sort = "link"
	case gitread.ModeSubmodule:
		one.Sort = "submodule"
	}
	return one
}

// text renders a file of text in a directory as a part of a page, its headings from a level on: "" for one that is binary or was not read.
func (p *Pages) text(ctx context.Context, c *code, s spot, dir string, f gitread.File, heading int) template.HTML {
	if f.Data == nil || isBinary(f.Data) {
		return ""
	}
	text, _ := safetext.Cut(string(f.Data), markdown.MaxBytes+4)
	o := p.linked(c.home, s.Ref, dir)
	o.Heading = heading
	return p.readme(ctx, c.b, f.Name, text, o)
}

const anchors = "md-" // begins the ids in Markdown

// linked returns how links and pictures in Markdown within a directory lead to pages and to files.
func (p *Pages) linked(home, ref, dir string) markdown.Options {
	ref = escapePath(ref)
	to := func(section string) func(string) string {
		return func(relative string) string {
			at, fragment, _ := strings.Cut(relative, "#")
			at, _, _ = strings.Cut(at, "?")
			at, err := url.PathUnescape(at)
			name, ok := inside(dir, at)
			if err != nil || !ok {
				return ""
			}
			to := strings.TrimSuffix(home+"/"+section+"/"+ref+"/"+escapePath(name), "/")
			if fragment != "" {
				if to += "#"; isMarkdown(name) {
					fragment = markdown.Anchor(anchors, fragment)
				}
				to += url.PathEscape(fragment)
			}
			return to
		}
	}
	return markdown.Options{Link: to("blob"), Picture: to("raw"), Anchors: anchors, Place: home + "/" + ref + "/" + dir}
}

func isBinary(data []byte) bool {
	return strings.IndexByte(string(data[:min(len(data), 8000)]), 0) >= 0
}
