// Package conffile reads and writes configuration files in TOML: keys without tables, each with one value or a list of texts. It knows the
// line of each key, but neither what a key means nor whether a value will do.
package conffile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Kind is the sort of a value.
type Kind uint8

// The kinds.
const (
	Text   Kind = iota // a text in quotes
	Bool               // true or false
	Number             // a whole number
	List               // a list of texts in quotes
)

// Entry is one key with its value.
type Entry struct {
	Line   int // from 1 on
	Key    string
	Kind   Kind
	Values []string // one, except for a List; a Number in decimal digits
}

// Problem is something that is wrong with a file.
type Problem struct {
	Line int // from 1 on
	Text string
}

// Parse reads a file. It returns the entries that are in order, and a problem for each other one. A text that is no TOML yields one problem
// and no entry.
func Parse(text []byte) (entries []Entry, problems []Problem) {
	if err := toml.Unmarshal(text, new(map[string]any)); err != nil {
		return nil, []Problem{syntax(err)}
	}
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		e, line, err := entry(&p, p.Expression())
		if err != nil {
			problems = append(problems, Problem{line, err.Error()})
			continue
		}
		entries = append(entries, e)
	}
	if err := p.Error(); err != nil {
		problems = append(problems, syntax(err))
	}
	return entries, problems
}

func syntax(err error) Problem {
	out := Problem{1, "is no TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	if d := new(toml.DecodeError); errors.As(err, &d) {
		out.Line, _ = d.Position()
	}
	return out
}

// entry reads one expression of valid TOML. line is its line also where it fails.
func entry(p *unstable.Parser, node *unstable.Node) (e Entry, line int, err error) {
	var path []string
	for it := node.Key(); it.Next(); {
		if line == 0 {
			line = p.Shape(it.Node().Raw).Start.Line
		}
		path = append(path, string(it.Node().Data))
	}
	e.Line, e.Key = line, strings.Join(path, ".")
	if node.Kind != unstable.KeyValue {
		return e, line, fmt.Errorf("[%s]: there are no tables here; write name = value", e.Key)
	}
	v := node.Value()
	switch v.Kind {
	case unstable.Array:
		e.Kind = List
		for it := v.Children(); it.Next(); {
			if it.Node().Kind != unstable.String {
				return e, line, fmt.Errorf("%s: a list has texts in quotes, as in [\"a\", \"b\"]", e.Key)
			}
			e.Values = append(e.Values, string(it.Node().Data))
		}
		return e, line, nil
	case unstable.String:
		e.Kind, e.Values = Text, []string{string(v.Data)}
	case unstable.Bool:
		e.Kind, e.Values = Bool, []string{string(v.Data)}
	case unstable.Integer:
		n, err := strconv.ParseInt(string(v.Data), 0, 64)
		if err != nil {
			return e, line, fmt.Errorf("%s: %s is no number that can be used here", e.Key, v.Data)
		}
		e.Kind, e.Values = Number, []string{strconv.FormatInt(n, 10)}
	default:
		return e, line, fmt.Errorf("%s: a value of this sort is not used here; write it in quotes", e.Key)
	}
	return e, line, nil
}

// Write returns the line of an entry for Parse, without a line break at its end.
func (e Entry) Write() string {
	values := make([]string, len(e.Values))
	for i, v := range e.Values {
		values[i] = v
		if e.Kind == Text || e.Kind == List {
			values[i] = quote(v)
		}
	}
	text := strings.Join(values, ", ")
	if e.Kind == List {
		text = "[" + text + "]"
	}
	return e.Key + " = " + text
}

// quote writes a basic string of TOML.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
