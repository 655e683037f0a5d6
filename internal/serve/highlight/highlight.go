// Package highlight makes HTML of code by strangers, line by line, with colours where it knows the language. It is pure. Read Lines.
package highlight

import (
	"html/template"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Bounds of what has colours. The rest is shown without.
const (
	MaxBytes = 128 << 10
	maxLine  = 2000 // bytes: longer lines are written by machines, and make expressions work
)

// Lines returns the lines of a file as HTML, without their ends, by its name and its text. late is asked again and again whether there is no
// time left; then no line has colours.
func Lines(name, text string, late func() bool) []template.HTML {
	text = strings.ReplaceAll(safetext.EscapeBidi(strings.ToValidUTF8(text, "\uFFFD")), "\r\n", "\n")
	lexer := lexerOf(name, text)
	if lexer == nil {
		return plain(text)
	}
	tokens, err := chroma.Coalesce(bounded{lexer, late}).Tokenise(nil, text)
	if err != nil {
		return plain(text)
	}
	w, done := writer{}, 0
	for t := tokens(); t != chroma.EOF; t = tokens() {
		done += len(t.Value)
		w.add(classOf(t.Type), t.Value)
	}
	if done < len(text) {
		return plain(text)
	}
	return w.end()
}

// bounded is a lexer whose text ends when it is late.
type bounded struct {
	chroma.Lexer
	late func() bool
}

func (b bounded) Tokenise(o *chroma.TokeniseOptions, text string) (chroma.Iterator, error) {
	tokens, err := b.Lexer.Tokenise(o, text)
	return func() chroma.Token {
		if b.late() {
			return chroma.EOF
		}
		return tokens()
	}, err
}

// inHTML are the lexers that read all of a text, by two lexers, before they return the first token: nothing would end that. In place of each stands a
// file that another lexer reads, "" for none.
var inHTML = map[string]string{"ERB": "x.html", "Go HTML Template": "", "PHTML": "x.php", "Svelte": "x.html", "YAML+Jinja": "x.yaml"}

// known has all other lexers. They find only each other, for code within code.
var known = func() *chroma.LexerRegistry {
	all := chroma.NewLexerRegistry()
	for _, l := range lexers.GlobalLexerRegistry.Lexers {
		if _, ahead := inHTML[l.Config().Name]; !ahead {
			all.Register(l)
		}
	}
	return all
}()

// lexerOf returns what knows the language of a file; nil where it is not known, or takes too much work.
func lexerOf(name, text string) chroma.Lexer {
	if len(text) > MaxBytes {
		return nil
	}
	for line := range strings.Lines(text) {
		if len(line) > maxLine {
			return nil
		}
	}
	if l := known.Match(name); l != nil {
		return l
	}
	if l := lexers.Match(name); l != nil {
		return known.Match(inHTML[l.Config().Name])
	}
	return nil
}

func plain(text string) []template.HTML {
	w := writer{}
	w.add("", text)
	return w.end()
}

// classOf returns the class of a token; "" for one without a colour of its own.
func classOf(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Keyword), t == chroma.OperatorWord:
		return "k"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "n"
	case t.InCategory(chroma.Comment):
		return "c"
	case t == chroma.NameFunction, t == chroma.NameClass, t == chroma.NameTag, t == chroma.NameNamespace, t == chroma.NameDecorator:
		return "f"
	case t == chroma.NameBuiltin, t == chroma.NameAttribute, t == chroma.NameConstant, t == chroma.NameVariable:
		return "b"
	}
	return ""
}

// writer writes lines.
type writer struct {
	lines []template.HTML
	line  strings.Builder
}

// add adds text of one class, which may have many lines.
func (w *writer) add(class, text string) {
	for line := range strings.Lines(text) {
		part, ended := strings.CutSuffix(line, "\n")
		if escaped := template.HTMLEscapeString(part); class == "" || part == "" {
			w.line.WriteString(escaped)
		} else {
			w.line.WriteString(`<span class="` + class + `">` + escaped + "</span>")
		}
		if ended {
			w.next()
		}
	}
}

func (w *writer) next() {
	w.lines = append(w.lines, template.HTML(w.line.String()))
	w.line.Reset()
}

// end returns the lines. Behind the end of the last line there is none.
func (w *writer) end() []template.HTML {
	if w.line.Len() > 0 {
		w.next()
	}
	return w.lines
}
