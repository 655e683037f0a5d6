package repopage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/serve/highlight"
)

const (
	mostFile   = 512 << 10 // bytes of a file that a page shows
	mostLines  = 10_000
	mostRaw    = 4 << 20 // bytes of a file that is sent as it is
	colourTime = 300 * time.Millisecond
)

// blobShown has what the page of a file shows: one of Target, Commit, LFS, Picture, Text, Lines, or in words why there is nothing.
type blobShown struct {
	codeHead
	Size    string
	Program bool
	Raw     string // the path of the file as it is; "" where it is too large or binary
	Plain   string // the query of the other form of Markdown

	Link, Target string // where a link leads, as it says so, and the path of that page; "" for one that leads elsewhere
	Commit, From string // of a submodule, and the URL of its repository
	LFS          string // the size of what a pointer stands for
	Picture      bool
	Text         template.HTML
	Lines        []template.HTML
	Empty, Large bool
}

// blob shows a file, a link or a submodule.
func (p *Pages) blob(ctx context.Context, c *code) (a answer, err error) {
	s, err := c.spot(ctx, p)
	if err != nil {
		return a, err
	}
	x, err := p.Code.Open(ctx, c.read, s.Commit, s.Path, gitread.Opening{Bytes: mostFile})
	if err != nil {
		return a, err
	}
	if x.IsDir() {
		return a, movedTo(strings.TrimSuffix(under(c.home+"/tree/"+escapePath(s.Ref), "", s.Path), "/"))
	}
	v := &blobShown{codeHead: c.head("blob", s), Size: inBytes(x.Size), Program: x.Mode == gitread.ModeProgram}
	v.Last = c.line(x.Commit)
	switch x.Mode {
	case gitread.ModeLink:
		v.Link = safetext.Escape(string(x.Data))
		if to, ok := inside(dirOf(s.Path), string(x.Data)); ok && x.Data[0] != '/' {
			v.Target = c.home + "/blob/" + escapePath(s.Ref) + "/" + escapePath(to)
		}
	case gitread.ModeSubmodule:
		v.Commit = x.ID.String()
		v.From, err = p.submodule(ctx, c, s)
	default:
		err = p.file(ctx, c, s, x, v)
	}
	name := path.Base(s.Path)
	return answer{page: page{frame{Title: shown(name), Tab: "files", Summary: shown(name) + " of " + c.name}, "blob.html", v}, Fixed: s.Fixed}, err
}

// file says how to show a file.
func (p *Pages) file(ctx context.Context, c *code, s spot, x *gitread.Place, v *blobShown) error {
	kind := typeOf(x.Path, x.Data)
	pointer, isPointer := lfsPointer(x.Data)
	if kind != "" && x.Size <= mostRaw || x.Data == nil && x.Size <= mostRaw {
		v.Raw = c.home + "/raw/" + v.At + "/" + v.Path
	}
	switch {
	case x.Data == nil && isPicture(x.Path) && x.Size <= mostRaw:
		v.Picture = true
	case x.Data == nil:
		v.Large = true
	case len(x.Data) == 0:
		v.Empty = true
	case isPointer:
		v.LFS = inBytes(pointer)
	case strings.HasPrefix(kind, "image/"):
		v.Picture = true
	case kind == "":
	case isMarkdown(x.Path) && c.q.Get("plain") == "":
		v.Text, v.Plain = p.text(ctx, c, s, dirOf(s.Path), gitread.File{Entry: gitread.Entry{Name: "readme.md"}, Data: x.Data}, 2), "?plain=1"
	default:
		if isMarkdown(x.Path) {
			v.Plain = "?"
		}
		return p.lines(ctx, c, x, v)
	}
	return nil
}

// lines colours the lines of a file. The visitor pays for that, and whoever asks for the same file soon after has it for nothing.
func (p *Pages) lines(ctx context.Context, c *code, x *gitread.Place, v *blobShown) error {
	if n := bytes.Count(x.Data, []byte("\n")); n > mostLines {
		v.Large = true
		return nil
	}
	name := path.Base(x.Path)
	key := sha256.Sum256(slices.Concat([]byte("code "+name+"\x00"), x.Data))
	html, ok := p.texts.get(key, p.Now())
	if !ok {
		err := p.inSpells(ctx, c, colourTime, func(late func() bool) {
			if html, ok = p.texts.get(key, p.Now()); !ok { // nobody made it meanwhile
				html = withNumbers(highlight.Lines(name, string(x.Data), late))
			}
		})
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if !ok {
			p.texts.put(key, html, time.Time{})
		}
	}
	v.Lines = []template.HTML{html}
	return nil
}

