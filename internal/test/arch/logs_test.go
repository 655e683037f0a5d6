package arch_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/LOGS.md anew")

// logKeys are all keys of log lines, with what they tell. Whoever adds one thinks of those who search for it.
var logKeys = map[string]string{
	"what":          "what the check looked at (`--check`), or what graspd tells systemd",
	"found":         "what the check found",
	"mend":          "what to do about it",
	"announcements": "how many announcements", "relays": "how many relays", "listed": "the names of relays that announcements list, and how many each",
	"after": "how long it had lasted", "allow_pubkeys": "how many entries that list has", "allow_repositories": "how many entries that list has",
	"archive": "how many entries that list has",
	"attempt": "number of failures in a row", "case": "number of a decision of the operator", "cause": "why; where another relay said so, in its words", "client": "a client's address",
	"component": "the part of graspd: store, ingest, relay or peer", "count": "how many", "created": "created_at of the event",
	"cut_short": "why it ended early", "deny_pubkeys": "how many entries that list has", "members": "how many members a private service has", "min_pow": "bits of proof of work that events must show", "setting": "flag without its dashes", "deny_repositories": "how many entries that list has",
	"dir": "a directory", "error": "an error of graspd's own", "event": "id of an event", "failing": "for how long it has failed", "filter": "a filter (NIP-01)",
	"found_by": "what found it: catchup or daily", "fault_in": "what the fault ended: the connection to a relay (its URL), a client, or a part of graspd", "from": "who brought it: a relay's URL, a client's address", "kind": "kind of the event",
	"left": "how many are left", "left_out": "how many lines like this one graspd left out, as there were too many", "message": "what the key-value store says",
	"most": "how many there may be", "node": "one of the demo's relays", "part": "which part of graspd", "place": "the function and line that is at fault", "problem": "a sentence about a setting, or about what is to be mended", "signed_by": "npub of who has signed what was pushed", "served": "how many repositories are served", "state": "how this relay stands, in a sentence", "quick": "whether graspd was away for a moment only, and asks for what is new",
	"relay": "URL of another relay", "repositories": "how many repositories", "repository": "address of a repository", "stack": "of the goroutine, once for each place", "steps": "how many requests it took", "subject": "author, repository or event that the operator has decided about", "text": "what another relay wrote",
	"operator": "npub of whoever runs the relay", "file": "name of a file", "bytes": "size of the file, or of what was pushed", "took": "how long it took",
	"bucket": "where a bucket is", "position": "a position in the commit log", "leader": "which node leads, or is asked to", "follower": "which node follows", "term": "the number of a term of the commit log", "files": "how many files", "made": "when it was made", "old": "where the store is that was put aside", "since": "since when",
	"below": "the position that is the first to stay", "commits": "how many entries of the commit log", "objects": "how many objects of old snapshots",
	"to": "the relay that gets the room", "wait": "time until the next try", "waiting": "how many relays wait for their turn",
}

// logLine is one place that logs.
type logLine struct{ level, text, pkg, keys string }

// loggers are the methods of slog.Logger that write a line.
var loggers = []string{"Debug", "Info", "Warn", "Error", "DebugContext", "InfoContext", "WarnContext", "ErrorContext", "Log", "LogAttrs"}

// forwards is where a line passes through whose text and keys are given elsewhere.
const forwards = "internal/sync/relaysync/report.go"

