package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/graspd/graspd/"

// impure are what packages of values do not import.
var impure = []string{"context", "sync", "sync/atomic", "net", "net/http", "os", "os/exec", "os/signal", "log", "log/slog"}

// goroutines names the files in which `go` or a Go method may stand, as the
// goroutine table of docs/ARCHITECTURE.md does.
var goroutines = []string{
	"cmd/graspd/importfeed.go", "cmd/graspd/import.go", "cmd/graspd/serve.go",
	"internal/base/objects/try.go",
	"internal/git/depot/depot.go", "internal/git/gitrepo/local.go", "internal/git/hosting/ready.go",
	"internal/demo/demo.go", "internal/node/run.go", "internal/node/member.go", "internal/node/memberport.go", "internal/serve/forward/carrier.go", "internal/serve/forward/decide.go", "internal/serve/forward/send.go", "cmd/graspd/cluster.go",
	"internal/git/githttp/cache.go", "internal/git/githttp/pusher.go",
	"internal/git/gitproc/run.go",
	"internal/git/gitsync/gitsync.go",
	"internal/git/hosting/jobs.go",
	"internal/events/ingest/door.go", "internal/events/ingest/patience.go",
	"internal/serve/relay/session.go", "internal/serve/relay/writer.go",
	"internal/events/store/bucketlog/reader.go", "internal/events/store/bucketlog/trim.go", "internal/events/store/latelog/latelog.go", "internal/events/store/commitlog/several.go",
	"internal/events/store/snapshot/make.go", "internal/events/store/snapshot/restore.go", "internal/events/store/storecheck/prove.go",
	"internal/sync/relaysync/engine.go", "internal/sync/relaysync/link.go", "internal/sync/relaysync/shell.go",
}

// timed names the files in which a timer or the end of a context may run a function, which is a goroutine like any other.
var timed = []string{
	"cmd/graspd/main.go", "internal/demo/demo.go",
	"internal/git/gitfetch/exchange.go",
	"internal/git/githttp/kept.go",
	"internal/git/gitsync/fetch.go",
	"internal/node/bucket.go", "internal/node/bucketpacks.go", "internal/node/run.go", "internal/node/memberport.go", "internal/serve/forward/carrier.go",
	"internal/serve/relay/message.go", "internal/serve/relay/relay.go", "internal/serve/relay/session.go", "internal/serve/relay/writer.go",
	"internal/sync/relayconn/conn.go", "internal/sync/relayconn/dialer.go", "internal/sync/relayconn/info.go", "internal/sync/relayconn/message.go",
	"internal/sync/relaysync/dial.go",
}

type file struct {
	path, pkg string
	test      bool
	ast       *ast.File
	fset      *token.FileSet
}

// read parses the tree once, for all tests.
var read = sync.OnceValues(func() (out []file, err error) {
	root := filepath.Join("..", "..", "..")
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && p != root || strings.HasPrefix(d.Name(), ".") && p != root && d.Name() != ".." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		a, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		out = append(out, file{rel, path.Dir(rel), strings.HasSuffix(rel, "_test.go"), a, fset})
		return nil
	})
	return out, err
})

func sources(t *testing.T) []file {
	t.Helper()
	all, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d source files found", len(all))
	}
	return all
}

func imports(f file) []string {
	var out []string
	for _, i := range f.ast.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			out = append(out, p)
		}
	}
	return out
}

func selects(s *ast.SelectorExpr, pkg string, names ...string) bool {
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && slices.Contains(names, s.Sel.Name)
}

func TestGoroutinesStandWhereTheTableSays(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || onlyTested(f.pkg) {
			continue
		}
		may := map[string]bool{"Go": slices.Contains(goroutines, f.path), "AfterFunc": slices.Contains(timed, f.path)}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				if !may["Go"] {
					t.Errorf("%s starts a goroutine", f.fset.Position(n.Pos()))
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok {
					if allowed, starts := may[s.Sel.Name]; starts && !allowed {
						t.Errorf("%s starts a goroutine", f.fset.Position(n.Pos()))
					}
				}
			}
			return true
		})
	}
}

func TestGoroutineTableNamesEveryFile(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Concat(goroutines, timed) {
		if _, err := os.Stat(filepath.Join("..", "..", "..", filepath.FromSlash(p))); err != nil {
			t.Errorf("%s is in the list and not in the tree", p)
		}
		if !strings.Contains(string(b), p) {
			t.Errorf("docs/ARCHITECTURE.md does not name %s", p)
		}
	}
}

func TestNoSleepOutsideABubble(t *testing.T) {
	all := sources(t)
	bubbles := make(map[string]bool) // packages whose tests run in bubbles
	for _, f := range all {
		bubbles[f.pkg] = bubbles[f.pkg] || f.test && slices.Contains(imports(f), "testing/synctest")
	}
	for _, f := range all {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && selects(s, "time", "Sleep") && !(f.test && bubbles[f.pkg]) {
				t.Errorf("%s sleeps", f.fset.Position(s.Pos()))
			}
			return true
		})
	}
}

func TestNoInitAndNoContextInStructs(t *testing.T) {
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					t.Errorf("%s: init", f.fset.Position(n.Pos()))
				}
			case *ast.StructType:
				for _, field := range n.Fields.List {
					if s, ok := field.Type.(*ast.SelectorExpr); ok && selects(s, "context", "Context") {
						t.Errorf("%s: a context in a struct", f.fset.Position(field.Pos()))
					}
				}
			}
			return true
		})
	}
}