// withNumbers puts a number before each line, which is a link to the line.
func withNumbers(lines []template.HTML) template.HTML {
	var b strings.Builder
	for i, line := range lines {
		n := strconv.Itoa(i + 1)
		b.WriteString(`<span id="L` + n + `"><a href="#L` + n + `">` + n + "</a>" + string(line) + "\n</span>")
	}
	return template.HTML(b.String())
}

// raw sends a file as it is: text or a picture. No browser runs anything of it.
func (p *Pages) raw(ctx context.Context, c *code) (a answer, err error) {
	s, err := c.spot(ctx, p)
	if err != nil {
		return a, err
	}
	x, err := p.Code.Open(ctx, c.read, s.Commit, s.Path, gitread.Opening{Bytes: mostRaw})
	switch {
	case err != nil:
		return a, err
	case !x.IsFile():
		return a, gitread.ErrNothing
	case x.Data == nil:
		return a, wrong{http.StatusNotFound, "This file is too large to be sent here", "It has " + inBytes(x.Size) + ": clone the repository to have it."}
	}
	kind := typeOf(x.Path, x.Data)
	if kind == "" {
		return a, wrong{http.StatusNotFound, "This file is neither text nor a picture", "Clone the repository to have it."}
	}
	return answer{Type: kind, Body: x.Data, Fixed: s.Fixed}, nil
}

// typeOf returns the media type of a file: of text or a picture; "" for any other, and for one that was not read. HTML and scripts are text.
func typeOf(name string, data []byte) string {
	if data == nil {
		return ""
	}
	if kind := http.DetectContentType(data); strings.HasPrefix(kind, "image/") {
		return kind
	}
	switch {
	case len(data) > 12 && string(data[4:12]) == "ftypavif":
		return "image/avif"
	case isBinary(data):
		return ""
	case strings.EqualFold(path.Ext(name), ".svg"):
		return "image/svg+xml"
	case utf8.Valid(data):
		return "text/plain; charset=utf-8"
	}
	return "text/plain"
}

func isPicture(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif"}, strings.ToLower(path.Ext(name)))
}

func isMarkdown(name string) bool {
	return slices.Contains(formats[:slices.Index(formats, "")], strings.TrimPrefix(strings.ToLower(path.Ext(name)), "."))
}

// lfsPointer returns the size of the file for which a pointer of git-lfs stands.
func lfsPointer(data []byte) (size int64, ok bool) {
	if len(data) > 1024 || !bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")) {
		return 0, false
	}
	for line := range strings.Lines(string(data)) {
		if word, found := strings.CutPrefix(strings.TrimSpace(line), "size "); found {
			n, err := strconv.ParseInt(word, 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// submodule returns the URL that .gitmodules has for a submodule; "" for none.
func (p *Pages) submodule(ctx context.Context, c *code, s spot) (string, error) {
	x, err := p.Code.Open(ctx, c.read, s.Commit, ".gitmodules", gitread.Opening{Bytes: 64 << 10})
	if err != nil {
		if inWords(err) != err {
			err = nil
		}
		return "", err
	}
	return submoduleIn(string(x.Data), s.Path), nil
}

func submoduleIn(modules, at string) (url string) {
	here := false
	for line := range strings.Lines(modules) {
		line = strings.TrimSpace(line)
		name, value, _ := strings.Cut(line, "=")
		switch name, value = strings.TrimSpace(name), strings.TrimSpace(value); {
		case strings.HasPrefix(line, "["):
			if here && url != "" {
				return url
			}
			here, url = false, ""
		case name == "path":
			here = value == at
		case name == "url":
			url = safetext.Line(value, mostName)
		}
	}
	if !here {
		return ""
	}
	return url
}

// inside returns the path in the repository that a relative one leads to from a directory; false for one that leads out of it.
func inside(dir, to string) (string, bool) {
	if to == "" || strings.ContainsAny(to, "\x00\\") {
		return "", false
	}
	if to[0] == '/' {
		dir = ""
	}
	p := path.Join(dir, "./"+to)
	if p == "." {
		return "", true
	}
	return p, p != ".." && !strings.HasPrefix(p, "../")
}

func dirOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}