// TestLogLinesAreConstant: messages are constants and keys of a closed set, so that lines can be searched for and
// counted. docs/LOGS.md lists them.
func TestLogLinesAreConstant(t *testing.T) {
	s := &logScan{t: t, all: sources(t), used: map[string]bool{"left_out": true}}
	for _, f := range s.all {
		if !f.test && !onlyTested(f.pkg) {
			s.file(f)
		}
	}
	if len(s.lines) < 40 {
		t.Fatalf("only %d lines found", len(s.lines))
	}
	for k := range logKeys {
		if !s.used[k] {
			t.Errorf("key %q is not used", k)
		}
	}
	name := filepath.Join("..", "..", "..", "docs", "LOGS.md")
	if *update {
		if err := os.WriteFile(name, []byte(s.page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text(t, filepath.Join("docs", "LOGS.md")) != s.page() {
		t.Error("docs/LOGS.md is not what the source logs: go test ./internal/test/arch -args -update")
	}
}

// logScan gathers what is logged.
type logScan struct {
	t     *testing.T
	all   []file
	lines []logLine
	used  map[string]bool
}

func (s *logScan) file(f file) {
	for _, imp := range imports(f) {
		if imp == "log" && f.path != "internal/serve/front/server.go" { // the type that net/http wants
			s.t.Errorf("%s imports log", f.path)
		}
	}
	for _, d := range f.ast.Decls {
		fn, _ := d.(*ast.FuncDecl)
		ast.Inspect(d, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				s.call(f, fn, c)
			}
			return true
		})
	}
}

func (s *logScan) call(f file, fn *ast.FuncDecl, c *ast.CallExpr) {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || f.path == forwards || f.pkg == "internal/operate/logs" {
		return
	}
	name, on := sel.Sel.Name, nameOf(sel.X)
	logger := slices.Contains([]string{"log", "logger", "Logger"}, on)
	if made, ok := sel.X.(*ast.CallExpr); ok { // n.Log().Warn(...)
		by, ok := made.Fun.(*ast.SelectorExpr)
		logger = logger || ok && by.Sel.Name == "Log"
	}
	switch {
	case on == "slog" && slices.Contains([]string{"String", "Int", "Int64", "Uint64", "Bool", "Any", "Duration", "Time", "Float64"}, name):
		s.key(f, c.Args[0])
	case on == "slog" && (slices.Contains(loggers, name) || name == "With" || name == "Default"):
		s.t.Errorf("%s uses the default logger", f.fset.Position(c.Pos()))
	case logger && name == "With":
		s.keys(f, c.Args)
	case logger && slices.Contains(loggers, name):
		skip := 0
		if strings.HasPrefix(name, "Log") {
			skip = 2
		} else if strings.HasSuffix(name, "Context") {
			skip = 1
		}
		s.line(f, fn, strings.ToUpper(strings.TrimSuffix(name, "Context")), c, skip)
	case f.pkg == "internal/sync/peer" && name == "report":
		s.line(f, fn, strings.ToUpper(strings.TrimPrefix(nameOf(c.Args[0]), "Level")), c, 1)
	}
}

// line notes a call whose message is the argument at that place.
func (s *logScan) line(f file, fn *ast.FuncDecl, level string, c *ast.CallExpr, at int) {
	if !slices.Contains([]string{"DEBUG", "INFO", "WARN", "ERROR"}, level) {
		level = "varies"
	}
	texts, ok := s.texts(f, fn, c.Args[at])
	if !ok {
		s.t.Errorf("%s: the message is no constant", f.fset.Position(c.Pos()))
	}
	keys := s.keys(f, c.Args[at+1:])
	for _, text := range texts {
		s.lines = append(s.lines, logLine{level, text, f.pkg, strings.Join(keys, ", ")})
	}
}

// keys reads key, value, key, value; attributes count for themselves.
func (s *logScan) keys(f file, args []ast.Expr) (out []string) {
	for i := 0; i < len(args); i++ {
		if c, ok := args[i].(*ast.CallExpr); ok {
			if sel, ok := c.Fun.(*ast.SelectorExpr); ok && nameOf(sel.X) == "slog" {
				out = append(out, s.key(f, c.Args[0]))
			}
			continue // or a function that makes attributes, which are looked at where it stands
		}
		out = append(out, s.key(f, args[i]))
		i++
	}
	return out
}

func (s *logScan) key(f file, e ast.Expr) string {
	k, ok := literal(e)
	if !ok || logKeys[k] == "" {
		s.t.Errorf("%s: the key is not in the list of them", f.fset.Position(e.Pos()))
	}
	s.used[k] = true
	return k
}

// texts are the values of a constant message: a literal, or a parameter that is given as one wherever the function is
// called, perhaps put together.
func (s *logScan) texts(f file, fn *ast.FuncDecl, e ast.Expr) ([]string, bool) {
	if t, ok := literal(e); ok {
		return []string{t}, true
	}
	if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		left, ok1 := s.texts(f, fn, sum.X)
		right, ok2 := s.texts(f, fn, sum.Y)
		var out []string
		for _, l := range left {
			for _, r := range right {
				out = append(out, l+r)
			}
		}
		return out, ok1 && ok2
	}
	at := parameter(fn, nameOf(e))
	if at < 0 {
		return nil, false
	}
	var out []string
	for _, other := range s.all {
		if other.pkg != f.pkg || other.test {
			continue
		}
		ast.Inspect(other.ast, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && called(c) == fn.Name.Name && at < len(c.Args) {
				t, ok := literal(c.Args[at])
				if !ok {
					s.t.Errorf("%s: the message is no constant", other.fset.Position(c.Pos()))
				}
				out = append(out, t)
			}
			return true
		})
	}
	return out, len(out) > 0
}

// parameter is the place of a function's parameter of that name, or -1.
func parameter(fn *ast.FuncDecl, name string) int {
	at := 0
	if fn == nil || name == "" {
		return -1
	}
	for _, field := range fn.Type.Params.List {
		for _, n := range field.Names {
			if n.Name == name {
				return at
			}
			at++
		}
	}
	return -1
}

func called(c *ast.CallExpr) string { return nameOf(c.Fun) }

// nameOf is the last name of an expression, "" where there is none.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}

// page is docs/LOGS.md.
func (s *logScan) page() string {
	var b strings.Builder
	b.WriteString(`# Log lines

graspd writes its log to the standard error output.

- On a terminal it writes lines in short, elsewhere as key=value, or with ` + "`--log-format json`" + ` as JSON, where lengths of time are seconds.
- ` + "`--log-level debug`" + ` adds a line for every event that is stored, and what happens within a connection.
- Of lines that say the same of the same relay it writes 20 at once, then 20 an hour; of one message 1,000 an hour. The next one says in
  ` + "`left_out`" + ` how many it left out.
- Lines about one relay have ` + "`relay`" + `, and those about one stored event ` + "`event`, `kind` and `from`" + `, beside the keys in the table.

This page is generated: ` + "`go test ./internal/test/arch -args -update`" + `.

| level | message | keys | logged by |
| --- | --- | --- | --- |
`)
	slices.SortFunc(s.lines, func(a, b logLine) int {
		return strings.Compare(a.pkg+" "+a.text+a.level, b.pkg+" "+b.text+b.level)
	})
	s.lines = slices.Compact(s.lines)
	for _, l := range s.lines {
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", l.level, l.text, l.keys, l.pkg)
	}
	b.WriteString("\n| key | what it tells |\n| --- | --- |\n")
	var keys []string
	for k := range logKeys {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k, logKeys[k])
	}
	return b.String()
}