var (
	behaviour = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]*) \|$`)
	stable    = regexp.MustCompile(`^[a-z0-9-]+$`)
	row       = regexp.MustCompile(`(?m)^\|.*$`)
	reference = regexp.MustCompile("`([a-z0-9]+)\\.(Test[A-Za-z0-9_]+)`")
)

// TestEveryBehaviourHasItsTest keeps each behaviour to a name of its own, a sentence in bold and few words, and the page of tests from leaving
// one out, and from naming tests or behaviours that are gone.
func TestEveryBehaviourHasItsTest(t *testing.T) {
	page := text(t, filepath.Join("docs", "BEHAVIOURS.md"))
	rows := behaviour.FindAllStringSubmatch(page, -1)
	if len(rows) < 200 {
		t.Fatalf("only %d behaviours", len(rows))
	}
	seen := make(map[string]bool)
	for _, r := range rows {
		name, text := r[1], r[2]
		if name == "name" { // the head of a table
			continue
		}
		if !stable.MatchString(name) {
			t.Errorf("%q is no name of a behaviour: small letters, figures and hyphens are", name)
		}
		if seen[name] {
			t.Errorf("two behaviours are called %s", name)
		}
		seen[name] = true
		if n := len(strings.Fields(text)); n > 35 {
			t.Errorf("%s takes %d words", name, n)
		}
		if !strings.HasPrefix(text, "**") {
			t.Errorf("%s has no sentence in bold", name)
		}
	}
	if n := strings.Count(page, "\n- "); n > 0 {
		t.Errorf("%d behaviours stand in no table", n)
	}
	if n := strings.Count(page, "\n| "); n != len(rows) {
		t.Errorf("%d rows have another form than name and behaviour", n-len(rows))
	}
	held(t, seen)
}

// held requires that the page of tests has the tests of these behaviours and of no others.
func held(t *testing.T, behaviours map[string]bool) {
	t.Helper()
	tests := named(t)
	section, _, _ := strings.Cut(text(t, filepath.Join("docs", "TESTS.md")), "\n## What goes wrong elsewhere")
	left := maps.Clone(behaviours)
	for _, r := range behaviour.FindAllStringSubmatch(section, -1) {
		name := r[1]
		if name == "behaviour" {
			continue
		}
		if !left[name] {
			t.Errorf("docs/TESTS.md has %s, which is no behaviour, or stands there twice", name)
		}
		delete(left, name)
		exist(t, tests, r[0])
	}
	for name := range left {
		t.Errorf("docs/TESTS.md has no tests of %s", name)
	}
}

// TestEveryFaultHasItsTest does so for the table of what goes wrong elsewhere.
func TestEveryFaultHasItsTest(t *testing.T) {
	tests := named(t)
	_, section, found := strings.Cut(text(t, filepath.Join("docs", "TESTS.md")), "\n## What goes wrong elsewhere")
	rows := row.FindAllString(section, -1)
	if !found || len(rows) < 40 {
		t.Fatalf("only %d rows", len(rows))
	}
	for _, r := range rows[2:] { // below the head
		exist(t, tests, r)
	}
}

// TestEveryAttackHasItsTest does so for the table of what was tried, in SECURITY.md.
func TestEveryAttackHasItsTest(t *testing.T) {
	tests := named(t)
	_, section, found := strings.Cut(text(t, "SECURITY.md"), "\n## What was tried")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := row.FindAllString(section, -1)
	if !found || len(rows) < 25 {
		t.Fatalf("only %d rows", len(rows))
	}
	for _, r := range rows[2:] { // below the head
		exist(t, tests, r)
	}
}

// text reads a file of the project.
func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// named are all tests, as package.Test.
func named(t *testing.T) map[string]bool {
	t.Helper()
	tests := make(map[string]bool)
	for _, f := range sources(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
				tests[path.Base(f.pkg)+"."+fn.Name.Name] = true
			}
		}
	}
	return tests
}

// exist requires that a line names tests, and that there are such.
func exist(t *testing.T, tests map[string]bool, line string) {
	t.Helper()
	refs := reference.FindAllStringSubmatch(line, -1)
	if len(refs) == 0 {
		t.Errorf("no test is named by %q", line)
	}
	for _, r := range refs {
		if !tests[r[1]+"."+r[2]] {
			t.Errorf("there is no %s.%s, named by %q", r[1], r[2], line)
		}
	}
}

// TestOnePlaceStartsProcesses: what a process is told and may take is bounded where it is started. The people of the demo have git too,
// and so has the operator who brings a repository back by hand.
func TestOnePlaceStartsProcesses(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || onlyTested(f.pkg) || f.pkg == "internal/git/gitproc" || f.path == "internal/demo/git.go" || f.path == "cmd/graspd/operatorgit.go" {
			continue
		}
		if slices.Contains(imports(f), "os/exec") {
			t.Errorf("%s imports os/exec", f.path)
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (selects(s, "os", "StartProcess") || selects(s, "syscall", "ForkExec", "StartProcess", "Exec")) {
				t.Errorf("%s starts a process", f.fset.Position(s.Pos()))
			}
			return true
		})
	}
}

// TestOnePlaceBuildsARelay: what is served, shown, imported into and simulated is put together in one package.
func TestOnePlaceBuildsARelay(t *testing.T) {
	places := map[string]string{
		"store.Open": "internal/node/data.go", "ingest.New": "internal/node/data.go", "relay.New": "internal/node/node.go", "relaysync.New": "internal/node/engine.go",
	}
	found := map[string]int{}
	for _, f := range sources(t) {
		if f.test && f.pkg != "internal/test/sim" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := from.Name + "." + sel.Sel.Name
			if place := places[name]; place != "" {
				if found[name]++; f.path != place || found[name] > 1 {
					t.Errorf("%s calls %s, which %s alone is to do, once", f.path, name, place)
				}
			}
			return true
		})
	}
	if len(found) != len(places) {
		t.Errorf("found %v", found)
	}
}
